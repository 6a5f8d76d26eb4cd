"""The driver, through its protocol."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.native.running import Running

from epctx.case import FAIL, INVALID_ARGUMENT, NOT_IMPLEMENTED, OK, Call, Callback, Content, stream
from epctx.observation import digest
from epctx.target import build
from epctx.target.native import onnxruntime_library
from epctx_driver import protocol

Start = Callable[..., Running]
Compile = Callable[[str, Path], Path]

OUTPUT = """
#include <string>
struct EpctxOutput { std::string bytes; };
uint32_t epctx_target_abi() { return EPCTX_TARGET_ABI; }
EpctxOutput* epctx_output_new() { return new EpctxOutput; }
void epctx_output_delete(EpctxOutput* output) { delete output; }
const void* epctx_output_data(const EpctxOutput* output) { return output->bytes.data(); }
size_t epctx_output_size(const EpctxOutput* output) { return output->bytes.size(); }
"""
READ = """
OrtStatus* epctx_read(const OrtApi* api, const OrtEpContextConfig* config, const char* name, const OrtGraph* graph,
                      EpctxOutput* output, OrtAllocator* allocator) {
"""


def test_says_what_it_is_and_what_its_target_can(on_either_runtime: Running) -> None:
    hello = on_either_runtime.hello
    assert hello.error == ""
    assert hello.can == {"read", "write", "fallback", "moves", "load", "config"}
    assert hello.ort == "stand-in" or hello.ort.startswith("1.")


def test_reads_and_counts(on_either_runtime: Running) -> None:
    reply = on_either_runtime.call(Call("read"), "good.bin")
    assert (reply.seen.code, bytes(reply.output)) == (OK, b"good" * 24)
    memory = reply.seen.memory
    assert (memory.allocated, memory.freed, memory.live, memory.peak, memory.largest) == (1, 1, 0, 96, 96)
    assert memory.bad_frees == memory.bad_releases == memory.statuses == 0


def test_an_error_comes_with_its_code_and_text(on_either_runtime: Running) -> None:
    reply = on_either_runtime.call(Call("read"), "../outside/secret.bin")
    assert reply.seen.code == INVALID_ARGUMENT
    assert "leads out of the model directory" in reply.seen.message
    assert reply.seen.output is not None
    assert reply.seen.output.null
    assert reply.seen.memory.statuses == reply.seen.memory.statuses_released == 1


@pytest.mark.parametrize("size", [protocol.INLINE_LIMIT, protocol.INLINE_LIMIT + 1, 3 << 20])
def test_large_data_goes_through_bulk_memory(on_either_runtime: Running, size: int) -> None:
    payload = Content("large", size)
    assert on_either_runtime.call(Call("write", payload=payload), "large.bin").seen.code == OK
    assert (on_either_runtime.world / "model" / "large.bin").read_bytes() == stream("large", size)
    assert on_either_runtime.read("large.bin") == (OK, stream("large", size))


@pytest.mark.parametrize("size", [0, 96, 3 << 20])
def test_a_callback_gives_the_data(on_either_runtime: Running, size: int) -> None:
    call = Call("read", read_callback=Callback(Content("from callback", size)))
    reply = on_either_runtime.call(call, b"/any \xff/../name")
    assert (reply.seen.code, bytes(reply.output)) == (OK, stream("from callback", size))
    assert reply.seen.output is not None
    assert reply.seen.output.adopted
    assert [(c.direction, bytes.fromhex(c.name), c.state_ok) for c in reply.seen.callbacks] == [
        ("read", b"/any \xff/../name", True)
    ]


@pytest.mark.parametrize("limit", [None, 0, 1000])
@pytest.mark.parametrize("answer", [96, 3 << 20])
def test_a_large_payload_reaches_the_callback_whole(on_either_runtime: Running, limit: int | None, answer: int) -> None:
    payload = Content("large", 1 << 20)
    call = Call("write", payload=payload, write_callback=Callback(), read_callback=Callback(Content("answer", answer)))
    (seen,) = on_either_runtime.call(call, "key", file_size=limit).seen.callbacks
    assert (seen.direction, seen.size, seen.digest) == ("write", 1 << 20, digest(stream("large", 1 << 20)))


def test_a_callback_that_fails_is_final(on_either_runtime: Running) -> None:
    call = Call("read", read_callback=Callback(Content("left behind"), code=NOT_IMPLEMENTED, text="so it is"))
    seen = on_either_runtime.call(call, "good.bin").seen
    assert (seen.code, seen.message) == (NOT_IMPLEMENTED, "so it is")
    assert (seen.memory.allocated, seen.memory.freed, seen.memory.bad_frees) == (1, 1, 0)


@pytest.mark.parametrize("op", ["read", "write"])
def test_a_config_without_a_callback_is_the_file_path(on_either_runtime: Running, op: str) -> None:
    call = Call(op, config=True, payload=Content("payload"))  # type: ignore[arg-type]
    assert on_either_runtime.call(call, "good.bin").seen.code == OK
    written = (on_either_runtime.world / "model" / "good.bin").read_bytes()
    assert written == (stream("payload", 96) if op == "write" else b"good" * 24)


def test_a_state_is_never_that_of_an_earlier_call(compiled: Compile, start: Start, tmp_path: Path) -> None:
    lines = """
    static OrtReadNamedBufferFunc function = nullptr;
    static void* state = nullptr;
    if (function == nullptr) {
      if (OrtStatus* status = api->GetEpApi()->EpContextConfigGetEpContextDataReadFunc(config, &function, &state)) return status;
    }
    void* buffer = nullptr;
    size_t size = 0;
    if (OrtStatus* status = function(state, name, allocator, &buffer, &size)) return status;
    output->bytes.assign(static_cast<char*>(buffer), size);
    return api->AllocatorFree(allocator, buffer); }"""
    keeps = start(library=compiled(OUTPUT + READ + lines, tmp_path))
    call = Call("read", read_callback=Callback(Content("first")), allocator="caller")
    first, second = keeps.call(call, "x"), keeps.call(call, "x")
    assert (first.seen.code, bytes(first.output), first.seen.callbacks[0].state_ok) == (OK, stream("first", 96), True)
    assert second.seen.code == OK
    assert [c.state_ok for c in second.seen.callbacks] == [False]


def test_what_a_runtime_does_not_have_is_lent(compiled: Compile, start: Start, tmp_path: Path) -> None:
    library = onnxruntime_library()
    if library is None:
        pytest.skip("onnxruntime is not installed")
    lines = """
    OrtReadNamedBufferFunc function = nullptr;
    void *state = nullptr, *buffer = nullptr;
    if (OrtStatus* status = api->GetEpApi()->EpContextConfigGetEpContextDataReadFunc(config, &function, &state)) return status;
    size_t size = 0;
    return function(state, name, allocator, &buffer, &size); }"""
    tables = start(library=compiled(OUTPUT + READ + lines, tmp_path), ort=library)
    names, both = start("weak=S1", ort=library), start(ort=library)
    has_tables = int(names.hello.ort.split(".")[1]) >= 31
    assert (names.hello.lent, tables.hello.lent, both.hello.lent) == (has_tables, not has_tables, False)
    for target in (names, tables, both):
        seen = target.call(Call("read", read_callback=Callback(), allocator="caller"), "x").seen
        assert (seen.code, len(seen.callbacks)) == (OK, 1)


def test_accessors_refuse_null_with_statuses_that_are_counted(compiled: Compile, start: Start, tmp_path: Path) -> None:
    lines = """
    void* state = nullptr;
    return api->GetEpApi()->EpContextConfigGetEpContextDataReadFunc(config, nullptr, &state); }"""
    made = compiled(OUTPUT + READ + lines, tmp_path)
    for library in {None, onnxruntime_library()}:
        seen = start(library=made, ort=library).call(Call("read", config=True), "x").seen
        assert (seen.code, seen.message) == (INVALID_ARGUMENT, "Output read_func is NULL")
        assert (seen.memory.statuses, seen.memory.statuses_released) == (1, 1)


def test_a_write_callback_takes_the_data(on_either_runtime: Running) -> None:
    call = Call("write", payload=Content("taken"), write_callback=Callback(), fallback="../unused")
    seen = on_either_runtime.call(call, "../any/name").seen
    assert seen.code == OK
    (called,) = seen.callbacks
    assert (called.direction, bytes.fromhex(called.name), called.size) == ("write", b"../any/name", 96)
    assert called.digest == digest(stream("taken", 96))


@pytest.mark.parametrize("size", [protocol.INLINE_LIMIT, protocol.INLINE_LIMIT + 1, 3 << 20])
def test_a_payload_of_any_size_is_known_by_its_digest(reference: Running, size: int) -> None:
    call = Call("write", payload=Content("taken", size), write_callback=Callback())
    (called,) = reference.call(call, "name").seen.callbacks
    assert (called.size, called.digest) == (size, digest(stream("taken", size)))


@pytest.mark.parametrize(
    ("callback", "size"),
    [
        (Callback(None, size=0), 0),
        (Callback(Content("c"), size=0), 0),
        (Callback(Content("c"), size=40), 40),
        (Callback(Content("c"), size=4096), 4096),
        (Callback(Content("c", 1 << 20), size=1 << 40), 1 << 40),
    ],
)
def test_a_callback_may_lie_about_its_size(on_either_runtime: Running, callback: Callback, size: int) -> None:
    reply = on_either_runtime.call(Call("read", read_callback=callback), "name")
    content = stream("c", callback.content.size)[:size] if callback.content else b""
    assert reply.seen.output is not None
    assert (reply.seen.code, reply.seen.output.size, bytes(reply.output)) == (OK, size, content)
    assert [c.size for c in reply.seen.callbacks] == [size]
    assert reply.seen.memory.allocated == reply.seen.memory.freed
    assert reply.seen.memory.bad_frees == 0


def test_a_callback_may_give_a_size_without_a_buffer(reference: Running) -> None:
    seen = reference.call(Call("read", read_callback=Callback(None, size=1)), "name").seen
    assert (seen.code, seen.memory.allocated) == (FAIL, 0)


def test_a_null_buffer_may_have_a_size(reference: Running) -> None:
    call = Call("write", payload=None, null_size=7, write_callback=Callback())
    assert (reference.call(call, "name").seen.code, reference.call(call, "name").seen.callbacks) == (INVALID_ARGUMENT, ())
    (called,) = reference.call(Call("write", payload=None, write_callback=Callback()), "name").seen.callbacks
    assert (called.null, called.size) == (True, 0)


def test_a_state_may_be_null(on_either_runtime: Running) -> None:
    read = Call("read", read_callback=Callback(Content("c"), null_state=True), write_callback=Callback())
    write = Call("write", read_callback=Callback(), write_callback=Callback(null_state=True))
    for call in (read, write):
        seen = on_either_runtime.call(call, "name").seen
        assert [(c.direction, c.state_ok) for c in seen.callbacks] == [(call.op, True)]


def test_a_config_may_have_no_callbacks(reference: Running) -> None:
    assert reference.read("good.bin", config=True) == (OK, b"good" * 24)
    assert reference.read("good.bin", config=True, accessors=False) == (NOT_IMPLEMENTED, b"")


def test_an_invocation_is_recorded_with_its_circumstances(reference: Running) -> None:
    seen = reference.call(Call("read", allocator="caller", read_callback=Callback(Content("c"))), "name").seen
    (called,) = seen.callbacks
    assert (called.state_ok, called.allocator_ok, called.late, called.thread, called.registration) == (True, True, False, 0, 0)
    assert called.ended is not None
    assert 0 <= called.started <= called.ended <= seen.seconds


WRONG = (
    """
#include "onnxruntime_experimental_c_api.h"
#include <chrono>
#include <thread>
template <typename Function>
void Get(const OrtApi* api, const OrtEpContextConfig* config, const char* name, Function& function, void*& state) {
  using Getter = OrtStatus* (*)(const OrtEpContextConfig*, Function*, void**);
  reinterpret_cast<Getter>(api->GetExperimentalFunction(name))(config, &function, &state);
}
"""
    + READ
    + """
  OrtReadNamedBufferFunc read = nullptr;
  void *state = nullptr, *buffer = nullptr;
  size_t size = 0;
  Get(api, config, "OrtEpApi_EpContextConfig_GetEpContextDataReadFunc_SinceV28", read, state);
"""
)


def test_a_wrong_state_and_a_wrong_allocator_are_noticed(compiled: Compile, start: Start, tmp_path: Path) -> None:
    lines = WRONG + "return read(&state, name, allocator, &buffer, &size); }"
    running = start(library=compiled(OUTPUT + lines, tmp_path))
    (called,) = running.call(Call("read", allocator="caller", read_callback=Callback()), "name").seen.callbacks
    assert (called.state_ok, called.allocator_ok) == (False, True)
    (called,) = running.call(Call("read", read_callback=Callback()), "name").seen.callbacks
    assert (called.state_ok, called.allocator_ok) == (False, False)


def test_a_late_callback_is_waited_for_where_the_case_asks_for_it(compiled: Compile, start: Start, tmp_path: Path) -> None:
    lines = (
        WRONG
        + """
      std::thread([=]() mutable {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        read(state, "late", allocator, &buffer, &size);
      }).detach();
      return nullptr;
    }"""
    )
    running = start(library=compiled(OUTPUT + lines, tmp_path))
    seen = running.call(Call("read", lingers=True, read_callback=Callback(Content("c"))), "name").seen
    (called,) = seen.callbacks
    assert (called.late, called.state_ok, called.thread, seen.memory.allocated) == (True, True, 0, 0)
    for _ in range(10):  # a late callback of one call is none of the next
        assert running.call(Call("read", read_callback=Callback(Content("c"))), "name").seen.callbacks == ()


@pytest.mark.parametrize("others", [1, 2])
def test_a_callback_waits_for_others(compiled: Compile, start: Start, tmp_path: Path, others: int) -> None:
    lines = (
        WRONG
        + """
      void* none = nullptr;
      size_t nothing = 0;
      std::thread other(read, state, "other", allocator, &none, &nothing);
      OrtStatus* status = read(state, name, allocator, &buffer, &size);
      other.join();
      return status;
    }"""
    )
    running = start(library=compiled(OUTPUT + lines, tmp_path))
    seen = running.call(Call("read", read_callback=Callback(waits=1 + others)), "name").seen
    assert [c.met for c in seen.callbacks] == [others == 1] * 2
    assert sorted(c.thread for c in seen.callbacks) == [0, 1]
    assert (seen.seconds < 0.4) == (others == 1)


def test_a_callback_comes_back_to_the_target(on_either_runtime: Running) -> None:
    read = Call("read", read_callback=Callback(Content("c"), reenters="inner"))
    reply = on_either_runtime.call(read, "outer")
    assert [(bytes.fromhex(c.name), c.reentered) for c in reply.seen.callbacks] == [(b"outer", OK), (b"inner", None)]
    assert bytes(reply.output) == stream("c", 96)
    assert (reply.seen.memory.allocated, reply.seen.memory.live) == (2, 0)
    write = Call("write", write_callback=Callback(reenters="inner", code=FAIL, text="no"))
    seen = on_either_runtime.call(write, "outer").seen
    assert [(c.reentered, c.digest) for c in seen.callbacks] == [
        (FAIL, digest(stream("payload", 96))),
        (None, digest(stream("payload", 96))),
    ]
    assert seen.memory.statuses == seen.memory.statuses_released == 2


def test_a_null_name_stays_null(reference: Running) -> None:
    assert reference.read(None)[0] == INVALID_ARGUMENT
    assert reference.call(Call("write"), None).seen.code == INVALID_ARGUMENT


def test_a_null_payload_is_written_as_an_empty_file(reference: Running) -> None:
    assert reference.call(Call("write", payload=None), "empty.bin").seen.code == OK
    assert (reference.world / "model" / "empty.bin").read_bytes() == b""


def test_an_output_that_holds_data_is_emptied(start: Start) -> None:
    for settings, size in (("", 0), ("weak=stale-output", len(b"held from an earlier read"))):
        reply = start(settings).call(Call("read", held=True), "missing.bin")
        assert not reply.not_held
        assert len(reply.output) == size


@pytest.mark.parametrize("held", [False, True])
def test_moves_that_keep_their_promises(reference: Running, held: bool) -> None:
    reply = reference.call(Call("read", held=held, moves=True), "good.bin")
    assert reply.seen.moves == ()
    assert bytes(reply.output) == b"good" * 24
    assert reply.seen.memory.allocated == reply.seen.memory.freed
    assert reply.seen.memory.bad_frees == 0


def test_moves_that_do_not(start: Start) -> None:
    reply = start("weak=moved-from-keeps-data").call(Call("read", moves=True), "good.bin")
    assert "a move construction leaves its source with data" in reply.seen.moves
    assert reply.seen.memory.bad_frees > 0


def test_the_callers_allocator_is_told_apart(start: Start) -> None:
    def memory(settings: str) -> tuple[int, int, bool]:
        seen = start(settings).call(Call("read", allocator="caller"), "good.bin").seen
        return seen.memory.caller_allocated, seen.memory.bad_frees, seen.memory.caller_released

    assert memory("") == (1, 0, False)
    assert memory("weak=ignores-caller-allocator") == (0, 0, False)
    assert memory("weak=releases-caller-allocator") == (1, 0, True)
    assert memory("weak=frees-by-other-allocator") == (1, 1, False)


@pytest.mark.parametrize("kind", ["null", "error"])
def test_allocators_that_fail(on_either_runtime: Running, kind: str) -> None:
    reply = on_either_runtime.call(Call("read", allocator=kind), "good.bin")  # type: ignore[arg-type]
    assert reply.seen.code == FAIL
    assert reply.seen.memory.largest == 96
    assert reply.seen.memory.statuses == reply.seen.memory.statuses_released


def test_wrong_frees_and_releases_are_counted_not_made(start: Start) -> None:
    assert start("weak=frees-output-twice").call(Call("read"), "good.bin").seen.memory.bad_frees == 1
    assert start("weak=releases-status-twice").call(Call("read"), "missing.bin").seen.memory.bad_releases == 1
    leaky = start("weak=leaks-buffer").call(Call("read"), "good.bin").seen.memory
    assert (leaky.allocated, leaky.freed, leaky.live) == (2, 1, 96)
    leaky = start("weak=leaks-status").call(Call("read"), "missing.bin").seen.memory
    assert (leaky.statuses, leaky.statuses_released) == (2, 1)


def test_the_file_size_limit_holds_during_the_call_only(reference: Running) -> None:
    target = reference.world / "model" / "limited.bin"
    seen = reference.call(Call("write", payload=Content("limited", 500)), "limited.bin", file_size=100).seen
    assert (seen.code, target.exists()) == (FAIL, False)
    assert "too large" in seen.message
    assert reference.call(Call("write", payload=Content("limited", 500)), "limited.bin").seen.code == OK
    assert target.stat().st_size == 500


@pytest.mark.parametrize("size", [0, 10, 5000])
def test_a_file_that_changes_while_it_is_read(start: Start, size: int) -> None:
    for settings, code in (("", FAIL), ("weak=unread-tail", OK)):
        running = start(settings)
        file = running.world / "model" / "good.bin"
        file.write_bytes(b"good" * 24)
        resize = protocol.field(protocol.RESIZE, protocol.SIZE.pack(size) + os.fsencode(file))
        reply = running.call(Call("read"), "good.bin", fields=resize)
        assert file.stat().st_size == size
        assert (reply.seen.code, len(reply.output)) == (code, 96 if code == OK else 0)


def test_a_race_is_sorted_and_leaves_the_names_in_place(start: Start) -> None:
    for settings in ("", "weak=check-then-open"):
        running = start(settings)
        inside, link = running.world / "model" / "good.bin", running.world / "model" / f"link{bool(settings)}"
        link.symlink_to("../outside/secret.bin")
        names = os.fsencode(inside), os.fsencode(link)
        race = protocol.field(
            protocol.RACE, protocol.RACE_PLAN.pack(2000, protocol.RACE_KINDS["exchange"], len(names[0])) + names[0] + names[1]
        )
        reply = running.call(Call("read"), "good.bin", fields=race + protocol.field(protocol.RACE_INSIDE, b"good" * 24))
        counts = reply.seen.race
        assert counts is not None
        assert counts.turns >= 1000
        assert counts.rounds == 2000 == counts.inside + counts.refused + counts.outside + counts.torn
        assert link.is_symlink()
        assert not inside.is_symlink()
        if settings == "":
            assert counts.outside == counts.torn == 0
        elif counts.outside:
            assert bytes(reply.output) == b"secret" * 16


def test_an_exception_is_caught_and_told(start: Start, compiled: Compile, tmp_path: Path) -> None:
    throws = compiled(OUTPUT + "#include <stdexcept>\n" + READ + 'throw std::runtime_error("out of reach"); }', tmp_path)
    running = start(library=throws)
    assert running.hello.can == {"read", "config"}
    for _ in range(2):
        seen = running.call(Call("read"), "good.bin").seen
        assert (seen.ended, seen.detail) == ("exception", "out of reach")
    seen = start("weak=throws-on-directory").call(Call("read"), "sub").seen
    assert (seen.ended, seen.detail) == ("exception", "something that is not a std::exception")


def test_a_slot_that_is_not_offered_ends_the_driver_with_its_number(start: Start, compiled: Compile, tmp_path: Path) -> None:
    lines = "reinterpret_cast<void (*const*)()>(api)[5](); return nullptr; }"
    running = start(library=compiled(OUTPUT + READ + lines, tmp_path))
    assert running.send(Call("read"), b"good.bin", "model.onnx", None, b"") == b""
    code, words = running.ended()
    assert code == -6
    assert "slot 5 of OrtApi" in words


def test_a_foreign_status_is_noticed(start: Start, compiled: Compile, tmp_path: Path) -> None:
    lines = "static long foreign[8]; return reinterpret_cast<OrtStatus*>(foreign); }"
    seen = start(library=compiled(OUTPUT + READ + lines, tmp_path)).call(Call("read"), "good.bin").seen
    assert seen.code != OK
    assert seen.memory.bad_releases == 1


def test_a_target_that_cannot_be_used_is_told_and_ends_the_driver(start: Start, compiled: Compile, tmp_path: Path) -> None:
    lacking = start(library=compiled("uint32_t epctx_target_abi() { return EPCTX_TARGET_ABI; }", tmp_path))
    assert "does not export epctx_output_new" in lacking.hello.error
    assert lacking.ended()[0] == 3
    (tmp_path / "text.so").write_text("not a library")
    assert "cannot be loaded" in start(library=tmp_path / "text.so").hello.error
    assert "no weakness 'nonsense'" in start("weak=nonsense").hello.error
    assert "no option 'speed=9'" in start("speed=9").hello.error


def test_a_library_that_is_no_onnxruntime_is_told(start: Start, bundled: Path) -> None:
    assert "it has no OrtGetApiBase" in start(ort=bundled).hello.error


def test_it_ends_when_its_socket_closes(reference: Running) -> None:
    reference.driver.link.close()
    assert reference.ended()[0] == 0


def test_bench_prints_a_rate(bundled: Path, world: Path) -> None:
    command = [str(build.driver()), "--target", str(bundled), "--bench", "0.05", "--name", "good.bin"]
    done = subprocess.run([*command, "--model", str(world / "model/m.onnx")], capture_output=True, text=True, check=True)
    rate = json.loads(done.stdout)
    assert rate["bytes"] == 96
    assert rate["reads_per_second"] == pytest.approx(rate["reads"] / rate["seconds"], rel=0.01)
