from __future__ import annotations

import os
from pathlib import Path

from epctx.world.clear import empty, remove


def cleared(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY)
    try:
        empty(fd)
    finally:
        os.close(fd)
    assert os.listdir(directory) == []


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").write_bytes(b"1")
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone/dir").symlink_to(tmp_path / "kept")
    (tmp_path / "gone/file").symlink_to(tmp_path / "kept/file")
    cleared(tmp_path / "gone")
    assert (tmp_path / "kept/file").read_bytes() == b"1"


def test_any_depth_with_few_descriptors(tmp_path: Path) -> None:
    top = os.open(tmp_path, os.O_RDONLY)
    fd = os.dup(top)
    for _ in range(3000):
        os.mkdir("d", dir_fd=fd)
        os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
        inner = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(fd)
    os.close(top)
    cleared(tmp_path)


def test_modes_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "a/b/c/f").write_bytes(b"1")
    for path in ("a/b/c", "a/b", "a"):
        (tmp_path / path).chmod(0)
    cleared(tmp_path)


def test_one_entry(tmp_path: Path) -> None:
    (tmp_path / "keep").write_bytes(b"")
    (tmp_path / "go").write_bytes(b"")
    fd = os.open(tmp_path, os.O_RDONLY)
    remove(b"go", fd)
    os.close(fd)
    assert os.listdir(tmp_path) == ["keep"]
