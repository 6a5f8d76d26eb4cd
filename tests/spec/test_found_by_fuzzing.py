"""What campaigns on the reference helper found wrong in the prediction, each for its whole kind."""

from __future__ import annotations

import pytest

from epctx.attack import node
from epctx.case import (
    FAIL,
    INVALID_ARGUMENT,
    OK,
    Call,
    Callback,
    Case,
    Content,
    Expect,
    File,
    HardLink,
    Limits,
    Link,
    Model,
    Name,
    Piece,
    World,
)
from epctx.spec import predict

MODEL = Model()


def expected(call: Call, *entries: File | Link | HardLink, model: Model = MODEL, cwd: Name = "") -> Expect:
    world = World((File("model/good.bin"), File("model/sub/inner.bin"), File("outside/secret.bin"), *entries), cwd=cwd)
    (found,) = predict(Case("spec/case", "", "hostile", (), world, (call,), model))
    return found


@pytest.mark.parametrize("name", ["\0", "\0../outside/secret.bin"])
@pytest.mark.parametrize("op", ["read", "write"])
def test_a_name_that_starts_with_nul_is_empty_for_a_callback_too(op: str, name: str) -> None:
    reads, writes = Call("read", name, read_callback=Callback(Content("a"))), Call("write", name, write_callback=Callback())
    found = expected(reads if op == "read" else writes)
    assert (found.outcome, found.rule, found.status) == ("refuse", "name.embedded-nul", None)


@pytest.mark.parametrize(
    ("size", "outcome", "rule"), [(95, "refuse", "size.short-write-reported"), (96, "either", "name.embedded-nul")]
)
def test_what_a_limit_cuts_off_is_not_the_fault_of_a_nul(size: int, outcome: str, rule: str) -> None:
    world = World((File("model/good.bin"),))
    (found,) = predict(Case("spec/case", "", "hostile", (), world, (Call("write", "n\0"),), limits=Limits(file_size=size)))
    assert (found.outcome, found.rule, found.file) == (outcome, rule, "model/n")


@pytest.mark.parametrize(("size", "code", "outcome"), [(0, OK, "either"), (0, FAIL, "refuse"), (1, OK, "refuse")])
def test_no_memory_is_no_fault_where_no_bytes_are_needed(size: int, code: int, outcome: str) -> None:
    call = Call("read", "x", read_callback=Callback(Content("a", size), code), allocator="null")
    assert expected(call).outcome == outcome


def test_which_of_several_faulty_nodes_is_met_first_is_open() -> None:
    call, missing, outside = Call("load"), node("none.bin"), node("../outside/secret.bin")
    assert expected(call, model=Model(nodes=(missing,))).status == FAIL
    assert expected(call, model=Model(nodes=(missing, node("nothing.bin")))).status == FAIL
    assert expected(call, model=Model(nodes=(missing, outside))).status is None


@pytest.mark.parametrize(("name", "status"), [("link", INVALID_ARGUMENT), ("link/", None), ("link/.", None)])
def test_a_write_through_a_dangling_link_to_what_ends_like_a_directory(name: str, status: int | None) -> None:
    found = expected(Call("write", name), Link("model/link", "none"))
    assert (found.outcome, found.rule, found.status) == ("refuse", "type.write-symlink-leaf", status)


def test_who_goes_on_step_by_step_after_what_is_missing_may_stay_inside() -> None:
    back = Link("outside/back", "../model/sub")
    found = expected(Call("read", "none/../../outside/back/../good.bin"), back)
    assert (found.outcome, found.rule, found.file) == ("either", "contain.parent", "model/good.bin")
    found = expected(Call("read", "none/../../outside/back/../none.bin"), back)
    assert (found.outcome, found.rule, found.status) == ("refuse", "contain.parent", None)
    found = expected(Call("read", "none/../../outside/secret.bin"), back)
    assert (found.outcome, found.rule, found.status) == ("refuse", "contain.parent", INVALID_ARGUMENT)


def test_a_model_from_memory_is_not_in_the_world() -> None:
    found = expected(Call("read", "model/model.onnx", "caller"), model=Model(given=""))
    assert (found.outcome, found.rule) == ("refuse", "type.read-missing")


@pytest.mark.parametrize("allocator", ["null", "error"])
def test_a_hard_link_may_be_opened_before_memory_runs_out(allocator: str) -> None:
    call = Call("read", "hard.bin", allocator="null" if allocator == "null" else "error")
    found = expected(call, HardLink("model/hard.bin", "outside/secret.bin"))
    assert (found.outcome, found.rule, found.file) == ("refuse", "own.alloc-fails", "model/hard.bin")


@pytest.mark.parametrize(
    ("name", "file"), [("none/../sub/link/../good.bin", "model/good.bin"), ("good.bin/../sub/link/../none", None)]
)
def test_who_goes_on_step_by_step_may_meet_another_file_inside(name: str, file: str | None) -> None:
    found = expected(Call("read", name), Link("model/sub/link", "../good.bin"))
    assert (found.outcome, found.file) == (("either", file) if file else ("refuse", None))


def test_a_path_about_as_long_as_the_system_takes_may_be_written() -> None:
    long: Name = (Piece("./", times=1900), Piece("new.bin"))
    assert expected(Call("write", long)).outcome == "either"
    assert expected(Call("read", long)).outcome == "refuse"
    longer: Name = (Piece("./", times=2040), Piece("new.bin"))
    assert expected(Call("write", longer, "caller")).outcome == "either"
    assert expected(Call("read", longer, "caller")).outcome == "refuse"


@pytest.mark.parametrize(("code", "outcome"), [(OK, "either"), (FAIL, "refuse")])
def test_the_name_of_a_node_that_holds_nul_is_open_with_a_callback(code: int, outcome: str) -> None:
    found = expected(Call("load", read_callback=Callback(Content("a"), code)), model=Model(nodes=(node("a\0b"),)))
    assert (found.outcome, found.rule, found.status) == (outcome, "model.attribute-bytes", None)


@pytest.mark.parametrize(
    ("other", "code", "status"), [("a\0b", FAIL, None), ("", FAIL, None), ("", INVALID_ARGUMENT, INVALID_ARGUMENT)]
)
def test_which_of_a_failing_callback_and_a_faulty_node_is_met_first_is_open(other: str, code: int, status: int | None) -> None:
    call = Call("load", read_callback=Callback(None, code))
    assert expected(call, model=Model(nodes=(node("a"), node("b")))).rule == "cb.error-is-final"
    for nodes in ((node("a"), node(other)), (node(other), node("a"))):
        found = expected(call, model=Model(nodes=nodes))
        assert (found.outcome, found.status) == ("refuse", status)
        assert found.rule in ("model.attribute-bytes", "name.empty")


@pytest.mark.parametrize(
    ("first", "sure"),
    [
        (Call("write", "good.bin", payload=Content("payload", 5000)), False),  # more than may be written
        (Call("write", "none/../model/good.bin", "caller"), False),
        (Call("write", ((Piece("./", times=2040), Piece("model/good.bin"))), "caller"), False),
        (Call("write", "none/../../outside/back/../good.bin"), False),
        (Call("write", "good.bin/"), True),  # which is refused
        (Call("write", "good.bin"), True),
    ],
)
def test_what_is_read_after_a_write_that_may_have_failed_is_open(first: Call, sure: bool) -> None:
    world = World((File("model/good.bin"), File("model/sub/inner.bin"), Link("outside/back", "../model/sub")))
    calls = (first, Call("read", "good.bin"))
    _, found = predict(Case("spec/case", "", "hostile", (), world, calls, limits=Limits(file_size=4096)))
    assert (found.outcome, found.content is None) == (("accept", False) if sure else ("either", True))


def test_the_beginning_of_a_name_with_nul_may_be_opened_where_the_allocator_then_fails() -> None:
    world = World((File("model/good.bin"),))
    for name in ("good.bin", "good.bin\0"):
        (found,) = predict(Case("spec/case", "", "hostile", (), world, (Call("read", name, allocator="null"),)))
        assert (found.outcome, found.file) == ("refuse", "model/good.bin")
    (found,) = predict(Case("spec/case", "", "hostile", (), world, (Call("read", "none\0", allocator="null"),)))
    assert (found.outcome, found.file) == ("refuse", None)


@pytest.mark.parametrize("op", ["read", "write"])
def test_by_text_and_step_by_step_may_lead_to_two_files(op: str) -> None:
    call = (
        Call("write", "none/../sub/deep/../f", payload=Content("payload"))
        if op == "write"
        else Call("read", "none/../sub/deep/../f")
    )
    world = World((File("model/f"), File("model/sub/f"), Link("model/sub/deep", ".")))
    calls = (call, Call("read", "f"), Call("read", "sub/f"))
    found, *after = predict(Case("spec/case", "", "hostile", (), world, calls))
    assert (found.outcome, found.file) == ("either", "model/sub/f")
    assert found.instead is not None
    assert (found.instead.outcome, found.instead.file) == ("either", "model/f")
    assert {(f.outcome, f.content is None) for f in after} == {("either", True) if op == "write" else ("accept", False)}
