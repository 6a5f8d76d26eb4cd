"""Cases as bytes: both decoders agree, nothing gets lost, and what bytes say may be built."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from epctx.attack import STANDARD, families
from epctx.case import Call, Case, Link, Model, Piece, World, raw
from epctx.case_check import validate
from epctx.errors import CaseError
from epctx.fuzz import Dice, Grammar
from epctx.fuzz.encoding import CALLS, HEAD, LONGEST, WORLDS, decode, encode, encoded, nearest
from epctx.fuzz.plan import plan
from epctx.fuzz.seeds import listed, words
from epctx.model import model_bytes, names_in
from epctx.target import build
from epctx.target.driver import request
from epctx_driver import protocol

ROOTS = [f"/ground/4-{number}/3/2/1/a/b/world".encode() for number in range(len(WORLDS))]
NATIVE = build.NATIVE
TOKENS = (b"..", b"/", b"../", b"{root}", b"good.bin", b"link", b"\0", b"\xff", b"\xc0\xae", b"%2e", b"\x01\x02root\x02\x01")

names = st.one_of(
    st.binary(max_size=40),
    st.lists(st.sampled_from(TOKENS) | st.binary(max_size=3), max_size=9).map(b"".join),
)
inputs = st.builds(lambda head, name: head + name, st.binary(max_size=HEAD), names)


@pytest.fixture(scope="module")
def native() -> Callable[[bytes], bytes | None]:
    """The decoder of the fuzzers, which gives a request."""
    part = build.Part("plan", (NATIVE / "fuzz" / "plan.cc",), build.FUZZER.inputs, build.DRIVER.flags)
    function = ctypes.CDLL(str(build.build(part))).epctx_fuzz_request
    function.restype = ctypes.c_size_t
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    made, room = plan(ROOTS, b"/ground/scratch"), ctypes.create_string_buffer(1 << 16)

    def decoded(data: bytes) -> bytes | None:
        size = function(made, len(made), data, len(data), room, len(room))
        return room.raw[:size] if size else None

    return decoded


def of_case(case: Case, root: bytes) -> bytes:
    """The request for a case, as the keeper makes it."""
    (call,) = case.calls
    found = names_in(model_bytes(case, root)) if call.source == "model" else [raw(name, root) for name in call.names]
    cwd = root + b"/" + raw(case.world.cwd)
    message = request(call, found[0], raw(case.model.given, root), cwd, root, case.limits.file_size, b"", bulk=-1)
    return message[protocol.HEADER.size :]


def told(message: bytes) -> tuple[bytes, dict[int, list[bytes]]]:
    """The fixed part of a request and its fields, in whatever order."""
    size = protocol.REQUEST.size
    return message[:size], protocol.fields(message, size)


@settings(max_examples=400, deadline=None)
@given(data=inputs)
@example(data=b"")
@example(data=b"\x00")
@example(data=bytes(HEAD))
@example(data=bytes(HEAD) + bytes(LONGEST))
@example(data=bytes(HEAD + 1) + bytes(LONGEST))
@example(data=encoded(0, 0, b"/outside/../../x"))
@example(data=encoded(1, 0, b"../../../x"))
def test_both_decoders_make_the_same_call_of_the_same_bytes(native: Callable[[bytes], bytes | None], data: bytes) -> None:
    case, made = decode(data), native(data)
    assert (case is None) == (made is None)
    if case is not None and made is not None:
        assert told(made) == told(of_case(case, ROOTS[data[0] % len(WORLDS)]))


@settings(max_examples=300, deadline=None)
@given(data=inputs)
def test_what_bytes_say_may_be_built_and_comes_back(data: bytes) -> None:
    case = decode(data)
    if case is None:
        return
    validate(case)
    again = encode(case)
    assert again is not None
    assert again[HEAD:] == data[HEAD:]
    assert decode(again) == case


def test_every_call_in_every_world_is_a_case() -> None:
    for world in range(len(WORLDS)):
        for call in range(len(CALLS)):
            case = decode(encoded(world, call, b"good.bin"))
            assert case is not None
            validate(case)
            assert encode(case) == encoded(world, call, b"good.bin")
            wanted = CALLS[call]
            assert case.calls[0] == replace(wanted, **{"name" if wanted.fallback is UNSET else "fallback": "good.bin"})


def test_a_name_that_could_leave_the_margin_is_no_case() -> None:
    assert decode(encoded(0, 0, b"../../../../x")) is not None
    assert decode(encoded(0, 0, b"../../../../../x")) is None
    with pytest.raises(CaseError):
        validate(Case("fuzz/1", "A case.", "hostile", (), World(STANDARD), (Call("read", "../../../../../../x"),)))


@pytest.mark.parametrize(
    "case",
    [
        Case("fuzz/1", "A case.", "hostile", (), World((*STANDARD, Link("model/a", "b"))), (Call("read", "a"),)),
        Case("fuzz/1", "A case.", "hostile", (), World(STANDARD), (Call("read", None),)),
        Case("fuzz/1", "A case.", "hostile", (), World(STANDARD), (Call("read", "a"), Call("read", "a"))),
        Case("fuzz/1", "A case.", "hostile", (), World(STANDARD), (Call("read", "a", lingers=True),)),
        Case("fuzz/1", "A case.", "hostile", (), World(STANDARD), (Call("read", "a/{root}/b"),)),
        Case("fuzz/1", "A case.", "hostile", (), World(STANDARD), (Call("read", "{root}"),)),
        Case("fuzz/1", "A case.", "hostile", (), World(STANDARD), (Call("read", "/dev/null"),)),
        Case("fuzz/1", "A case.", "hostile", (), World(STANDARD), (Call("read", "a"),), Model(given="./model.onnx")),
    ],
)
def test_what_bytes_cannot_say_has_none(case: Case) -> None:
    assert encode(case) is None


def test_however_a_name_is_written_its_bytes_are_the_same() -> None:
    case = Case("fuzz/1", "A case.", "hostile", (), World(STANDARD), (Call("read", (Piece("ab/", times=3), Piece(hex="ff"))),))
    data = encode(case)
    assert data == encoded(0, 0, b"ab/ab/ab/\xff")
    back = decode(data)
    assert back is not None
    assert back.calls[0].name == (Piece("ab/ab/ab/"), Piece(hex="ff"))


def test_the_grammar_makes_cases_that_can_be_said_in_bytes() -> None:
    dice, grammar, said = Dice(4), Grammar(), 0
    for number in range(1500):
        case = grammar.case(dice, f"fuzz/4-{number}")
        data = encode(case) if case else None
        if case and data:
            back = decode(data)
            assert back is not None
            assert [raw(name) for name in back.calls[0].names] == [raw(name) for name in case.calls[0].names]
            assert (back.world, back.model) == (case.world, case.model)
            said += 1
    assert said


def test_the_listed_cases_give_seeds_and_words() -> None:
    seeds, known = listed(), set(words())
    assert all(decode(seed) is not None for seed in seeds)
    assert encoded(0, 0, b"../outside/secret.bin") in seeds
    assert {b"..", b"/", b"secret.bin"} <= known
    said = [case for family in families().values() for case in family.cases() if any(nearest(case))]
    assert len(said) > 1000
