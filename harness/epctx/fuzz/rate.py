"""How fast a campaign makes, runs and judges cases, beside the bare loop: in batches that come late, and without looking into
what they find."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from statistics import median

import msgspec

from epctx.case import Struct
from epctx.fuzz.inputs import NONE
from epctx.fuzz.store import Setting
from epctx.fuzz.work import Order, unpacked, work
from epctx.oracle import profile
from epctx.run.bench import TURNS, bare
from epctx.run.runner import Runner, shares_of
from epctx.target import Launch

SEED, FIRST = 1, 16
"""The seed of the campaign, and the first of its batches: those before it are of another kind, on purpose."""


class Rate(Struct, frozen=True):
    """Rates per second: of bare reads in a C++ loop, and of what a campaign makes, runs and judges: cases on one worker, the
    calls that these are, and the calls on two workers."""

    bare: float
    cases: float
    calls: float
    calls_on_two: float

    @property
    def ratio(self) -> float:
        """Calls on one worker for each bare read."""
        return self.calls / self.bare


def rate(launch: Launch, seconds: float, engine: str = "grammar") -> Rate:
    """Measure a target, for about ``seconds`` for each figure. HarnessError if the bare loop fails.

    Bare reads and campaigns take turns, and each figure is the median of its turns: all then meet the same machine.
    """
    order = msgspec.msgpack.encode(Order(launch, profile("spec"), Setting(launch.target, SEED, engine, "spec")))
    turns = []
    with Runner(jobs=1) as one, Runner(jobs=2, shares=shares_of(2)) as two:
        numbers = {runner: itertools.count(FIRST) for runner in (one, two)}
        for runner in (one, two):
            _batches(runner, order, numbers[runner], 0.0)  # workers and drivers are up
        for _ in range(TURNS):
            each = seconds / TURNS
            done = [_batches(runner, order, numbers[runner], each) for runner in (one, two)]
            turns.append((bare(launch, each), *done[0], done[1][1]))
    return Rate(*map(median, zip(*turns, strict=True)))


def _batches(runner: Runner, order: bytes, numbers: Iterator[int], seconds: float) -> tuple[float, float]:
    """Run batches for about so many seconds, at least one on each worker; cases and calls per second."""
    start, cases, calls = time.perf_counter(), 0, 0
    wanted = ((order, number, NONE) for number in numbers)
    first = list(itertools.islice(wanted, 2 * runner.jobs))
    going = itertools.chain(first, itertools.takewhile(lambda _: time.perf_counter() - start < seconds, wanted))
    for _, judged in runner.each(work, going):
        done = unpacked(judged)
        cases, calls = cases + done.executions, calls + done.calls
    took = time.perf_counter() - start
    return cases / took, calls / took
