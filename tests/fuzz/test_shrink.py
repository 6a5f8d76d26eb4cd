"""Shrinking, with made-up reasons for a case to hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from epctx.case import Call, Callback, Case, Content, Dir, File, Limits, Link, Model, Name, Piece, World, raw
from epctx.fuzz.shrink import shrink

ENTRIES = (
    File("model/good.bin"),
    File("model/sub/inner.bin", Content("much", 4096)),
    Dir("model/a/b"),
    File("outside/secret.bin"),
    Link("model/link", "sub/../sub/./inner.bin"),
)
LARGE = Case(
    "fuzz/1-1",
    "A case.",
    "hostile",
    (),
    World(ENTRIES, cwd="model"),
    (
        Call("read", "a/../sub//../good.bin", allocator="caller", held=True),
        Call("write", "./a/b/../new.bin", payload=Content("p", 70_000), write_callback=Callback(code=3, text="no")),
    ),
    Model(given="model.onnx"),
    Limits(1.0, 1 << 30),
)


def smallest(reason: Callable[[Case], bool]) -> Case:
    def holds(candidates: Sequence[Case]) -> list[bool]:
        return [reason(candidate) for candidate in candidates]

    return shrink(LARGE, holds)


def test_what_always_holds_becomes_next_to_nothing() -> None:
    case = smallest(lambda case: True)
    assert (case.world, case.model, case.limits, len(case.calls)) == (World(), Model(), Limits(), 1)
    assert len(raw(case.calls[0].name or "")) <= 1


def test_what_is_needed_stays() -> None:
    case = smallest(lambda case: any(call.op == "write" and call.payload and call.payload.size > 1000 for call in case.calls))
    (call,) = case.calls
    assert call.payload == Content("payload", 1001)
    assert call.write_callback is None


def test_an_entry_that_is_needed_stays_with_a_shorter_text() -> None:
    case = smallest(lambda case: any(isinstance(e, Link) and "inner" in str(e.to) for e in case.world.entries))
    assert [entry.path for entry in case.world.entries] == ["model/link"]
    assert isinstance(case.world.entries[0], Link)
    assert case.world.entries[0].to in ("inner", "inner.bin", "inner.")


@pytest.mark.parametrize("name", [(Piece("n", times=300),), (Piece("./", times=40), Piece("n", times=280))])
def test_repetitions_become_fewer(name: Name) -> None:
    long = Case("fuzz/1-2", "A case.", "hostile", (), World(), (Call("read", name),))
    case = shrink(long, lambda candidates: [len(raw(c.calls[0].name or "")) > 255 for c in candidates])
    assert len(raw(case.calls[0].name or "")) == 256


def test_what_nothing_smaller_does_stays_as_it_is() -> None:
    assert smallest(lambda case: False) == LARGE
