"""The rules on callbacks and chunking, on observations made by hand: what breaks each, and the nearest thing that does not."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from epctx.case import Attribute, Call, Callback, Case, Content, File, Model, Node, World, content_of, name_of, stream
from epctx.observation import CallbackSeen, Change, Memory, Observation, Output, Seen, State, Touched, content_digest, digest
from epctx.oracle import judge, profile
from epctx.spec import predict

GOOD, ANSWER, PAYLOAD = File("model/good.bin"), Content("answer"), Content("payload")
WORLD = World((GOOD, File("outside/secret.bin")))
PLAIN, CHUNKED = profile("hardened"), profile("hardened", chunking=True)
NONE = Output(0, digest(b""), null=True)
OPENED = Touched("open", ("model/good.bin",), "inside")
FAILS = Callback(code=9, text="the vault is closed")


def case(*calls: Call, model: Model | None = None) -> Case:
    made = Case("test/one", "A case.", "hostile", (), WORLD, calls, model or Model())
    return replace(made, expect=predict(made))


def findings(call: Call, seen: Seen, model: Model | None = None, judged: Any = PLAIN) -> dict[str, bool]:
    """The rules that say something, each with whether it fails."""
    tested = case(call, model=model)
    verdict = judge(tested, Observation(tested.id, "test", calls=(seen,)), judged)
    return {f.rule: f.fails for f in verdict.findings}


def broken(call: Call, seen: Seen, **more: Any) -> set[str]:
    return {rule for rule, fails in findings(call, seen, **more).items() if fails}


def called(name: str = "key", size: int = 96, direction: Any = "read", **more: Any) -> CallbackSeen:
    return CallbackSeen(direction, name.encode().hex(), size, **more)


def read(**more: Any) -> Seen:
    """A read by a callback that went well."""
    usual: dict[str, Any] = {"callbacks": (called(),), "memory": Memory(1, 1)}
    return Seen("returned", **(usual | {"output": Output(96, content_digest(ANSWER), adopted=True)} | more))


def failed(code: int = 9, text: str = "the vault is closed", **more: Any) -> Seen:
    usual: dict[str, Any] = {"callbacks": (called(),), "output": NONE, "memory": Memory(statuses=1, statuses_released=1)}
    return Seen("returned", code=code, message=text, **(usual | more))


READ = Call("read", "key", read_callback=Callback(ANSWER))
FAILING = Call("read", "key", read_callback=FAILS)


def test_the_applications_own_text_may_hold_control_characters() -> None:
    noisy = Call("read", "a\nb", read_callback=Callback(code=9, text="closed \x1b[31m"))
    assert findings(noisy, failed(text="closed \x1b[31m", callbacks=(called("a\nb"),))) == {}


def test_what_goes_well_breaks_nothing() -> None:
    assert findings(READ, read()) == {}
    assert findings(FAILING, failed()) == {}


@pytest.mark.parametrize(
    ("seen", "rules"),
    [
        (failed(code=1), {"cb.error-is-final", "status.code"}),
        (failed(text="the callback failed"), {"cb.error-is-final"}),
        (failed(text="The vault is closed"), {"cb.error-is-final"}),
        (failed(callbacks=(called(), called())), {"cb.error-is-final"}),
        (failed(callbacks=()), {"cb.error-is-final"}),
        (failed(touched=(OPENED,)), {"cb.error-is-final", "cb.no-file-access"}),
        (
            Seen("returned", output=Output(96, content_digest(content_of(GOOD))), callbacks=(called(),), touched=(OPENED,)),
            {"cb.error-is-final", "cb.no-file-access"},
        ),
        (Seen("crash"), {"cb.error-is-final", "safe.no-crash"}),
    ],
)
def test_an_error_is_final(seen: Seen, rules: set[str]) -> None:
    assert broken(FAILING, seen) == rules


def test_an_error_of_a_write_is_final() -> None:
    write = Call("write", "new.bin", write_callback=FAILS)
    seen = failed(output=None, callbacks=(called("new.bin", direction="write"),))
    assert broken(write, seen) == set()
    made = Change("model/new.bin", "inside", State(), State("file", 7, 0o644, 96, content_digest(PAYLOAD)))
    sidecar = replace(seen, changes=(made,), touched=(Touched("create", ("model/new.bin",), "inside"),))
    assert broken(write, sidecar) >= {"cb.error-is-final", "cb.no-file-access"}


@pytest.mark.parametrize("text", ["", "not \\xff text", "\x1b[31m"])
def test_any_text_of_a_callback_is_its_own(text: str) -> None:
    data = text.encode("latin-1").replace(b"\\xff", b"\xff")
    call = Call("read", "key", read_callback=Callback(code=9, text=name_of(data)))
    assert broken(call, failed(text=text)) == set()
    assert broken(call, failed(text="another")) == {"cb.error-is-final"}


def test_a_file_beside_the_callback() -> None:
    assert broken(READ, read(touched=(OPENED,))) == {"cb.no-file-access"}
    assert broken(READ, read(touched=(Touched("attributes", ("model/good.bin",), "inside"),))) == set()


def test_a_state_that_is_not_the_registered_one() -> None:
    assert broken(READ, read(callbacks=(called(state_ok=False),))) == {"cb.state-identity"}


def test_an_allocator_that_is_not_the_given_one() -> None:
    assert broken(READ, read(callbacks=(called(allocator_ok=False),))) == {"own.caller-allocator"}


def test_a_late_callback() -> None:
    late = called(late=True, state_ok=False, allocator_ok=False, started=0.01)
    assert broken(READ, read(callbacks=(called(), late))) == {"cb.synchronous"}
    assert broken(FAILING, failed(callbacks=(called(), late))) == {"cb.synchronous"}


def test_the_other_direction_only() -> None:
    call = Call("read", "good.bin", write_callback=Callback())
    good = Seen("returned", output=Output(96, content_digest(content_of(GOOD))), reads=("model/good.bin",), touched=(OPENED,))
    assert broken(call, good) == set()
    assert broken(call, replace(good, callbacks=(called("good.bin", direction="write"),))) == {"cb.directions-independent"}
    assert broken(call, failed(code=1, text="no", callbacks=())) == {"cb.directions-independent"}


def test_a_config_without_callbacks() -> None:
    call = Call("read", "good.bin", config=True)
    good = Seen("returned", output=Output(96, content_digest(content_of(GOOD))), reads=("model/good.bin",), touched=(OPENED,))
    assert broken(call, good) == set()
    assert broken(call, failed(code=1, text="no", callbacks=())) == {"cb.absent-is-file"}


def test_null_with_a_size() -> None:
    call = Call("read", "key", read_callback=Callback(size=7))
    assert broken(call, failed(code=1, text="no buffer")) == set()
    assert broken(call, failed(code=2, text="no buffer")) == {"status.code"}
    assert broken(call, Seen("returned", output=NONE, callbacks=(called(),))) == {"cb.null-buffer"}


@pytest.mark.parametrize("callback", [Callback(), Callback(Content("c", 0)), Callback(Content("c"), size=0)])
def test_an_empty_payload(callback: Callback) -> None:
    call = Call("read", "key", read_callback=callback)
    empty = Seen("returned", output=NONE, callbacks=(called(size=0),), memory=Memory(1, 1))
    assert broken(call, empty) == set()
    assert broken(call, replace(empty, memory=Memory(1, 0))) == {"cb.empty-payload"}
    assert broken(call, replace(empty, memory=Memory(1, 1, bad_frees=1))) == {"cb.empty-payload", "own.no-leak"}
    assert broken(call, replace(empty, output=Output(5, digest(b"stale")))) == {"cb.empty-payload", "size.exact"}
    assert broken(call, failed(code=1, text="no data")) == {"cb.empty-payload"}


def test_a_buffer_that_a_failing_callback_leaves() -> None:
    call = Call("read", "key", read_callback=replace(FAILS, content=ANSWER))
    once = Memory(1, 1, statuses=1, statuses_released=1)
    assert broken(call, failed(memory=once)) == set()
    assert broken(call, failed(memory=replace(once, freed=0, live=96))) == {"cb.alloc-then-fail", "own.no-leak"}
    assert broken(call, failed(memory=replace(once, bad_frees=1))) == {"cb.alloc-then-fail", "own.no-leak"}


def test_an_error_that_leaves_a_size() -> None:
    call = Call("read", "key", read_callback=replace(FAILS, size=7))
    assert broken(call, failed()) == set()
    assert broken(call, failed(output=Output(7, digest(b""), null=True))) == {"cb.error-with-size", "out.empty-on-error"}


def test_a_size_beyond_the_buffer() -> None:
    call = Call("read", "key", read_callback=Callback(ANSWER, size=4096))
    assert broken(call, read(output=Output(4096, content_digest(ANSWER), adopted=True))) == set()
    assert broken(call, read(output=Output(4096, digest(b"heap")))) == {"own.adopts"}


def test_a_null_payload() -> None:
    sized = Call("write", "key", payload=None, null_size=7, write_callback=Callback())
    refused = failed(code=2, text="NULL", output=None, callbacks=())
    assert broken(sized, refused) == set()
    assert broken(sized, replace(refused, callbacks=(called(size=7, direction="write", null=True),))) == {"cb.write-null-buffer"}
    assert "cb.write-null-buffer" in broken(sized, Seen("returned"))
    empty = Call("write", "key", payload=None, write_callback=Callback())
    piece = called(size=0, direction="write", null=True, digest=digest(b""))
    assert broken(empty, Seen("returned", callbacks=(piece,))) == set()
    assert broken(empty, refused) == {"cb.write-null-buffer", "name.opaque-to-callback"}
    nothing = broken(empty, Seen("returned"))
    assert nothing == {"cb.write-null-buffer", "name.opaque-to-callback", "chunk.single-write"}


def node(name: str, embed: int = 0) -> Node:
    return Node((Attribute("embed_mode", number=embed), Attribute("ep_cache_context", text=name)))


def test_nodes_are_read_once_for_each_name() -> None:
    load, model = Call("load", read_callback=Callback(ANSWER)), Model(nodes=(node("a"), node("b"), node("a")))
    once = Seen("returned", callbacks=(called("a"), called("b")), names=("61", "62"))
    assert broken(load, once, model=model) == set()
    assert broken(load, replace(once, callbacks=(called("a"), called("b"), called("a"))), model=model) == {"cb.embed-bypasses"}
    assert broken(load, replace(once, callbacks=(called("a"),)), model=model) == {"cb.embed-bypasses"}


def test_what_is_embedded_is_not_asked_for() -> None:
    load, model = Call("load", read_callback=Callback(ANSWER)), Model(nodes=(node("a", embed=1),))
    assert broken(load, Seen("returned"), model=model) == set()
    assert broken(load, Seen("returned", callbacks=(called("a"),)), model=model) == {"cb.embed-bypasses"}
    assert broken(load, Seen("returned", names=("61",)), model=model) == {"cb.embed-bypasses"}


# --- pieces -----------------------------------------------------------------------------------------------------------------

WRITE = Call("write", "key", write_callback=Callback())
IN_TURNS = Call("write", "key", write_callback=Callback(reenters="other"))


def pieces(*parts: tuple[int, int], name: str = "key") -> tuple[CallbackSeen, ...]:
    whole = stream("payload", 96)
    return tuple(called(name, end - start, "write", digest=digest(whole[start:end])) for start, end in parts)


def wrote(*seen: CallbackSeen) -> Seen:
    return Seen("returned", callbacks=seen)


WHOLE = pieces((0, 96))


@pytest.mark.parametrize(
    ("seen", "single", "declared"),
    [
        (WHOLE, True, True),
        (pieces((0, 40), (40, 96)), False, True),
        (pieces((0, 40), (40, 80), (80, 96)), False, True),
        (pieces((0, 96), (96, 96)), False, True),
        (pieces((0, 40), (40, 95)), False, False),
        (pieces((0, 40)), False, False),
        (pieces((40, 96), (0, 40)), False, False),
        (pieces((0, 40), (40, 96), (40, 96)), False, False),
        (pieces((0, 96), (96, 96), (96, 96)), False, False),
        (pieces((0, 96), (0, 96)), False, False),
        ((*pieces((0, 40)), *pieces((40, 96), name="key.1")), False, False),
        ((replace(WHOLE[0], digest="other"),), False, False),
        ((replace(WHOLE[0], digest=""),), False, False),
        ((replace(WHOLE[0], late=True),), False, False),
    ],
)
def test_pieces(seen: tuple[CallbackSeen, ...], single: bool, declared: bool) -> None:
    assert ("chunk.single-write" not in broken(WRITE, wrote(*seen))) == single
    assert ("chunk.declared" not in broken(WRITE, wrote(*seen), judged=CHUNKED)) == declared
    assert "chunk.declared" not in broken(WRITE, wrote(*seen))
    assert "chunk.single-write" not in broken(WRITE, wrote(*seen), judged=CHUNKED)


def test_pieces_of_two_names_in_turns() -> None:
    mine, other = pieces((0, 40), (40, 96)), pieces((0, 20), (20, 40), (40, 40), (40, 96), name="other")
    for order in ((*mine, *other), (mine[0], *other[:3], mine[1], other[3]), (*other, *mine)):
        assert broken(IN_TURNS, wrote(*order), judged=CHUNKED) == set()
    assert broken(IN_TURNS, wrote(mine[0], *other), judged=CHUNKED) == {"chunk.declared"}
    assert broken(IN_TURNS, wrote(*mine, *other[1:]), judged=CHUNKED) == {"chunk.declared"}


def test_the_order_of_names_is_told_and_never_a_finding() -> None:
    for seen, order in (
        ((*WHOLE, *pieces((0, 96), name="other")), "key, other"),
        ((*pieces((0, 96), name="other"), *WHOLE), "other, key"),
    ):
        tested = case(IN_TURNS)
        verdict = judge(tested, Observation(tested.id, "test", calls=(wrote(*seen),)), PLAIN)
        assert [(f.rule, f.fails, f.happened) for f in verdict.findings] == [
            ("chunk.no-order-between-names", False, f"the order was {order}")
        ]
        assert verdict.result == "note"
