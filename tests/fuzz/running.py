"""Rounds of an engine that has the target in its own process, told what to start from and how much to do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from epctx.box import Strength
from epctx.fuzz.engine import ENGINES
from epctx.fuzz.native import NativeEngine
from epctx.fuzz.store import Setting
from epctx.oracle import PROFILES, judge
from epctx.run import worker
from epctx.run.lane import observe_all
from epctx.run.runner import Runner
from epctx.target import prepare
from epctx.target.build import NATIVE

FAKE = Path(__file__).parent.parent / "fakes" / "converting.h"
CONVERTING = f"header:{FAKE}?namespace=converting&include={NATIVE}&include={NATIVE / 'ort'}"
"""A loader with a fault behind a notation of its own."""


class Came(msgspec.Struct):
    """What came of rounds: the calls that were made, the cases that they led to, and the rules that those break, with why."""

    executions: int
    cases: list[str]
    broken: dict[str, str]


def rounds(
    target: str,
    engine: str,
    runs: int,
    seeds: tuple[bytes, ...] | None = (),
    numbers: Sequence[int] = (1,),
    until: str = "",
    box: Strength | None = None,
) -> Came:
    """What comes of these rounds of an engine, in a worker of their own; of no more of them once a rule was seen broken."""
    with Runner(jobs=1, box=box) as runner:
        packed = runner.call(in_worker, target, engine, runs, seeds, tuple(numbers), until)
        return msgspec.msgpack.decode(packed, type=Came)


def in_worker(target: str, name: str, runs: int, seeds: tuple[bytes, ...] | None, numbers: tuple[int, ...], until: str) -> bytes:
    """In the worker: make rounds, and judge their cases."""
    kind = ENGINES[name]
    assert isinstance(kind, type)
    assert issubclass(kind, NativeEngine)
    engine, keeper = kind(Setting(target, 7, name), seeds=seeds, runs=runs), worker.keeper()
    launch = prepare(target, kind.sanitizer)
    came = Came(0, [], {})
    for number in numbers:
        batch = engine.batch(number, keeper, launch, ())
        came.executions += batch.executions
        came.cases += [case.id for case in batch.cases]
        for case, observation in zip(batch.cases, observe_all(keeper, launch, batch.cases), strict=True):
            verdict = judge(case, observation, PROFILES["spec"])
            came.broken |= {f.rule: f.happened for f in verdict.findings if f.fails and f.rule not in came.broken}
        if until in came.broken:
            break
    return msgspec.msgpack.encode(came)
