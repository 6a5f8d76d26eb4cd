"""The private root of a box with namespaces: what a target sees of the file system.

Runs in the child, which has a mount namespace of its own already.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from epctx import syscalls
from epctx.syscalls import MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_REC, MS_SLAVE

SYSTEM = ("/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin", "/nix/store", "/etc/alternatives")
"""The directories of programs and libraries; a link among them is made again as a link."""
SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/nsswitch.conf")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
_DEVICE_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}


def enter_private_root(readable: Iterable[str], ground: str) -> None:
    """Make the root of this mount namespace a tmpfs with the system and ``readable`` read-only, and the ``ground`` as it is.

    Raises OSError.
    """
    syscalls.mount(b"none", b"/", flags=MS_REC | MS_SLAVE)  # what is mounted in the ground later still comes in, nothing goes out
    links = {path: os.readlink(path) for path in SYSTEM if os.path.islink(path)}
    paths = {os.path.normpath(path) for path in (*SYSTEM, *SYSTEM_FILES, *DEVICES, *readable) if os.path.exists(path)}
    trees = {path: _copy(path) for path in sorted(paths - links.keys())}  # outer ones first
    old_proc, ground_tree = _copy("/proc"), _copy(ground)
    syscalls.mount(b"box", ground.encode(), b"tmpfs", MS_NOSUID, b"mode=0755,size=1m")  # any directory serves to make the root in
    os.chdir(ground)
    for directory in ("/dev", "/proc", "/tmp", ground):
        os.makedirs("." + directory, exist_ok=True)
    for path, text in links.items():
        os.makedirs("." + os.path.dirname(path), exist_ok=True)
        os.symlink(text, "." + path)
    for name, text in _DEVICE_LINKS.items():
        os.symlink(text, f"./dev/{name}")
    for path, tree in trees.items():
        if not os.path.lexists("." + path):  # else it is a part of another one
            _attach(tree, path)
    try:
        syscalls.mount(b"proc", b"./proc", b"proc", MS_NOSUID | MS_NOEXEC | MS_NODEV)
    except OSError:  # a container hides parts of /proc, and so no whole one may be mounted: show the one that is there
        _attach(old_proc, "/proc")
    root = os.open(".", os.O_PATH | os.O_DIRECTORY)
    syscalls.set_mount_attributes(root, syscalls.MOUNT_ATTR_RDONLY | syscalls.MOUNT_ATTR_NOSUID, recursive=True)
    _attach(ground_tree, ground)
    syscalls.pivot_root(b".", b".")
    syscalls.umount(b".")
    os.chdir("/")
    for fd in (root, old_proc, ground_tree, *trees.values()):
        os.close(fd)


def _copy(path: str) -> int:
    """A detached copy of the mounts at and below a path."""
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        return syscalls.open_tree(fd, syscalls.OPEN_TREE_CLONE | syscalls.AT_RECURSIVE)
    finally:
        os.close(fd)


def _attach(tree: int, path: str) -> None:
    """Mount a detached copy at a path below the working directory."""
    point = "." + path
    if stat.S_ISDIR(os.fstat(tree).st_mode):
        os.makedirs(point, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(point), exist_ok=True)
        os.close(os.open(point, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))
    fd = os.open(point, os.O_PATH | os.O_CLOEXEC)
    try:
        syscalls.move_mount(tree, fd)
    finally:
        os.close(fd)
