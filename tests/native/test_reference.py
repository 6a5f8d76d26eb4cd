"""What the reference helper promises, beyond what the attacks ask of every target."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.native.running import Running

from epctx.case import FAIL, INVALID_ARGUMENT, OK, Attribute, Call, Content, Node, stream
from epctx.target import build
from epctx.target.toolchain import find_compiler

Start = Callable[..., Running]

GOOD, INNER = b"good" * 24, b"inner" * 20


def node(cache: str | None = "good.bin", mode: int | None = 0, **more: int) -> Node:
    attributes = [] if cache is None else [Attribute("ep_cache_context", text=cache)]
    attributes += [] if mode is None else [Attribute("embed_mode", number=mode)]
    return Node((*attributes, *(Attribute(name, number=value) for name, value in more.items())))


@pytest.fixture(params=["", "files=portable"])
def helper(request: pytest.FixtureRequest, start: Start) -> Running:
    """The reference as it is on Linux, and as it is elsewhere."""
    return start(request.param)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("good.bin", GOOD),
        ("./sub/.././good.bin", GOOD),
        ("sub//inner.bin", INNER),
        ("../model/good.bin", GOOD),
        ("none/../good.bin", GOOD),
        ("good.bin/../sub/inner.bin", INNER),
        ("dangling/../good.bin", GOOD),
        ("link", INNER),
        ("absolute", GOOD),
        ("directory/inner.bin", INNER),
        ("hard", GOOD),
    ],
)
def test_accepts_what_resolves_inside(helper: Running, name: str, data: bytes) -> None:
    model = helper.world / "model"
    (model / "link").symlink_to("directory/inner.bin")
    (model / "directory").symlink_to("sub")
    (model / "absolute").symlink_to(model / "good.bin")
    (model / "dangling").symlink_to(helper.world / "outside" / "nothing")
    (model / "hard").hardlink_to(model / "good.bin")
    assert helper.read(name) == (OK, data)


@pytest.mark.parametrize(
    "name",
    [
        "../outside/secret.bin",
        "sub/../../outside/secret.bin",
        "../model_evil/good.bin",
        "../outside/nothing",
        "out",
        "out/",
        "out/../good.bin",
        "far/secret.bin",
        "far/../outside/secret.bin",
        "none/../far/secret.bin",
        "/etc/passwd",
        ".",
        "sub",
        "sub/",
        "sub/..",
        "fifo",
        "loop",
    ],
)
def test_refuses_what_does_not_and_what_is_no_file(helper: Running, name: str) -> None:
    model = helper.world / "model"
    (helper.world / "model_evil").mkdir()
    (helper.world / "model_evil" / "good.bin").write_bytes(b"evil")
    (model / "out").symlink_to("../outside/secret.bin")
    (model / "far").symlink_to("../outside")
    (model / "loop").symlink_to("loop")
    os.mkfifo(model / "fifo")
    assert helper.read(name) == (INVALID_ARGUMENT, b"")


@pytest.mark.parametrize("text", ["none/../good.bin", "good.bin/../good.bin", "sub/none/.."])
def test_the_text_of_a_link_is_taken_as_the_kernel_takes_it(helper: Running, text: str) -> None:
    (helper.world / "model" / "link").symlink_to(text)
    assert helper.read("link") == (FAIL, b"")
    assert helper.call(Call("write"), "link").seen.code != OK
    assert (helper.world / "model" / "good.bin").read_bytes() == GOOD


@pytest.mark.parametrize("model", ["model/m", "./model/m", "{root}//model///m", "model/sub/../m", "linked/m", "linked/sub/../m"])
def test_takes_every_form_of_a_model_path(helper: Running, model: str) -> None:
    (helper.world / "linked").symlink_to("model")
    assert helper.read("good.bin", model) == (OK, GOOD)
    assert helper.call(Call("write", payload=Content("new")), "new.bin", model).seen.code == OK
    assert (helper.world / "model" / "new.bin").read_bytes() == stream("new", 96)


def test_takes_a_bare_model_path_for_new_files_too(helper: Running) -> None:
    assert helper.call(Call("write", payload=Content("new")), "model/new.bin", "bare.onnx").seen.code == OK
    assert helper.read("model/new.bin", "bare.onnx") == (OK, stream("new", 96))


def test_a_model_from_memory_has_no_directory(helper: Running) -> None:
    assert helper.read("model/good.bin", "")[0] == INVALID_ARGUMENT
    assert helper.call(Call("write"), "new.bin", "").seen.code == INVALID_ARGUMENT
    assert not (helper.world / "new.bin").exists()


def test_a_trusted_caller_may_use_any_path_but_no_link(helper: Running) -> None:
    secret, link = helper.world / "outside" / "secret.bin", helper.world / "link"
    link.symlink_to(secret)
    assert helper.read(str(secret), source="caller") == (OK, b"secret" * 16)
    assert helper.read("model/../outside/secret.bin", source="caller") == (OK, b"secret" * 16)
    assert helper.call(Call("write", source="caller"), str(link)).seen.code == INVALID_ARGUMENT
    assert helper.call(Call("write", source="caller"), str(secret)).seen.code == OK
    assert secret.read_bytes() == stream("payload", 96)


def test_a_write_replaces_the_file_whole_and_keeps_its_mode(helper: Running) -> None:
    file = helper.world / "model" / "good.bin"
    file.chmod(0o640)
    before = file.stat().st_ino
    assert helper.call(Call("write", payload=Content("short", 7)), "good.bin").seen.code == OK
    assert file.read_bytes() == stream("short", 7)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert file.stat().st_ino != before
    assert sorted(os.listdir(file.parent)) == ["good.bin", "sub"]


def test_a_write_goes_to_where_an_inner_link_leads(helper: Running) -> None:
    link = helper.world / "model" / "link"
    link.symlink_to("sub/inner.bin")
    assert helper.call(Call("write"), "link").seen.code == OK
    assert link.is_symlink()
    assert (link.parent / "sub" / "inner.bin").read_bytes() == stream("payload", 96)


@pytest.mark.parametrize("to", ["../outside/new.bin", "new.bin", "none/new.bin"])
def test_a_write_never_follows_a_dangling_link(helper: Running, to: str) -> None:
    link = helper.world / "model" / "link"
    link.symlink_to(to)
    assert helper.call(Call("write"), "link").seen.code == INVALID_ARGUMENT
    assert not link.exists()


@pytest.mark.parametrize("size", [1, 1023, 1024, 100_000])
def test_a_write_that_fails_leaves_everything_as_it_was(helper: Running, size: int) -> None:
    model = helper.world / "model"
    for name in ("good.bin", "new.bin"):
        seen = helper.call(Call("write", payload=Content("long", size)), name, file_size=size - 1).seen
        assert seen.code == FAIL
    assert sorted(os.listdir(model)) == ["good.bin", "sub"]
    assert (model / "good.bin").read_bytes() == GOOD


def test_a_missing_parent_is_not_made(helper: Running) -> None:
    assert helper.call(Call("write"), "none/new.bin").seen.code == FAIL
    assert not (helper.world / "model" / "none").exists()


def test_a_huge_file_is_refused_before_memory_is_asked_for(helper: Running) -> None:
    with open(helper.world / "model" / "huge.bin", "wb") as file:
        file.truncate(1 << 40)
    seen = helper.call(Call("read"), "huge.bin").seen
    assert seen.code != OK
    assert seen.memory.largest == 0


def test_an_error_text_shows_no_control_character(helper: Running) -> None:
    message = helper.call(Call("read"), b"\x1b[31m\n\xff'\\").seen.message
    assert r"'\x1b[31m\x0a\xff\'\\'" in message
    assert len(helper.call(Call("read"), "x" * 3000).seen.message) < 300


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("sub\\inner.bin", False),
        ("sub\\..\\good.bin", False),
        ("..\\outside\\secret.bin", True),
        ("C:\\x", True),
        ("C:x", True),
        ("\\x", True),
        ("\\\\host\\share\\x", True),
        ("\\\\?\\C:\\x", True),
        ("good.bin:stream", True),
        ("CON", True),
        ("sub/nul.txt", True),
        ("com\u00b9.log", True),
        ("LPT0", True),
        ("conin$", True),
        ("aux .x", True),
        ("good.bin.", True),
        ("good.bin ", True),
        (b"\xff.bin", True),
        (b"\xed\xa0\x80.bin", True),
        ("console", False),
        ("COM10", False),
    ],
)
def test_names_by_the_rules_of_windows(start: Start, name: str | bytes, refused: bool) -> None:
    code, data = start("platform=windows").read(name)
    assert (code == INVALID_ARGUMENT) == refused
    assert data in (b"", GOOD, INNER)


def test_embedded_data_touches_no_file(reference: Running) -> None:
    reply = reference.load(node("../outside/secret.bin", mode=1), node("good.bin", mode=None))
    assert (reply.seen.code, reply.seen.names, reply.seen.memory.allocated) == (OK, (), 0)


def test_each_name_of_a_model_is_read_once(reference: Running) -> None:
    reply = reference.load(node("good.bin"), node("sub/inner.bin"), node("good.bin"), node(None, mode=0, main_context=0))
    assert reply.seen.code == OK
    assert [bytes.fromhex(name) for name in reply.seen.names] == [b"good.bin", b"sub/inner.bin"]
    assert reply.seen.memory.allocated == reply.seen.memory.freed == 2


@pytest.mark.parametrize(
    "bad",
    [
        node(None),
        node(""),
        node("good.bin\0../outside/secret.bin"),
        node(mode=2),
        node(mode=-1),
        node(main_context=7),
        node(None, mode=0, main_context=0),
        Node((Attribute("embed_mode", text="0"), Attribute("ep_cache_context", text="good.bin"))),
        Node((Attribute("embed_mode", number=0), Attribute("ep_cache_context", number=7))),
        Node((Attribute("embed_mode", number=0), Attribute("ep_cache_context", texts=("good.bin",)))),
        Node((Attribute("embed_mode", number=0), Attribute("ep_cache_context"))),
        Node(
            (Attribute("embed_mode", number=0), Attribute("embed_mode", number=0), Attribute("ep_cache_context", text="good.bin"))
        ),
    ],
)
def test_a_malformed_node_is_an_error(reference: Running, bad: Node) -> None:
    reply = reference.load(bad)
    assert reply.seen.code == INVALID_ARGUMENT
    assert reply.seen.names == ()


def test_other_operators_are_left_alone(reference: Running) -> None:
    strange = (Attribute("embed_mode", number=9),)
    assert reference.load(Node(strange, op_type="Relu"), Node(strange, domain="com.example")).seen.code == OK


@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_the_headers_stand_alone_and_give_no_warning(standard: str, tmp_path: Path) -> None:
    source = tmp_path / "alone.cc"
    source.write_text('#include "ep_context_node.h"\nint main() { return 0; }\n')
    flags = [f"-std={standard}", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic", "-Werror", "-fsyntax-only"]
    search = [f"-I{build.NATIVE / 'reference'}", f"-I{build.NATIVE / 'ort'}"]
    subprocess.run([*find_compiler(), *flags, *search, str(source)], check=True)
