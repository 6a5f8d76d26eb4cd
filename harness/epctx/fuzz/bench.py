"""How long a campaign searches until it finds something: executions and seconds to the first finding, on targets whose faults are
known."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from statistics import median

import msgspec

from epctx.case import Struct
from epctx.errors import TargetError, UsageError
from epctx.fuzz import inputs
from epctx.fuzz.engine import engine, ready
from epctx.fuzz.rate import FIRST
from epctx.fuzz.store import Setting
from epctx.fuzz.work import Order, order_of, unpacked, work
from epctx.fuzz.yardstick import Plain
from epctx.oracle import judge
from epctx.run import worker
from epctx.run.bench import bare
from epctx.run.check import judging
from epctx.run.runner import Runner
from epctx.run.selftest import POLICIES
from epctx.run.sweep import observe_by_world
from epctx.target import Launch, Weakness, prepare, weaknesses
from epctx.target.native import why_no_coverage

CHOSEN = (
    "prefix-containment",
    "leading-dotdot-only",
    "links-not-resolved",
    "follows-dangling-link",
    "blocks-on-fifo",
    "S4",
    "S7",
    "directory-link-unchecked",
    "working-directory-for-memory-model",
    "decodes-percent",
    "makes-directories",
    "short-write-unchecked",
    "file-when-callback-fails",
    "leaks-buffer-of-failing-callback",
    "plaintext-in-temporary-directory",
    "cuts-name-at-nul",
)
"""The weak targets that are searched unless others are named: the classic ones first, then some of each kind of fault."""
CASES, CALLS = 5_000, 200_000
"""After so many cases a search is given up, or after so many calls of an engine that is led by coverage."""
TURNS = 3
"""How often bare reads and campaigns take turns."""
PLAIN_CALLS = 1 << 14
"""Calls of a plain libFuzzer executable in a turn."""
PART = 96
"""So many cases are run before it is asked whether one of them is a finding."""


class First(Struct, frozen=True):
    """What one search came to: after how many executions and seconds which rule was seen broken; "" for none within the cap."""

    executions: int
    seconds: float
    rule: str


class Searches(Struct, frozen=True):
    """What the searches of an engine on a target came to, one for each seed."""

    target: str
    engine: str
    most: int
    """Executions after which a search is given up."""
    firsts: tuple[First, ...]

    @property
    def found(self) -> int:
        """How many searches found something."""
        return sum(bool(first.rule) for first in self.firsts)

    def middle(self, what: Callable[[First], float]) -> float | None:
        """The median over all searches; None where that is one that found nothing."""
        values = sorted(what(first) if first.rule else float("inf") for first in self.firsts)
        found = median(values)
        return None if found == float("inf") else found

    def worst(self, what: Callable[[First], float]) -> float | None:
        """The largest over all searches; None where one found nothing."""
        return max(map(what, self.firsts)) if self.found == len(self.firsts) else None


class Pace(Struct, frozen=True):
    """Calls a second of an engine's campaign on one worker, beside reads of the same target: in a bare C++ loop, and by a plain
    libFuzzer executable (0 where there is no clang)."""

    target: str
    engine: str
    calls: float
    bare: float
    plain: float


def reachable() -> list[Weakness]:
    """The weak targets that can be searched: helpers whose fault shows without a sanitizer."""
    return [weakness for weakness in weaknesses() if weakness.of == "helper" and weakness.sanitizer is None]


def lacking(name: str) -> str:
    """Why an engine cannot be used here; else nothing."""
    try:
        ready(Setting("reference", 0, name))
    except (TargetError, UsageError) as error:
        return str(error)
    return ""


def searches(runner: Runner, weakness: Weakness, name: str, seeds: int, most: int | None) -> Iterator[Searches]:
    """Search a weak target with an engine and the seeds from 1 on; what is known after each.

    Each search is given up after about ``most`` executions, by default ``CASES`` or ``CALLS``.
    """
    setting = Setting(weakness.target, 0, name)
    sanitizer = ready(setting)
    most = most or (CALLS if engine(setting).generation else CASES)
    launch = prepare(weakness.target, sanitizer)
    profile = judging(launch, runner.conditions(launch), "hardened", POLICIES)
    firsts: tuple[First, ...] = ()
    for seed in range(1, seeds + 1):
        order = msgspec.msgpack.encode(Order(launch, profile, Setting(launch.target, seed, name)))
        firsts += (msgspec.msgpack.decode(runner.call(search, order, weakness.breaks, most), type=First),)
        yield Searches(weakness.name, name, most, firsts)


def pace(runner: Runner, launch: Launch, name: str, seconds: float) -> Pace:
    """Measure an engine for about ``seconds``, and a batch in each turn at least: campaigns and what is beside take turns."""
    profile = judging(launch, runner.conditions(launch), "hardened", POLICIES)
    order = msgspec.msgpack.encode(Order(launch, profile, Setting(launch.target, 1, name)))
    numbers = itertools.count(FIRST)
    runner.call(work, order, next(numbers), inputs.NONE)  # all is up, and caches are warm
    plain = None if why_no_coverage() else Plain(launch.target)
    turns: list[tuple[float, float, float]] = []
    for _ in range(TURNS):
        beside = bare(launch, seconds / TURNS), plain.rate(PLAIN_CALLS) if plain else 0.0
        done, start = 0, time.perf_counter()
        while not done or time.perf_counter() - start < seconds / TURNS:
            done += unpacked(runner.call(work, order, next(numbers), inputs.NONE)).calls
        turns.append((done / (time.perf_counter() - start), *beside))
    return Pace(launch.target, name, *map(median, zip(*turns, strict=True)))


# --- in the worker ----------------------------------------------------------------------------------------------------------


def search(order: bytes, breaks: Sequence[str], most: int) -> bytes:
    """Run a campaign until a rule of ``breaks`` is broken, or ``most`` cases ran; packed ``First``."""
    asked, keeper = order_of(order), worker.keeper()
    makes = engine(asked.setting)
    keeper.conditions(asked.launch)  # the target is up
    start, done, number, known = time.perf_counter(), 0, 0, inputs.Inputs(makes.generation, {})
    while done < most:
        batch = makes.batch(number, keeper, asked.launch, inputs.unpacked(known.before(number)))
        known.add(number, batch.inputs)
        done, number = done + batch.executions, number + 1
        cases = batch.cases if batch.executions else batch.cases[: most - done]
        for at in range(0, len(cases), PART):
            part = cases[at : at + PART]
            for case, observation in zip(part, observe_by_world(keeper, asked.launch, part), strict=True):
                done += 1
                verdict = judge(case, observation, asked.profile)
                if rule := next((f.rule for f in verdict.findings if f.fails and f.rule in breaks), ""):
                    return msgspec.msgpack.encode(First(done, time.perf_counter() - start, rule))
    return msgspec.msgpack.encode(First(done, time.perf_counter() - start, ""))
