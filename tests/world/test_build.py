from __future__ import annotations

import os
import socket
import stat

import pytest
from tests.world.conftest import Stage

from epctx.case import (
    Content,
    Device,
    Dir,
    Entry,
    Fifo,
    File,
    HardLink,
    Link,
    Mount,
    Piece,
    Socket,
    World,
    content_of,
    stream,
    token,
)
from epctx.world import CannotBuild, ModelFile

pytestmark = pytest.mark.own_process


def needs_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make this")


def test_files(stage: Stage) -> None:
    plain, empty, odd = File("a/b/plain"), File("empty", Content("e", 0)), File((Piece(hex="ff2e00ff".replace("00", "41")),))
    stage.show(plain, empty, File("modes", mode=0o4640), odd, File("big", Content("big", 1 << 20)))
    c = content_of(plain)
    assert (stage.root / "a/b/plain").read_bytes() == stream(c.key, c.size)
    assert (stage.root / "empty").read_bytes() == b""
    assert stat.S_IMODE(os.stat(stage.root / "modes").st_mode) == 0o4640
    assert os.path.isfile(os.fsencode(stage.root) + b"/\xff.A\xff")
    assert (stage.root / "big").read_bytes() == stream("big", 1 << 20)
    assert (stage.root / "model/model.onnx").read_bytes() == b"the model"
    assert os.stat(stage.root / "a/b").st_uid == os.stat(stage.root / "a/b/plain").st_uid == stage.ground.account.uid


def test_a_sparse_terabyte_takes_no_room(stage: Stage) -> None:
    stage.show(File("model/huge", Content("huge", 1 << 40, sparse=True)))
    status = os.stat(stage.root / "model/huge")
    assert status.st_size == 1 << 40
    assert status.st_blocks * 512 < 1 << 20
    with open(stage.root / "model/huge", "rb") as file:
        file.seek(-64, os.SEEK_END)
        assert file.read() == stream("huge", 64)


def test_links_are_literal(stage: Stage) -> None:
    long = (Piece("../", times=50), Piece("x"))
    stage.show(Link("l", "{root}/outside/../model//x"), Link("m", "/proc/self/cwd"), Link("n", long))
    assert os.readlink(stage.root / "l") == f"{stage.root}/outside/../model//x"
    assert os.readlink(stage.root / "m") == "/proc/self/cwd"
    assert os.readlink(stage.root / "n") == "../" * 50 + "x"


def test_hard_links_share_the_inode_also_of_a_link(stage: Stage) -> None:
    stage.show(HardLink("model/h", "outside/secret.bin"), Link("l", "x"), HardLink("model/hl", "l"))
    assert os.stat(stage.root / "model/h").st_ino == os.stat(stage.root / "outside/secret.bin").st_ino
    assert os.lstat(stage.root / "model/hl").st_ino == os.lstat(stage.root / "l").st_ino


def test_directories_have_their_modes_though_they_are_filled(stage: Stage) -> None:
    stage.show(Dir("shut", 0), File("shut/inside"), Dir("model", 0o750), Dir("bare"))
    assert stat.S_IMODE(os.stat(stage.root / "shut").st_mode) == 0
    assert stat.S_IMODE(os.stat(stage.root / "model").st_mode) == 0o750
    assert os.listdir(stage.root / "bare") == []
    stage.show()
    assert not (stage.root / "shut").exists()


def test_fifos_with_and_without_a_writer(stage: Stage) -> None:
    stage.show(Fifo("model/f"), Fifo("model/fed", writer=True))
    assert {os.path.basename(path) for path in stage.live.fifos} == {b"f", b"fed"}
    with pytest.raises(OSError, match="No such device"):
        os.open(stage.root / "model/f", os.O_WRONLY | os.O_NONBLOCK)
    assert stage.live.fed
    fd = os.open(stage.root / "model/fed", os.O_RDONLY | os.O_NONBLOCK)
    stage.live.feed()
    assert os.read(fd, 100) == token("model/fed")
    for _ in range(10_000):
        stage.live.feed()  # never blocks
    stage.show()
    assert not stage.live.fed


def test_a_socket_that_nobody_listens_to_however_long_its_path(stage: Stage) -> None:
    deep = "/".join(["d" * 60] * 4) + "/socket"
    stage.show(Socket("model/s"), Socket(deep))
    assert stat.S_ISSOCK(os.stat(stage.root / deep).st_mode)
    with socket.socket(socket.AF_UNIX) as unix, pytest.raises(ConnectionRefusedError):
        unix.connect(str(stage.root / "model/s"))


def test_devices(stage: Stage) -> None:
    needs_root()
    stage.show(*(Device(f"d/{kind}", kind) for kind in ("null", "zero", "full", "tty", "whiteout", "block")))
    with open(stage.root / "d/zero", "rb") as file:
        assert file.read(3) == bytes(3)
    with pytest.raises(OSError, match="No space left"), open(stage.root / "d/full", "wb", buffering=0) as file:
        file.write(b"x")
    with pytest.raises(OSError, match="No such device"):
        os.open(stage.root / "d/block", os.O_RDONLY)
    assert os.lstat(stage.root / "d/whiteout").st_rdev == 0


def test_an_ordinary_user_is_told_that_devices_cannot_be_made(stage: Stage) -> None:
    if os.geteuid() == 0:
        pytest.skip("only for an ordinary user")
    with pytest.raises(CannotBuild, match="a device cannot be made here: Operation not permitted"):
        stage.show(Device("model/null", "null"))


def test_attributes_hold_and_are_taken_off_again(stage: Stage) -> None:
    needs_root()
    stage.show(File("model/fixed", attribute="immutable"), File("model/log", attribute="append-only"))
    with pytest.raises(PermissionError):
        os.open(stage.root / "model/fixed", os.O_WRONLY)
    with pytest.raises(PermissionError):
        os.open(stage.root / "model/log", os.O_WRONLY)
    os.close(os.open(stage.root / "model/log", os.O_WRONLY | os.O_APPEND))
    stage.show()
    assert not (stage.root / "model/fixed").exists()


def test_mounts(stage: Stage) -> None:
    if stage.ground.why_no_mounts:
        pytest.skip(stage.ground.why_no_mounts)
    stage.show(
        Mount("model/bound", of="outside"),
        Mount("model/file", of="outside/secret.bin"),
        Mount("model/fixed", of="outside", readonly=True),
        Mount("small", size=8192),
        Mount("still", size=65536, readonly=True),
        File("still/x"),
    )
    assert os.stat(stage.root / "model/bound/secret.bin").st_ino == os.stat(stage.root / "outside/secret.bin").st_ino
    assert os.stat(stage.root / "model/file").st_ino == os.stat(stage.root / "outside/secret.bin").st_ino
    for path in ("model/fixed/new", "still/new"):
        with pytest.raises(OSError, match="Read-only"):
            (stage.root / path).touch()
    assert len((stage.root / "still/x").read_bytes()) == 96
    with pytest.raises(OSError, match="No space left"):
        (stage.root / "small/big").write_bytes(bytes(10_000))
    assert set(stage.live.names("outside/secret.bin")) == {
        "outside/secret.bin",
        "model/bound/secret.bin",
        "model/file",
        "model/fixed/secret.bin",
    }
    stage.show()
    assert not (stage.root / "small").exists()
    assert (stage.root / "outside/secret.bin").exists()


@pytest.mark.own_process
def test_without_a_namespace_a_mount_is_a_reason_to_skip() -> None:
    stage = Stage(namespace=False)
    with pytest.raises(CannotBuild, match="nothing can be mounted: a mount namespace was not asked for"):
        stage.show(Mount("m", size=1))
    stage.show()
    assert stage.live.changes() == ()


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ((File("a"), File("a")), "a is declared twice"),
        ((File("a"), File("a/b")), "a is not a directory|cannot be both|a directory cannot be made"),
        ((Link("l", "outside"), File("l/f")), "cannot be both a directory and something else"),
        ((HardLink("h", "nothing"),), "a hardlink cannot be made here: No such file"),
        ((File("model/model.onnx"),), "the model file must lie there"),
        ((File("n" * 256),), "a file cannot be made here: File name too long"),
    ],
)
def test_what_cannot_be_built_is_a_reason(stage: Stage, entries: tuple[Entry, ...], reason: str) -> None:
    with pytest.raises(CannotBuild, match=reason):
        stage.show(*entries)
    stage.show()
    assert not (stage.root / "a").exists()
    assert stage.live.changes() == ()


def test_nothing_is_made_through_a_link(stage: Stage) -> None:
    with pytest.raises(CannotBuild):
        stage.live.change_to(World((Link("model", "{root}/../.."),)), ModelFile("model/x", b""), "")
    assert not (stage.root / "../../x").exists()
