"""Several threads that call a target at once, and callbacks that wait for each other or call back in."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.native.running import Running

from epctx.attack import threads
from epctx.case import Call, Callback, Content, Share, Threads, raw, stream
from epctx.observation import Seen, ThreadsSeen
from epctx.target import wire

Start = Callable[..., Running]
READS = tuple(Share("read", f"r{n}.bin", Content(f"r{n}", 96 + n)) for n in range(4))
WRITES = tuple(Share("write", f"w{n}.bin", Content(f"w{n}", 96 + n)) for n in range(4))
ASKED = Callback()


def seen_of(running: Running, call: Call) -> Seen:
    seen = running.call(call, None, fields=wire.threads(call, [raw(name) for name in call.names])).seen
    assert seen.ended == "returned"
    return seen


def run(running: Running, *shares: Share, **options: object) -> ThreadsSeen:
    seen = seen_of(running, threads(*shares, **options))  # type: ignore[arg-type]
    assert seen.threads is not None
    return seen.threads


@pytest.mark.parametrize("configs", ["one", "each"])
def test_all_calls_are_counted_and_right(on_either_runtime: Running, configs: str) -> None:
    callbacks = {"read": ASKED, "write": ASKED}
    seen = run(on_either_runtime, *READS, *WRITES, count=3, rounds=40, configs=configs, callbacks=callbacks)
    assert seen == ThreadsSeen(120, 120, 0, 0, 0, 0, seen.most_in_flight)
    assert 1 <= seen.most_in_flight <= 3


def test_nothing_is_left_behind(reference: Running) -> None:
    memory = seen_of(reference, threads(*READS, callbacks={"read": ASKED}, allocator="caller")).memory
    assert (memory.allocated, memory.freed, memory.caller_allocated, memory.live) == (200, 200, 200, 0)


def test_names_are_those_of_files_without_a_callback(reference: Running) -> None:
    for share in READS:
        assert share.content is not None
        (reference.world / "model" / str(share.name)).write_bytes(stream(share.content.key, share.content.size))
    seen = run(reference, *READS, *WRITES, Share("read", "../outside/secret.bin", None), count=3, rounds=9)
    assert (seen.calls, seen.right, seen.most_in_flight) == (27, 27, 0)
    assert (reference.world / "model" / "w3.bin").read_bytes() == stream("w3", 99)


@pytest.mark.parametrize(
    "share",
    [
        Share("read", "missing.bin", Content("x")),
        Share("read", "good.bin", Content("x")),
        Share("read", "good.bin", None),
        Share("write", "sub", Content("x")),
    ],
)
def test_what_one_thread_alone_gets_wrong_is_not_held_against_several(reference: Running, share: Share) -> None:
    seen = run(reference, share, count=2, rounds=2)
    assert (seen.calls, seen.alone, seen.right, seen.wrong, seen.failed, seen.evidence) == (4, 4, 0, 0, 0, "")


def test_a_wrong_status_is_told(start: Start) -> None:
    seen = run(start("weak=refuses-while-busy"), *READS, count=4, rounds=500, callbacks={"read": ASKED})
    assert seen.failed > 0
    assert seen.right + seen.failed == seen.calls
    assert "was refused with code 1: another call is in progress" in seen.evidence


@pytest.mark.parametrize(
    ("weak", "options", "evidence"),
    [
        ("shares-buffer", {"callbacks": {"read": ASKED}}, " had "),
        ("shares-name", {"callbacks": {"read": ASKED}}, "had its read callback called for"),
        ("last-config-wins", {"callbacks": {"read": ASKED}, "configs": "each"}, "had its read callback called with the state of"),
    ],
)
def test_what_threads_share_is_noticed(start: Start, weak: str, options: dict[str, object], evidence: str) -> None:
    seen = run(start(f"weak={weak}"), *READS, count=4, rounds=500, **options)
    assert seen.wrong + seen.crossed > 0
    assert evidence in seen.evidence


def test_a_write_that_never_reaches_its_callback_is_noticed(start: Start) -> None:
    seen = run(start("weak=shares-name"), *WRITES, count=4, rounds=500, callbacks={"write": ASKED})
    assert seen.crossed > 0
    assert "had its write callback called for" in seen.evidence


def test_callbacks_wait_for_each_other(start: Start) -> None:
    for settings, most in (("", 4), ("weak=lock-around-callback", 1)):
        seen = run(start(settings), *READS, count=4, rounds=1, callbacks={"read": Callback(waits=4)})
        assert (seen.most_in_flight, seen.right) == (most, 4)


def test_a_callback_calls_back_in(on_either_runtime: Running) -> None:
    callbacks = {"read": Callback(reenters="w0.bin"), "write": ASKED}
    seen = run(on_either_runtime, READS[0], WRITES[0], count=1, rounds=2, callbacks=callbacks)
    assert (seen.calls, seen.right, seen.most_in_flight) == (3, 3, 2)


def test_a_call_back_in_is_one_of_its_own(start: Start) -> None:
    callbacks = {"read": Callback(reenters="r0.bin")}
    seen = run(start("weak=one-read-for-each-thread"), READS[0], count=1, rounds=1, callbacks=callbacks)
    assert (seen.calls, seen.right, seen.wrong) == (2, 1, 1)
    assert seen.evidence == 'a read of "r0.bin" had 0 bytes that are no share\'s'


def test_each_share_has_its_turn() -> None:
    """The documented order: thread t in round r works on share t + r * count, around."""
    assert Threads(READS).count == 4
    call = threads(*READS, *WRITES)
    assert (call.op, call.name, call.payload) == ("write", None, None)
    assert call.names == ("r0.bin", "r1.bin", "r2.bin", "r3.bin", "w0.bin", "w1.bin", "w2.bin", "w3.bin")
