"""What is expected of external data that says more than where it lies."""

from __future__ import annotations

import pytest

from epctx.attack import Op, access, read, scene
from epctx.case import Case, Content, Expect, External, File, Link, Model, Name, Pair
from epctx.spec import from_memory, model_directory, predict
from epctx.spec.external import part_of

DATA = File("model/data.bin", Content("data", 1000))


def expected(*pairs: tuple[str, Name], name: str = "data.bin", op: Op = "read", size: int | None = None) -> Expect:
    told = External(tuple(Pair(*pair) for pair in pairs), size)
    draft = scene(DATA, Link("model/out", "../outside/secret.bin"), calls=access(op, name), model=Model(external=told))
    (found,) = predict(Case("test/one", "A case.", "hostile", (), draft.world, draft.calls, draft.model))
    return found


@pytest.mark.parametrize(
    ("offset", "length", "part"),
    [("0", "1000", (0, 1000)), ("0", "0", (0, 0)), ("999", "1", (999, 1)), ("1000", "0", (1000, 0)), ("007", "3", (7, 3))],
)
def test_a_part_that_is_in_the_file(offset: str, length: str, part: tuple[int, int]) -> None:
    assert part_of(External((Pair("offset", offset), Pair("length", length))), 1000) == part
    found = expected(("offset", offset), ("length", length))
    assert (found.outcome, found.rule, found.file) == ("accept", "external.range", "model/data.bin")


@pytest.mark.parametrize("offset", ["0", "400", "1000"])
def test_without_a_length_it_is_all_that_follows(offset: str) -> None:
    assert part_of(External((Pair("offset", offset),)), 1000) == (int(offset), 1000 - int(offset))


@pytest.mark.parametrize(
    "pairs",
    [
        (("length", "1001"),),
        (("offset", "1001"),),
        (("offset", "1"), ("length", "1000")),
        (("length", "-1"),),
        (("offset", "-1"), ("length", "2")),
        (("length", str(1 << 46)),),
        (("length", str(1 << 63)),),
        (("offset", str((1 << 63) - 1)), ("length", str((1 << 63) - 1))),
        (("length", ""),),
        (("length", "0x10"),),
        (("length", " 5"),),
        (("length", "\u0665"),),
        (("length", "5"), ("length", "5")),
    ],
)
def test_any_other_is_refused(pairs: tuple[tuple[str, str], ...]) -> None:
    found = expected(*pairs)
    assert (found.outcome, found.rule) == ("refuse", "external.range")


def test_the_start_of_a_file_is_known_byte_for_byte() -> None:
    assert expected(("length", "10")).content == Content("data", 10)


def test_a_tensor_that_is_larger_than_its_data_may_be_refused() -> None:
    assert expected(size=2000).outcome == "either"
    assert expected(size=1000).outcome == "accept"


@pytest.mark.parametrize("op", ["read", "write"])
@pytest.mark.parametrize("other", ["../outside/secret.bin", "{root}/outside/secret.bin", "out"])
def test_of_two_locations_only_the_good_one_may_be_used(op: Op, other: str) -> None:
    for first, second in (("data.bin", other), (other, "data.bin")):
        found = expected(("location", second), name=first, op=op)
        assert (found.outcome, found.rule, found.file) == ("either", "external.location", "model/data.bin")
    assert expected(("location", other), name=other, op=op).outcome == "refuse"


def test_of_two_good_locations_any_may_be_used() -> None:
    assert expected(("location", "good.bin")).file is None
    assert expected(("location", "./data.bin")).file == "model/data.bin"


@pytest.mark.parametrize("key", ["basepath", "__class__", "", "Length"])
def test_a_key_that_the_format_has_not_changes_nothing(key: str) -> None:
    found = expected((key, "../outside"))
    assert (found.outcome, found.rule, found.file) == ("either", "external.keys", "model/data.bin")


def test_what_is_wrong_with_the_location_comes_first() -> None:
    assert expected(("length", "5"), name="../outside/secret.bin").rule == "contain.parent"
    assert expected(("basepath", "x"), name="missing").rule == "type.read-missing"


def test_a_model_from_memory_may_have_the_working_directory() -> None:
    draft = scene(calls=read("good.bin"), model=Model(given=""), cwd="model")
    case = Case("test/one", "A case.", "hostile", (), draft.world, draft.calls, draft.model)
    assert (predict(case)[0].outcome, model_directory(case)) == ("refuse", None)
    met = from_memory(case)
    assert (predict(met)[0].outcome, model_directory(met)) == ("accept", "model")
    assert from_memory(met) is met
