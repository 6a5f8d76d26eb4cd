"""Removal that never follows a link, whatever a target left behind: any depth, any mode, immutable files."""

from __future__ import annotations

import contextlib
import os

from epctx import syscalls

_PREFIX = b".epctx-removed-"


def empty(directory: int) -> None:
    """Remove everything in the directory that the descriptor (open for reading) refers to."""
    for name in os.listdir(directory):
        remove(os.fsencode(name), directory)


def remove(name: bytes, directory: int) -> None:
    """Remove the entry ``name`` of a directory, if there is one, with all that is in it. Mount points must be gone already.

    A tree is flattened while it is removed (a directory found in it is renamed to lie beside it), so that its depth costs neither
    recursion nor descriptors.
    """
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        return
    except IsADirectoryError:
        _remove_tree(name, directory)
    except PermissionError:
        _make_removable(name, directory)
        try:
            os.unlink(name, dir_fd=directory)
        except IsADirectoryError:
            _remove_tree(name, directory)


def _remove_tree(name: bytes, directory: int) -> None:
    waiting, number = [name], 0
    while waiting:
        name = waiting.pop()
        fd = _open_directory(name, directory)
        try:
            for child in map(os.fsencode, os.listdir(fd)):
                try:
                    os.unlink(child, dir_fd=fd)
                except IsADirectoryError:
                    try:
                        os.rmdir(child, dir_fd=fd)
                    except OSError:
                        number += 1
                        beside = b"%s%d-%d" % (_PREFIX, os.getpid(), number)
                        os.close(_open_directory(child, fd))  # a directory can only be moved by one who may write to it
                        os.rename(child, beside, src_dir_fd=fd, dst_dir_fd=directory)
                        waiting.append(beside)
                except PermissionError:
                    _make_removable(child, fd)
                    os.unlink(child, dir_fd=fd)
        finally:
            os.close(fd)
        os.rmdir(name, dir_fd=directory)


def _open_directory(name: bytes, directory: int) -> int:
    """Open a directory for reading and make sure that entries can be removed from it."""
    try:
        fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
    except PermissionError:
        handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
        try:
            os.chmod(f"/proc/self/fd/{handle}", 0o700)
            fd = os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_DIRECTORY)
        finally:
            os.close(handle)
    if os.fstat(fd).st_mode & 0o700 != 0o700:
        os.fchmod(fd, 0o700)
    return fd


def _make_removable(name: bytes, directory: int) -> None:
    """Do away with what keeps an entry from being removed: the mode of its directory, or an attribute of a file."""
    with contextlib.suppress(OSError):
        os.fchmod(directory, 0o700)
    with contextlib.suppress(OSError):
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
        try:
            syscalls.set_file_flags(fd, 0)
        finally:
            os.close(fd)
