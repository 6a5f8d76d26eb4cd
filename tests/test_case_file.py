"""Case files: what goes out comes back, and whatever comes in is answered in one sentence."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from epctx import case_file
from epctx.attack import Op, threads
from epctx.case import (
    Attribute,
    Call,
    Callback,
    Case,
    Content,
    Device,
    Dir,
    Expect,
    External,
    Fifo,
    File,
    HardLink,
    Limits,
    Link,
    Model,
    Mount,
    Node,
    Pair,
    Piece,
    Race,
    Resize,
    Share,
    Socket,
    Step,
    World,
)
from epctx.errors import CaseError

SCHEMA = Path(__file__).parent.parent / "docs" / "schema" / "case.schema.json"

FULL = Case(
    "links/everything[read,a=1]",
    "A case with something of everything.",
    "hostile",
    ("contain.parent", "size.exact"),
    World(
        (
            Dir("model/sub", mode=0o700),
            File("model/good.bin", Content("good", 1025), mode=0o600, attribute="immutable"),
            File((Piece("model/"), Piece(hex="ff", times=3))),
            File("outside/secret.bin"),
            Link("model/link", "../outside/secret.bin"),
            Link("model/up", "../.."),
            Link("model/abs", "{root}/model/good.bin"),
            Link("model/climb", "../../../../../../../../../../..{root}/outside"),
            Link("model/null", "/dev/null"),
            Link("model/cwd", "/proc/self/cwd"),
            Link("model/descriptor", "/proc/self/fd/3"),
            HardLink("model/hard", "outside/secret.bin"),
            Fifo("model/fifo", writer=True),
            Socket("model/socket"),
            Device("model/device", "whiteout"),
            Mount("model/mount", of="outside"),
            Mount("model/small", size=8192, readonly=True),
        ),
        cwd="model",
    ),
    (
        Call("read", "../outside/secret.bin", allocator="caller", held=True, moves=True, resize=Resize("model/good.bin", 0)),
        Call(
            "write", None, "caller", Content("p", 3 << 30, sparse=True), fallback=None, write_callback=Callback(code=2, text="no")
        ),
        Call("write", "../../epctx-new", fallback="good.bin", payload=None),
        Call("read", (Piece("../", times=12), Piece("..{root}/x")), race=Race("model/link", "model/good.bin", 5)),
        Call("read", "x", race=Race("model/link", "moved", 5, "move")),
        Call("read", "x", race=Race("model", "outside", 5, "chdir")),
        Call(
            "read",
            "//host/share/x",
            read_callback=Callback(Content("c"), size=5, waits=2, reenters="y", null_state=True),
            lingers=True,
        ),
        Call("write", "x", payload=None, null_size=7, config=True),
        Call("write", "x", embeds=True, runs=True, support="old"),
        Call("config", steps=(Step("set-read", options=1, function=None, state=2), Step("take", options=None, without="config"))),
        Call("load"),
    ),
    Model("cache/model.onnx", "model.onnx", (Node((Attribute("embed_mode", number=0), Attribute("notes", texts=("a", "b")))),)),
    Limits(1.5, 1 << 30, 1000),
)

# --- out and in again -------------------------------------------------------------------------------------------------------


def test_a_case_comes_back_as_it_was() -> None:
    assert case_file.loads(case_file.dumps(FULL)) == FULL


def test_a_case_is_one_line_in_the_order_of_the_struct() -> None:
    text = case_file.dumps(FULL)
    assert "\n" not in text
    assert list(json.loads(text)) == ["id", "summary", "intent", "rules", "world", "calls", "model", "limits"]


def test_a_file_of_one_case(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    case_file.write(path, [FULL])
    assert case_file.read(path) == [FULL]
    assert path.read_text().startswith('{\n  "epctx": 1,\n  "id": "links/everything[read,a=1]"')


def test_a_file_of_many_cases(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    cases = [FULL, good(id="links/second"), good(id="links/third")]
    case_file.write(path, cases)
    assert case_file.read(path) == cases
    assert path.read_text().splitlines()[0] == '{"epctx":1,"family":"links"}'


def test_a_file_without_a_header_is_read(tmp_path: Path) -> None:
    path = tmp_path / "bare.jsonl"
    path.write_text(case_file.dumps(FULL) + "\n\n")
    assert case_file.read(path) == [FULL]


def test_two_cases_are_not_written_as_one(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="holds one case, not 2"):
        case_file.write(tmp_path / "two.json", [FULL, FULL])


def test_the_schema_is_the_one_that_is_checked_in() -> None:
    assert json.loads(SCHEMA.read_text()) == case_file.schema(), "write case_file.schema() to docs/schema/case.schema.json"


def test_the_schema_describes_every_object() -> None:
    schema = case_file.schema()
    assert all(definition.get("description") for definition in schema["$defs"].values() if definition.get("type") == "object")
    assert list(schema["properties"])[:2] == ["epctx", "id"]


# --- what is refused --------------------------------------------------------------------------------------------------------


def good(**changes: Any) -> Case:
    fields: dict[str, Any] = {
        "id": "names/plain",
        "summary": "A plain name.",
        "intent": "benign",
        "rules": ("contain.accept-inside",),
        "world": World((File("model/good.bin"), File("outside/secret.bin"), Dir("model/sub"))),
        "calls": (Call("read", "good.bin"),),
    }
    return Case(**(fields | changes))


def entries(*more: Any, cwd: str = "") -> dict[str, Any]:
    return {"world": World((File("model/good.bin"), Dir("model/sub"), *more), cwd=cwd)}


def calls(*some: Call) -> dict[str, Any]:
    return {"calls": some}


def reads(name: Any) -> dict[str, Any]:
    return calls(Call("read", name))


READ = Share("read", "x", Content("x"))
ASKED: dict[Op, Callback] = {"read": Callback()}


def at_once(*shares: Share, **options: Any) -> dict[str, Any]:
    return calls(threads(*shares, **options))


def outside(key: str, value: str) -> Model:
    return Model(external=External((Pair(key, value),)))


DEEP = "/".join("d" * 33)

WRONG: list[tuple[dict[str, Any], str, str]] = [
    # paths of the world
    (entries(File("/etc/passwd")), "$.world.entries[2].path", "is absolute"),
    (entries(File("model/../../x")), "$.world.entries[2].path", "`.` or `..`"),
    (entries(File("./x")), "$.world.entries[2].path", "`.` or `..`"),
    (entries(File("model//x")), "$.world.entries[2].path", "empty component"),
    (entries(File("model/x/")), "$.world.entries[2].path", "empty component"),
    (entries(File("")), "$.world.entries[2].path", "not empty"),
    (entries(File("model/x\0y")), "$.world.entries[2].path", "NUL"),
    (entries(File("{root}/x")), "$.world.entries[2].path", "{root}"),
    (entries(File((Piece("../", times=9), Piece("x")))), "$.world.entries[2].path", "`.` or `..`"),
    (entries(File((Piece(hex="2e2e2f"), Piece("x")))), "$.world.entries[2].path", "`.` or `..`"),
    (entries(File(DEEP)), "$.world.entries[2].path", "33 components deep"),
    (entries(File("x" * 256)), "$.world.entries[2].path", "more than 255 bytes"),
    (entries(File((Piece("x" * 100 + "/", times=40), Piece("x")))), "$.world.entries[2].path", "too long"),
    (entries(File("model/good.bin")), "$.world.entries[2]", "two entries"),
    (entries(File("model/good.bin/x")), "$.world.entries[2]", "not a directory"),
    (entries(Link("l", "model"), File("l/x")), "$.world.entries[3]", "not a directory"),
    (entries(HardLink("model/h", "outside/none")), "$.world.entries[2]", "no entry"),
    (entries(HardLink("model/h", "model/sub")), "$.world.entries[2].to", "cannot have a second name"),
    (entries(HardLink("model/h", "../x")), "$.world.entries[2].to", "`.` or `..`"),
    (entries(HardLink("model/h", "/etc/passwd")), "$.world.entries[2].to", "is absolute"),
    (entries(Mount("m", size=8192), HardLink("m/h", "model/good.bin")), "$.world.entries[3].to", "another file system"),
    (entries(Mount("model/m", of="outside")), "$.world.entries[2]", "no entry"),
    (entries(Mount("model/m", of="/etc")), "$.world.entries[2].of", "is absolute"),
    (entries(Mount("model/sub/m", of="model")), "$.world.entries[2].of", "in itself"),
    (entries(Mount("model/m", size=1 << 50)), "$.world.entries[2].size", "out of range"),
    (entries(Dir("model/d", mode=-1)), "$.world.entries[2].mode", "out of range"),
    (entries(File("outside/s", Content("s", 5))), "$.world.entries[2].content.size", "32 bytes at least"),
    (entries(*(File(f"f{n}") for n in range(300))), "$.world.entries", "302 entries are too many"),
    (entries(cwd="nowhere"), "$.world.cwd", "no entry"),
    (entries(cwd="model/good.bin"), "$.world.cwd", "not a directory"),
    (entries(cwd="/"), "$.world.cwd", "is absolute"),
    # texts of links
    (entries(Link("model/l", "")), "$.world.entries[2].to", "not empty"),
    (entries(Link("model/l", "/etc/passwd")), "$.world.entries[2].to", "outside the world"),
    (entries(Link("model/l", "//etc/passwd")), "$.world.entries[2].to", "outside the world"),
    (entries(Link("model/l", "/./../etc")), "$.world.entries[2].to", "outside the world"),
    (entries(Link("model/l", "../../../../../../../etc")), "$.world.entries[2].to", "outside the world"),
    (entries(Link("model/l", (Piece("../", times=9), Piece("etc")))), "$.world.entries[2].to", "outside the world"),
    (entries(Link("model/l", "{root}/../../../../../../etc")), "$.world.entries[2].to", "again after {root}"),
    (entries(Link("model/l", "/proc/self/environ")), "$.world.entries[2].to", "outside the world"),
    (entries(Link("model/l", "/proc/self/root/etc")), "$.world.entries[2].to", "outside the world"),
    (entries(Link("model/l", "/proc/1/root")), "$.world.entries[2].to", "outside the world"),
    (entries(Link("model/l", "/proc/self/fd/3/x")), "$.world.entries[2].to", "outside the world"),
    (entries(Link("model/l", "/dev/sda")), "$.world.entries[2].to", "outside the world"),
    (entries(Link("model/l", "//host/share")), "$.world.entries[2].to", "outside the world"),
    (entries(Link("model/l", "a\0b")), "$.world.entries[2].to", "NUL"),
    (entries(Link("model/l", "x" * 5000)), "$.world.entries[2].to", "5000 bytes"),
    (entries(Link("model/l", (Piece(hex="2f657463"),))), "$.world.entries[2].to", "outside the world"),
    # names
    (reads("/etc/passwd"), "$.calls[0].name", "outside the world"),
    (reads("../../../../../../../etc/passwd"), "$.calls[0].name", "outside the world"),
    (reads("{root}/../../../../../../etc"), "$.calls[0].name", "again after {root}"),
    (reads("/proc/self/mem"), "$.calls[0].name", "outside the world"),
    (reads((Piece("../", times=30), Piece("etc/passwd"))), "$.calls[0].name", "outside the world"),
    (calls(Call("read", "/etc/passwd", "caller")), "$.calls[0].name", "outside the world"),
    (calls(Call("write", "x", fallback="/etc/passwd")), "$.calls[0].fallback", "outside the world"),
    (entries(Link("model/top", "../" * 9)) | reads("top/etc/passwd"), "$.calls[0].name", "through the links of the world"),
    (entries(Link("model/up", "../..")) | reads("up/../../../../etc"), "$.calls[0].name", "through the links of the world"),
    ({"model": Model(given="/etc/model.onnx")}, "$.model.given", "outside the world"),
    ({"model": Model(given="../../../../../../x/model.onnx")}, "$.model.given", "outside the world"),
    ({"model": Model(given="a\0b")}, "$.model.given", "NUL"),
    ({"model": Model(path="../model.onnx")}, "$.model.path", "`.` or `..`"),
    ({"model": Model(path="model/good.bin")}, "$.model.path", "where the model lies"),
    (
        {"model": Model(nodes=(Node((Attribute("ep_cache_context", text="/etc/passwd"),)),))},
        "$.model.nodes[0]",
        "outside the world",
    ),
    ({"model": outside("location", "/etc/passwd")}, "$.model.external.pairs[0].value", "outside the world"),
    ({"model": outside("basepath", "../../../../../../../etc")}, "$.model.external.pairs[0].value", "outside the world"),
    ({"model": outside("k" * 5000, "x")}, "$.model.external.pairs[0].key", "5000 characters"),
    ({"model": Model(external=External(size=-1))}, "$.model.external.size", "out of range"),
    ({"model": Model(external=External((Pair("k", "x"),) * 300))}, "$.model.external.pairs", "300 pairs are too many"),
    ({"model": Model(external=External()), "calls": (Call("load"),)}, "$.model.external", "only a read or a write"),
    (
        {"model": Model(external=External()), "calls": (Call("read", "x", "caller"),)},
        "$.model.external",
        "only a read or a write",
    ),
    # counts and sizes
    (reads((Piece("x", times=10**12),)), "$.calls[0].name[0].times", "out of range"),
    (reads((Piece("x", times=10**30),)), "$.calls[0].name[0].times", "out of range"),
    (reads((Piece("x", times=-1),)), "$.calls[0].name[0].times", "out of range"),
    (reads((Piece("x" * 1000, times=1 << 20),)), "$.calls[0].name", "2 MiB"),
    (reads((Piece("x", times=1 << 20),) * 3), "$.calls[0].name", "2 MiB"),
    (reads((Piece("x"),) * 5000), "$.calls[0].name", "5000 pieces"),
    (reads((Piece(hex="zz"),)), "$.calls[0].name[0].hex", "not hex"),
    (reads((Piece(hex="abc"),)), "$.calls[0].name[0].hex", "not hex"),
    (reads((Piece("a", hex="ab"),)), "$.calls[0].name[0]", "not both"),
    ({"calls": ()}, "$.calls", "one call at least"),
    (calls(*(Call("read", "x"),) * 65), "$.calls", "65 calls are too many"),
    (
        calls(Call("read", "x", race=Race("model/good.bin", "outside/secret.bin", 10_001))),
        "$.calls[0].race.rounds",
        "out of range",
    ),
    (calls(Call("read", "x", race=Race("model/good.bin", "none"))), "$.calls[0].race.b", "declare it first"),
    (calls(Call("read", "x", race=Race("none", "model/new", how="move"))), "$.calls[0].race.a", "declare it first"),
    (calls(Call("read", "x", race=Race("model/good.bin", "none/new", how="move"))), "$.calls[0].race.b", "declare it first"),
    (calls(Call("read", "x", race=Race("outside", "model/good.bin", how="move"))), "$.calls[0].race.b", "not a free place"),
    (calls(Call("read", "x", race=Race("model", "model/new", how="move"))), "$.calls[0].race", "cannot be exchanged"),
    (calls(Call("read", "x", race=Race("model", "model/good.bin", how="chdir"))), "$.calls[0].race.b", "not a directory"),
    (calls(Call("read", "x", race=Race("model/good.bin", "model"))), "$.calls[0].race", "cannot be exchanged"),
    (calls(Call("read", "x", race=Race("../x", "model"))), "$.calls[0].race.a", "`.` or `..`"),
    (calls(Call("read", "x", resize=Resize("none", 1))), "$.calls[0].resize.path", "declare it first"),
    (calls(Call("read", "x", resize=Resize("model/sub", 1))), "$.calls[0].resize.path", "not a file"),
    (calls(Call("write", "x", resize=Resize("model/good.bin", 1))), "$.calls[0].resize", "while it is read"),
    (calls(Call("read", "x", read_callback=Callback(), resize=Resize("model/good.bin", 1))), "$.calls[0].resize", "callback"),
    (calls(Call("read", "x", resize=Resize("model/good.bin", -1))), "$.calls[0].resize.size", "out of range"),
    (calls(Call("write", "x", payload=Content("p", 1 << 40))), "$.calls[0].payload.size", "too many"),
    (calls(Call("write", "x", payload=Content("p", 1 << 50, sparse=True))), "$.calls[0].payload.size", "out of range"),
    (calls(Call("write", "x", payload=Content("p", -1))), "$.calls[0].payload.size", "out of range"),
    (calls(*(Call("write", "x", payload=Content("p", 64 << 20)),) * 17), "$", "1 GiB"),
    (calls(Call("read", "x", read_callback=Callback(code=-5))), "$.calls[0].read_callback.code", "out of range"),
    (calls(Call("read", "x", read_callback=Callback(size=-1))), "$.calls[0].read_callback.size", "out of range"),
    (calls(Call("read", "x", read_callback=Callback(size=1 << 64))), "$.calls[0].read_callback.size", "out of range"),
    (calls(Call("read", "x", read_callback=Callback(waits=65))), "$.calls[0].read_callback.waits", "out of range"),
    (calls(Call("read", "x", read_callback=Callback(reenters=""))), "$.calls[0].read_callback.reenters", "not empty"),
    (
        calls(Call("write", "x", write_callback=Callback(reenters="/etc/passwd"))),
        "$.calls[0].write_callback.reenters",
        "outside the world",
    ),
    (calls(Call("write", "x", payload=None, null_size=-1)), "$.calls[0].null_size", "out of range"),
    (calls(Call("read", "x", embeds=True)), "$.calls[0].embeds", "only a write compiles"),
    (calls(Call("load", runs=True)), "$.calls[0].runs", "only a write compiles"),
    (calls(Call("write", "x", null_size=1)), "$.calls[0].null_size", "without a payload"),
    (calls(Call("read", "x", payload=None, null_size=1)), "$.calls[0].null_size", "without a payload"),
    # threads
    (at_once(), "$.calls[0].threads.shares", "nothing to do"),
    (at_once(*(Share("read", f"f{n}", None) for n in range(65))), "$.calls[0].threads.shares", "65 shares are too many"),
    (at_once(READ, count=33), "$.calls[0].threads.count", "out of range"),
    (at_once(READ, count=0), "$.calls[0].threads.count", "out of range"),
    (at_once(READ, count=10, rounds=1001), "$.calls[0].threads.rounds", "out of range"),
    (at_once(READ, rounds=-1), "$.calls[0].threads.rounds", "out of range"),
    (at_once(READ, configs="each"), "$.calls[0].threads.configs", "without a callback"),
    (at_once(Share("read", "/etc/passwd", None)), "$.calls[0].threads.shares[0].name", "outside the world"),
    (at_once(READ, Share("read", "../" * 9 + "etc", None)), "$.calls[0].threads.shares[1].name", "outside the world"),
    (at_once(Share("read", (Piece("x", times=10**9),), None)), "$.calls[0].threads.shares[0].name[0].times", "out of range"),
    (at_once(Share("read", "x", Content("x", (1 << 20) + 1))), "$.calls[0].threads.shares[0].content", "at most 1048576"),
    (at_once(Share("read", "x", Content("x", -1))), "$.calls[0].threads.shares[0].content.size", "out of range"),
    (at_once(Share("write", "x", None)), "$.calls[0].threads.shares[0].content", "only a read of a file"),
    (at_once(Share("read", "x", None), callbacks=ASKED), "$.calls[0].threads.shares[0].content", "only a read of a file"),
    (at_once(READ, Share("read", "x", Content("y"))), "$.calls[0].threads.shares[1].content", "also in another share"),
    (at_once(READ, callbacks={"read": Callback(code=1)}), "$.calls[0].read_callback", "contents of the shares"),
    (at_once(READ, callbacks={"read": Callback(Content("c"))}), "$.calls[0].read_callback", "contents of the shares"),
    (at_once(READ, callbacks={"read": Callback(reenters="y")}), "$.calls[0].read_callback.reenters", "name of no share"),
    (calls(replace(threads(READ), op="write")), "$.calls[0].op", "where one of its shares is a write"),
    (calls(replace(threads(READ), op="load")), "$.calls[0].op", "where one of its shares is a write"),
    (calls(replace(threads(READ), name="x")), "$.calls[0].threads", "those of its shares"),
    (calls(replace(threads(READ), payload=Content("x"))), "$.calls[0].threads", "those of its shares"),
    (calls(replace(threads(READ), held=True)), "$.calls[0].threads", "besides its op and source"),
    (calls(replace(threads(READ), accessors=False)), "$.calls[0].threads", "besides its op and source"),
    (calls(replace(threads(READ), resize=Resize("model/good.bin", 1))), "$.calls[0].threads", "besides its op and source"),
    (calls(threads(READ), Call("read", "good.bin")), "$.calls[0].threads", "only one of its case"),
    ({"limits": Limits(seconds=61)}, "$.limits.seconds", "not a time limit"),
    ({"limits": Limits(seconds=-1)}, "$.limits.seconds", "not a time limit"),
    ({"limits": Limits(memory=-1)}, "$.limits.memory", "out of range"),
    ({"limits": Limits(memory=1 << 60)}, "$.limits.memory", "out of range"),
    ({"limits": Limits(file_size=-1)}, "$.limits.file_size", "out of range"),
    # steps
    (calls(Call("config")), "$.calls[0].steps", "if its op is config"),
    (calls(Call("read", "good.bin", steps=(Step("take"),))), "$.calls[0].steps", "only then"),
    (calls(Call("config", steps=(Step("cycle"),) * 100)), "$.calls[0].steps", "100 steps"),
    (calls(Call("config", steps=(Step("take", options=4),))), "$.calls[0].steps[0].options", "out of range"),
    (calls(Call("config", steps=(Step("set-read", state=-1),))), "$.calls[0].steps[0].state", "out of range"),
    (calls(Call("config", steps=(Step("set-read", function=2),))), "$.calls[0].steps[0].function", "out of range"),
    (calls(Call("config", steps=(Step("take"), Step("take")))), "$.calls[0].steps[1]", "a place of its own"),
    (calls(Call("config", steps=(Step("get-read"),))), "$.calls[0].steps[0]", "config 0 is not there"),
    # ids and the like
    ({"id": "plain"}, "$.id", "not an id"),
    ({"id": "Names/Plain"}, "$.id", "not an id"),
    ({"id": "../x/y"}, "$.id", "not an id"),
    ({"id": "a/b[c"}, "$.id", "not an id"),
    ({"id": "a/b\n"}, "$.id", "not an id"),
    ({"id": "a/" + "b" * 300}, "$.id", "not an id"),
    ({"rules": ("<script>",)}, "$.rules[0]", "not the id of a rule"),
    ({"summary": "x" * 5000}, "$.summary", "no summary"),
    ({"expect": (Expect("accept", "a.b", "c"),) * 2}, "$.expect", "2 expectations for 1 calls"),
    ({"model": Model(nodes=(Node((Attribute("x", text="a", number=1),)),))}, "$.model.nodes[0].attributes[0]", "one value"),
    ({"model": Model(nodes=(Node(()),) * 300)}, "$.model.nodes", "300 nodes"),
]


@pytest.mark.parametrize(("changes", "at", "words"), WRONG, ids=[f"{at}-{words}" for _, at, words in WRONG])
def test_cases_that_must_not_be_built(changes: dict[str, Any], at: str, words: str) -> None:
    with pytest.raises(CaseError) as caught:
        case_file.loads(json.dumps(json.loads(case_file.dumps(good(**changes)))), "bad.json")
    sentence = str(caught.value)
    assert sentence.startswith(f"bad.json: {at}"), sentence
    assert words in sentence
    assert "\n" not in sentence
    assert len(sentence) < 400


PLAIN = case_file.dumps(good())


def with_text(old: str, new: str) -> bytes:
    assert old in PLAIN
    return PLAIN.replace(old, new).encode()


TEXTS: list[tuple[bytes, str]] = [
    (b"", "not JSON"),
    (b"{", "line 1, column 2: not JSON"),
    (PLAIN.encode()[:-20], "(cut off?)"),
    (PLAIN.encode()[:40], "(cut off?)"),
    (b"null", "expected `object`"),
    (b"[]", "expected `object`"),
    (b"42", "expected `object`"),
    (PLAIN.encode() + b"x", "not JSON: extra data"),
    (PLAIN.encode() + PLAIN.encode(), "not JSON: extra data"),
    (b"\xff\xfe", "not UTF-8"),
    (b"\xef\xbb\xbf" + PLAIN.encode(), "byte order mark"),
    (
        with_text("good.bin", "g\N{REPLACEMENT CHARACTER}").replace("\N{REPLACEMENT CHARACTER}".encode(), b"\xed\xa0\x80"),
        "not UTF-8",
    ),
    (with_text('"good.bin"', '"\\ud800"'), "unpaired surrogate"),
    (with_text('"good.bin"', '"x\\udc00y"'), "unpaired surrogate"),
    (with_text('"good.bin"', '"a\0b"'), "not JSON: invalid control character"),
    (b"\0" * 100, "not JSON"),
    (with_text('"good.bin"', "NaN"), "NaN is not a JSON number"),
    (with_text('"good.bin"', "-Infinity"), "Infinity is not a JSON number"),
    (with_text('"good.bin"', "7"), "$.calls[0].name: expected `str | array | null`"),
    (with_text('"good.bin"', "[" * 100_000), "nested too deeply"),
    (with_text('"good.bin"', '[{"text":"x","times":' + "9" * 5000 + "}]"), "out of range"),
    (with_text('"good.bin"', '[{"text":"x","times":1e400}]'), "out of range"),
    (with_text('"good.bin"', '[{"text":"x","times":1.5}]'), "expected `int`, got `float`"),
    (with_text('"good.bin"', '[{"text":"x","times":true}]'), "expected `int`, got `bool`"),
    (with_text('"id"', '"epctx":2,"id"'), "format 2"),
    (with_text('"id"', '"epctx":"1","id"'), "$.epctx"),
    (with_text('"id"', '"id":"a/b","id"'), "stands twice"),
    (with_text('"path":"model/good.bin"', '"path":"model/good.bin","path":"x"'), "stands twice"),
    (with_text('"id"', '"extra":1,"id"'), "unknown field `extra`"),
    (with_text('"id"', '"extra":' + "[" * 100_000 + ',"id"'), "nested too deeply"),
    (with_text('"id"', '"extra":' + '{"a":' * 100_000 + ',"id"'), "nested too deeply"),
    (with_text('"type":"file"', '"type":"program"'), "$.world.entries[0].type: invalid value 'program'"),
    (with_text('"type":"file",', ""), "missing required field `type`"),
    (with_text('"op":"read"', '"op":"exec"'), "$.calls[0].op"),
    (with_text('"benign"', '"evil"'), "$.intent"),
    (with_text('"calls":[', '"limits":{"seconds":1e999},"calls":['), "out of range"),
    (with_text('"calls":[', '"limits":{"seconds":NaN},"calls":['), "NaN"),
    (with_text('"calls":[', '"world":{},"calls":['), "stands twice"),
    (b" " * ((16 << 20) + 1), "larger than 16 MiB"),
]


@pytest.mark.parametrize(("data", "words"), TEXTS, ids=[words for _, words in TEXTS])
def test_texts_that_are_no_cases(data: bytes, words: str, tmp_path: Path) -> None:
    for path in (tmp_path / "bad.json", tmp_path / "bad.jsonl"):
        path.write_bytes(data)
        if path.suffix == ".jsonl" and data.strip() in (b"", PLAIN.encode()):
            continue  # a file of no lines holds no cases, which is no fault of the file
        with pytest.raises(CaseError) as caught:
            case_file.read(path)
        sentence = str(caught.value)
        assert sentence.startswith(str(path)), sentence
        assert words in sentence
        assert "\n" not in sentence
        assert len(sentence) < 400 + len(str(path))


def test_a_string_with_a_surrogate() -> None:
    with pytest.raises(CaseError, match="unpaired surrogate"):
        case_file.loads(PLAIN.replace("good.bin", "\ud800"))


def missing(path: Path) -> Path:
    return path / "none.json"


def directory(path: Path) -> Path:
    (path / "dir.json").mkdir()
    return path / "dir.json"


def fifo(path: Path) -> Path:
    os.mkfifo(path / "fifo.json")
    return path / "fifo.json"


def device(path: Path) -> Path:
    (path / "zero.json").symlink_to("/dev/zero")
    return path / "zero.json"


def other_suffix(path: Path) -> Path:
    (path / "case.txt").write_text(PLAIN)
    return path / "case.txt"


def nul(path: Path) -> Path:
    return path / "a\0b.json"


def other_family(path: Path) -> Path:
    (path / "x.jsonl").write_text('{"epctx":1,"family":"links"}\n' + PLAIN)
    return path / "x.jsonl"


def other_version(path: Path) -> Path:
    (path / "x.jsonl").write_text('{"epctx":7,"family":"names"}\n' + PLAIN)
    return path / "x.jsonl"


def same_id(path: Path) -> Path:
    (path / "x.jsonl").write_text(f"{PLAIN}\n{PLAIN}\n")
    return path / "x.jsonl"


def second_line(path: Path) -> Path:
    (path / "x.jsonl").write_text(f"{PLAIN}\n{{\n")
    return path / "x.jsonl"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (missing, "No such file"),
        (directory, "not a regular file"),
        (fifo, "not a regular file"),
        (device, "not a regular file"),
        (other_suffix, "called .json"),
        (nul, "cannot hold a NUL"),
        (other_family, "x.jsonl:2: the case names/plain is not of the family links"),
        (other_version, "x.jsonl:1: the case is of format 7"),
        (same_id, "x.jsonl:2: the id names/plain is already that of line 1"),
        (second_line, "x.jsonl:2: line 1, column 2: not JSON"),
    ],
)
def test_files_that_cannot_be_read(make: Callable[[Path], Path], words: str, tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=words):
        case_file.read(make(tmp_path))


def test_a_size_is_refused_before_it_is_believed() -> None:
    """A name of a terabyte is refused at once, and not spelled out."""
    text = case_file.dumps(good(**reads((Piece("x" * 1000, times=1 << 30),))))
    start = time.perf_counter()
    with pytest.raises(CaseError):
        case_file.loads(text)
    assert time.perf_counter() - start < 1
