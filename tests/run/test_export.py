"""Cases as files: complete, of the right sizes, and never outside the directory."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import onnx
import pytest

from epctx import case_file
from epctx.case import Call, Case, Content, Dir, Fifo, File, HardLink, Link, Model, Piece, Socket, World, content_of, stream
from epctx.errors import UsageError
from epctx.run.export import SPECIAL, export

EVERYTHING = (*SPECIAL["links"], *SPECIAL["fifos"])


def case(*entries: File | Dir | Link | HardLink | Fifo | Socket, slug: str = "one", model: Model | None = None) -> Case:
    calls = (Call("read", "../outside/secret.bin"),)
    return Case(f"test/{slug}", "A case.", "hostile", (), World(entries), calls, model or Model())


def tree(top: Path) -> set[str]:
    return {str(p.relative_to(top)) for p in top.rglob("*")}


def test_a_case_becomes_a_folder(tmp_path: Path) -> None:
    one = case(File("model/good.bin"), File("outside/secret.bin"), Dir("model/empty"))
    assert export(tmp_path / "out", [one]) == 0
    folder = tmp_path / "out" / "test" / "one"
    assert tree(folder) == {
        "case.json",
        "world",
        "world/model",
        "world/model/empty",
        "world/model/good.bin",
        "world/model/model.onnx",
        "world/outside",
        "world/outside/secret.bin",
    }
    assert case_file.read(folder / "case.json") == [one]
    content = content_of(one.world.entries[0])  # type: ignore[arg-type]
    assert (folder / "world" / "model" / "good.bin").read_bytes() == stream(content.key, content.size)
    model = onnx.load(folder / "world" / "model" / "model.onnx")
    attributes = {a.name: a.s for node in model.graph.node for a in node.attribute}
    assert attributes["ep_cache_context"] == b"../outside/secret.bin"


def test_a_model_of_bytes_lies_beside_the_world(tmp_path: Path) -> None:
    export(tmp_path / "out", [case(File("model/good.bin"), model=Model(given=""))])
    assert tree(tmp_path / "out" / "test" / "one") == {"case.json", "model.onnx", "world", "world/model", "world/model/good.bin"}


@pytest.mark.parametrize("size", [0, 1, 1023, 65536, 5 << 20])
def test_sizes_are_right(tmp_path: Path, size: int) -> None:
    export(tmp_path / "out", [case(File("model/x", Content("x", size)))])
    assert (tmp_path / "out/test/one/world/model/x").stat().st_size == size


def test_a_sparse_file_takes_no_room(tmp_path: Path) -> None:
    export(tmp_path / "out", [case(File("model/x", Content("x", 1 << 35, sparse=True)))])
    status = (tmp_path / "out/test/one/world/model/x").stat()
    assert status.st_size == 1 << 35
    assert status.st_blocks * 512 < 1 << 20


def test_links_and_fifos_are_made_on_request(tmp_path: Path) -> None:
    entries = (
        File("outside/secret.bin"),
        Link("model/link", "../outside/secret.bin"),
        Link("model/absolute", "{root}/outside/secret.bin"),
        HardLink("model/hard", "outside/secret.bin"),
        Fifo("model/fifo"),
        Socket("model/socket"),
    )
    assert export(tmp_path / "plain", [case(*entries)]) == 5
    folder = tmp_path / "plain" / "test" / "one"
    assert sorted(os.listdir(folder / "world" / "model")) == ["model.onnx"]
    assert (folder / "LEFT-OUT.txt").read_text().split("\n") == [
        "link model/link",
        "link model/absolute",
        "hardlink model/hard",
        "fifo model/fifo",
        "socket model/socket",
        "",
    ]
    assert export(tmp_path / "all", [case(*entries)], EVERYTHING) == 0
    model = tmp_path / "all" / "test" / "one" / "world" / "model"
    secret = model.parent / "outside" / "secret.bin"
    assert os.readlink(model / "link") == "../outside/secret.bin"
    assert os.readlink(model / "absolute") == str(secret)
    assert (model / "hard").samefile(secret)
    assert stat.S_ISFIFO((model / "fifo").lstat().st_mode)
    assert stat.S_ISSOCK((model / "socket").lstat().st_mode)


def test_a_socket_whose_path_is_long(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)
    export(deep, [case(Socket("model/socket"))], EVERYTHING)
    assert stat.S_ISSOCK((deep / "test/one/world/model/socket").lstat().st_mode)


def test_names_of_any_bytes(tmp_path: Path) -> None:
    export(tmp_path / "out", [case(File((Piece("model/"), Piece(hex="ff0a1b"))))])
    assert b"\xff\n\x1b" in os.listdir(os.fsencode(tmp_path / "out/test/one/world/model"))


def test_nothing_is_written_outside_even_through_links(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("safe")
    entries = (File("model/good.bin"), Link("model/up", "../../../../.."), Link("model/victim", "../../../../../victim"))
    export(tmp_path / "out", [case(*entries)], EVERYTHING)
    assert sorted(os.listdir(tmp_path)) == ["out", "victim"]
    assert (tmp_path / "victim").read_text() == "safe"


def test_only_a_new_or_empty_directory_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert export(tmp_path / "empty", [case(File("model/x"))]) == 0
    before = tree(tmp_path)
    with pytest.raises(UsageError, match="is not empty"):
        export(tmp_path / "empty", [case(File("model/x"), slug="two")])
    (tmp_path / "link").symlink_to("empty")
    with pytest.raises(UsageError, match="is not empty"):
        export(tmp_path / "link", [case(File("model/x"), slug="two")])
    (tmp_path / "link").unlink()
    assert tree(tmp_path) == before


def test_a_directory_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"file/new: Not a directory; name a directory that can be written to"):
        export(tmp_path / "file" / "new", [case(File("model/x"))])
