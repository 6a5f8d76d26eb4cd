from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from epctx import syscalls
from epctx.case import ROOT_DEPTH, File, World
from epctx.world import Ground, LiveWorld


def assert_gone(path: bytes) -> None:
    """Neither what is at a path is there, nor a directory above it that was made for it."""
    while b"epctx" in path:
        assert not os.path.lexists(path), path
        path = os.path.dirname(path)


@pytest.mark.own_process
@pytest.mark.parametrize("namespace", [True, False])
def test_the_root_is_real_empty_and_always_as_deep(namespace: bool) -> None:
    ground = Ground(namespace=namespace)
    first, second = ground.plot(), ground.plot()
    assert first.root != second.root
    root = os.fsdecode(first.root)
    assert len(Path(os.fsdecode(second.root)).parts) - 1 == ROOT_DEPTH
    assert os.path.realpath(root) == root
    assert len(Path(root).parts) - 1 == ROOT_DEPTH
    assert os.listdir(root) == []
    assert os.stat(root).st_uid == ground.account.uid
    assert [Path(root).parents[n].name for n in range(4)] == ["1", "2", "3", "4"]
    ground.close()
    ground.close()


@pytest.mark.own_process
@pytest.mark.parametrize("namespace", [True, False])
def test_nothing_is_left_behind(namespace: bool) -> None:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        ground = Ground(namespace=namespace)
        live = LiveWorld(ground.plot())
        live.change_to(World((File("a/b"),)), None, None)
        Path(os.fsdecode(ground.scratch), "x").mkdir()
        os.write(write, ground.top)
        live.close()
        ground.close()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert_gone(os.read(read, 4096))


@pytest.mark.own_process
def test_nothing_is_visible_or_left_behind_when_the_process_is_killed() -> None:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        ground = Ground()
        LiveWorld(ground.plot()).change_to(World((File("a/b"),)), None, None)
        if ground.why_no_mounts:
            ground.close()
            os.write(write, b"!" + ground.why_no_mounts.encode())
        os.write(write, ground.top)
        time.sleep(60)
    top = os.read(read, 4096)
    if top.startswith(b"!"):
        os.kill(pid, signal.SIGKILL)
        pytest.skip(f"a killed process leaves its directory where {top[1:].decode()}")
    assert not os.path.lexists(top)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert_gone(top)


@pytest.mark.own_process
def test_without_a_namespace_it_says_why_nothing_can_be_mounted() -> None:
    ground = Ground(namespace=False)
    assert ground.why_no_mounts == "a mount namespace was not asked for"
    assert "since a mount namespace was not asked for" in ground.describe()
    ground.close()


@pytest.mark.own_process
def test_the_target_cannot_write_beside_the_margin() -> None:
    ground = Ground()
    root = ground.plot().root
    if ground.account.changes:
        os.setresuid(ground.account.uid, ground.account.uid, ground.account.uid)
    syscalls.drop_capabilities()
    for directory in (ground.top, root + b"/../../../../.."):
        with pytest.raises(PermissionError):
            os.mkdir(directory + b"/x")
    os.mkdir(root + b"/../../../../x")
    os.mkdir(ground.scratch + b"/x")
