"""What a worker does for a campaign: it makes a batch of cases, runs and judges them, and tells what failed."""

from __future__ import annotations

from collections import Counter

import msgspec

from epctx.case import Case, Struct
from epctx.fuzz import inputs
from epctx.fuzz.engine import engine
from epctx.fuzz.fingerprint import Sign, signs
from epctx.fuzz.store import Setting
from epctx.observation import Observation
from epctx.oracle import Profile, Verdict, judge
from epctx.run import worker
from epctx.run.sweep import observed
from epctx.target import Launch

EACH = 3
"""So many failing cases of a sign are looked at: what else has the same sign is most likely the same."""


class Order(Struct, frozen=True):
    """What all batches of a campaign have in common."""

    launch: Launch
    profile: Profile
    setting: Setting


class Judged(Struct, frozen=True):
    """What came of a batch: how much ran, how often each kind of failure was seen, and the first cases of each, in order."""

    executions: int
    calls: int
    """How many calls on the target that were: a case may have several."""
    failing: int
    signs: tuple[tuple[Sign, int], ...]
    examples: tuple[tuple[Sign, Case, Observation], ...]
    """At most ``EACH`` of a sign, with what was seen."""
    skipped: int = 0
    cleared: int = 0
    """How many cases looked wrong to the engine and not to the oracle."""
    errors: tuple[str, ...] = ()
    """What the harness failed at, where it did."""
    inputs: tuple[bytes, ...] = ()
    """What reached something new."""


def work(order: bytes, number: int, found: bytes) -> bytes:
    """Make, run and judge the batch of that number, from what others ``found`` before it (``inputs``); packed ``Judged``."""
    asked, keeper = order_of(order), worker.keeper()
    batch = engine(asked.setting).batch(number, keeper, asked.launch, inputs.unpacked(found))
    notable: list[tuple[int, Observation, Verdict]] = []
    calls, cleared = batch.executions, 0
    for index, observation in observed(keeper, asked.launch, batch.cases):
        calls += len(observation.calls)
        verdict = judge(batch.cases[index], observation, asked.profile)  # at once, while all of it is in the processor's caches
        if verdict.result not in ("pass", "note"):
            notable.append((index, observation, verdict))
        elif batch.cases[index].id in batch.suspects:
            cleared += 1
    counts: Counter[Sign] = Counter()
    examples: list[tuple[Sign, Case, Observation]] = []
    failing = skipped = 0
    errors: list[str] = []
    for index, observation, verdict in sorted(notable, key=lambda found: found[0]):
        case = batch.cases[index]
        if not verdict.fails:
            skipped += verdict.result == "skip"
            errors += [f"{case.id}: {verdict.reason}"] if verdict.result == "error" else []
            continue
        failing += 1
        for sign in signs(case, observation, verdict, asked.profile):
            counts[sign] += 1
            if counts[sign] <= EACH:
                examples.append((sign, case, observation))
    executions, counted = len(batch.cases) + batch.executions, tuple(counts.items())
    judged = Judged(executions, calls, failing, counted, tuple(examples), skipped, cleared, tuple(errors), tuple(batch.inputs))
    return msgspec.msgpack.encode(judged)


def unpacked(data: bytes) -> Judged:
    """What ``work`` tells."""
    return _judged.decode(data)


_last: tuple[bytes, Order] | None = None
_orders = msgspec.msgpack.Decoder(Order)
_judged = msgspec.msgpack.Decoder(Judged)


def order_of(packed: bytes) -> Order:
    """The order, the same object for each batch of a campaign: much is remembered of its parts."""
    global _last
    if _last is None or _last[0] != packed:
        _last = packed, _orders.decode(packed)
    return _last[1]
