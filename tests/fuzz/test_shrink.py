"""Shrinking, with made-up reasons for a case to hold."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence

import pytest
from msgspec import UNSET

from epctx.attack import node
from epctx.case import Call, Callback, Case, Content, Dir, Entry, File, Limits, Link, Model, Name, Piece, World, raw
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


def test_bytes_that_do_not_matter_become_a_letter() -> None:
    odd = Case("fuzz/1-2", "A case.", "hostile", (), World(), (Call("read", (Piece("n"), Piece(hex="e381"))),))
    case = shrink(odd, lambda candidates: [bool(c.calls[0].name) for c in candidates])
    assert case.calls[0].name == "a"


def test_what_nothing_smaller_does_stays_as_it_is() -> None:
    assert smallest(lambda case: False) == LARGE


# --- steps that change a world and its names together -----------------------------------------------------------------------


def outside(case: Case) -> bool:
    """Whether a name leads through a link to the secret, in a made-up loader that follows what it finds."""
    links = {str(e.path): str(e.to) for e in case.world.entries if isinstance(e, Link)}
    place, left, through = ["model"], str(case.calls[0].name).split("/"), False
    for _ in range(20):
        if not left:
            break
        part, left = left[0], left[1:]
        if part == "..":
            place = place[:-1]
        elif part not in ("", "."):
            place = [*place, part]
        if (text := links.get("/".join(place))) is not None:
            through = True
            place, left = place[:-1], [*text.split("/"), *left]
            if text.startswith("{root}"):
                place, left = [], left[1:]
    return through and place == ["outside", "secret.bin"]


WAYS: dict[str, tuple[str, dict[str, str]]] = {
    "a link": ("link", {"model/link": "../outside/secret.bin"}),
    "a directory": ("link/secret.bin", {"model/link": "../outside"}),
    "absolute": ("./link//secret.bin", {"model/link": "{root}/outside"}),
    "below": ("sub/../sub/link", {"model/sub/link": "../../outside/secret.bin"}),
    "a chain": ("link/secret.bin", {"model/link": "sub/hop", "model/sub/hop": "../../outside"}),
    "beside": ("../outside/back", {"outside/back": "secret.bin"}),
}


@pytest.mark.parametrize("way", WAYS)
def test_ways_that_are_one_to_a_person_become_one(way: str) -> None:
    name, texts = WAYS[way]
    links = [Link(path, to) for path, to in texts.items()]
    entries: tuple[Entry, ...] = (File("model/sub/inner.bin"), *links, File("outside/secret.bin"))
    long = Case("fuzz/1-3", "A case.", "hostile", (), World(entries), (Call("read", name),))
    assert outside(long)
    case = shrink(long, lambda candidates: [outside(candidate) for candidate in candidates])
    (link,) = case.world.entries
    assert isinstance(link, Link)
    assert (str(link.path), link.to) == (f"model/{case.calls[0].name}", "../outside/secret.bin")


def test_a_file_with_a_special_name_is_one_as_any_other() -> None:
    entry = File("model/sub/..\\new.bin")
    long = Case("fuzz/1-6", "A case.", "hostile", (), World((entry,)), (Call("read", "sub/../sub/..\\new.bin"),))

    def there(case: Case) -> bool:
        return posixpath.normpath(f"model/{case.calls[0].name}") in [entry.path for entry in case.world.entries]

    assert there(long)
    case = shrink(long, lambda candidates: [there(candidate) for candidate in candidates])
    assert (case.world.entries, case.calls[0].name) == ((File("model/good.bin"),), "good.bin")


def test_a_node_of_a_model_becomes_a_read() -> None:
    names = ("good.bin", "a/../../outside/secret.bin")
    nodes = tuple(node(name) for name in names)
    long = Case("fuzz/1-4", "A case.", "hostile", (), World(), (Call("load"),), Model(nodes=nodes))

    def reason(case: Case) -> bool:
        texts = [a.text for n in case.model.nodes for a in n.attributes]
        return any("secret" in str(text) for text in (case.calls[0].name, *texts))

    case = shrink(long, lambda candidates: [reason(candidate) for candidate in candidates])
    assert case.calls == (Call("read", "secret"),)
    assert case.model == Model()


def test_a_separate_name_for_the_disk_becomes_the_only_one() -> None:
    call = Call("write", "logical", fallback="sub/other.bin")
    long = Case("fuzz/1-5", "A case.", "hostile", (), World(), (call,))

    def used(case: Case) -> bool:
        (call,) = case.calls
        return call.op == "write" and "o" in str(call.name if call.fallback is UNSET else call.fallback)

    (call,) = shrink(long, lambda candidates: [used(candidate) for candidate in candidates]).calls
    assert (call.name, call.fallback) == ("o", UNSET)


def test_the_budget_is_kept() -> None:
    asked = 0

    def holds(candidates: Sequence[Case]) -> list[bool]:
        nonlocal asked
        asked += len(candidates)
        return [False] * len(candidates)

    shrink(LARGE, holds, most=20)
    assert 20 <= asked <= 32
