"""What makes two findings the same."""

from __future__ import annotations

import pytest

from epctx.case import Call, Callback, Case, Content, File, Limits, Link, Model, Name, Piece, Share, Threads, World
from epctx.fuzz.fingerprint import Sign, fingerprint, form, shape

READ = Sign("contain.symlink-file", "read", "model", "accepted", "contain.symlink-file", "refuse")
REFUSED = Sign("own.caller-allocator", "read", "model", "refused", "own.caller-allocator", "accept")


def case(name: Name = "a/../link", to: str = "../outside/secret.bin", given: str = "", **options: object) -> Case:
    model = Model(given=given) if given else Model()
    call = Call("read", name, **options)  # type: ignore[arg-type]
    return Case("fuzz/1-1", "A case.", "hostile", (), World((File("outside/secret.bin"), Link("model/link", to))), (call,), model)


def test_words_and_numbers_make_no_difference() -> None:
    other = case("none/../other.bin", "{root}/outside/secret.bin")
    assert fingerprint(READ, case()) == fingerprint(READ, other)


@pytest.mark.parametrize(
    "other",
    [
        case("link"),
        case("/a/../link"),
        case(given="model.onnx"),
        case(allocator="caller"),
        case(read_callback=Callback(Content("answer"))),
        Case("fuzz/1-1", "A case.", "hostile", (), World((File("outside/secret.bin"),)), case().calls),
        Case("fuzz/1-1", "A case.", "hostile", (), case().world, case().calls, limits=Limits(file_size=0)),
    ],
)
def test_what_is_needed_to_break_the_rule_makes_one(other: Case) -> None:
    assert fingerprint(READ, other) != fingerprint(READ, case())


def test_sizes_at_the_edges_are_their_own_kind() -> None:
    def of(size: int) -> str:
        return fingerprint(READ, case(read_callback=Callback(Content("answer", size))))

    assert of(4096) == of(4097) != of(96) == of(50)
    assert len({of(0), of(1), of(50), of(4096)}) == 4


def test_of_threads_there_is_only_what_they_do() -> None:
    def threads(*names: str) -> Case:
        shares = tuple(Share("read", name, Content(name)) for name in names)
        call = Call("read", payload=None, read_callback=Callback(), threads=Threads(shares))
        return Case("fuzz/1-1", "A case.", "hostile", (), World(), (call,))

    assert shape(threads("a")) == shape(threads("a", "b", "../c"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("../outside/secret.bin", "../w/w"),
        ("{root}/outside", "/w/w"),
        ("..foo/./a b", "..w/./w w"),
        ("%2e%2e", "%w%w"),
        ((Piece("n", times=300),), "w…"),
        ((Piece(hex="ff"), Piece("good.bin")), "\\w.w"),
    ],
)
def test_the_form_of_a_name(name: Name, expected: str) -> None:
    assert form(name) == expected


def test_a_good_call_that_is_refused_is_the_same_whichever_rule_says_that_it_is_good() -> None:
    plain = REFUSED._replace(rule="contain.accept-inside", decides="contain.accept-inside")
    assert REFUSED.alike(plain)
    assert not READ.alike(plain)
    assert not REFUSED.alike(plain._replace(outcome="accepted"))
    assert not REFUSED.alike(plain._replace(rule="status.code"))


def test_a_node_may_be_read_by_a_call_and_a_read_is_no_write() -> None:
    load = READ._replace(op="load", outcome="refused")  # by what comes after it
    assert load.alike(READ)
    assert not READ.alike(load)
    assert not READ.alike(READ._replace(op="write"))


def test_what_is_not_safe_is_so_whatever_comes_back() -> None:
    outside = READ._replace(rule="safe.no-outside-read")
    assert outside.alike(outside._replace(outcome="refused"))
    assert not outside.alike(outside._replace(outcome="crash"))
    assert not READ.alike(READ._replace(outcome="refused"))
