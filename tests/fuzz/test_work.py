"""What a worker tells of a batch."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from epctx.case import Call, Case, External, File, Model, World
from epctx.fuzz.batch import Batch
from epctx.fuzz.engine import ENGINES
from epctx.fuzz.inputs import NONE
from epctx.fuzz.store import Setting
from epctx.fuzz.work import Order, unpacked, work
from epctx.oracle import PROFILES
from epctx.run.keeper import Keeper
from epctx.run.runner import Runner
from epctx.target import Launch, prepare

WORLD = World((File("model/good.bin"), File("outside/secret.bin")))
PLAIN = Model()


def case(number: int, name: str, model: Model = PLAIN) -> Case:
    return Case(f"fuzz/{number}", "A case.", "hostile", (), WORLD, (Call("read", name),), model)


class Suspicious:
    """An engine that finds what it made suspicious, but for the last."""

    generation = 0

    def __init__(self, _setting: Setting) -> None: ...

    def batch(self, _number: int, _keeper: Keeper, _launch: Launch, _inputs: Sequence[bytes]) -> Batch:
        made = [
            case(1, "good.bin"),
            case(2, "../outside/secret.bin"),
            case(3, "good.bin", Model(external=External())),
            case(4, "n"),
        ]
        return Batch(made, 100, frozenset(one.id for one in made[:-1]))


def in_worker(order: bytes) -> bytes:
    """In the worker: a batch of that engine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ENGINES, "suspicious", Suspicious)
        return work(order, 0, NONE)


def test_what_an_engine_finds_suspicious_and_the_oracle_does_not_is_counted() -> None:
    launch = prepare("weak:no-containment")
    order = Order(launch, PROFILES["spec"], Setting(launch.target, 0, "suspicious"))
    with Runner(jobs=1) as runner:
        judged = unpacked(runner.call(in_worker, msgspec.msgpack.encode(order)))
    assert (judged.executions, judged.failing, judged.cleared, judged.skipped, judged.errors) == (104, 1, 1, 1, ())
