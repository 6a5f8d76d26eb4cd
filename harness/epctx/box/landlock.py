"""Landlock: access to files, and where the kernel can to TCP, signals and abstract sockets, taken away by the process itself."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterable

from epctx import syscalls

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
_ALL_OF_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_NET_TCP = 0b11
_SCOPE_ALL = 0b11

_READ = _EXECUTE | _READ_FILE | _READ_DIR
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE


def restrict(readable: Iterable[str | int], writable: Iterable[str | int]) -> None:
    """Leave this process reading below ``readable`` and everything below ``writable`` (paths, or descriptors), for good.

    Paths that do not exist are passed over. Needs no_new_privs. Raises OSError.
    """
    abi = syscalls.landlock_abi()
    handled = _ALL_OF_ABI[min(abi, max(_ALL_OF_ABI))]
    attributes = struct.pack("=Q", handled)
    if abi >= 4:
        attributes += struct.pack("=Q", _NET_TCP)
    if abi >= 6:
        attributes += struct.pack("=Q", _SCOPE_ALL)
    rules = syscalls.landlock_create_ruleset(attributes)
    try:
        for paths, access in ((readable, _READ), (writable, handled)):
            for path in paths:
                _allow(rules, path, access & handled)
        syscalls.landlock_restrict_self(rules)
    finally:
        os.close(rules)


def lacks() -> str:
    """What the kernel's Landlock leaves open, in words."""
    abi = syscalls.landlock_abi()
    return ", ".join(
        what
        for since, what in ((3, "truncating"), (4, "TCP"), (6, "signals and abstract sockets"), (99, "other networking, stat"))
        if abi < since
    )


def _allow(rules: int, path: str | int, access: int) -> None:
    try:
        fd = path if isinstance(path, int) else os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            access &= _OF_FILES
        syscalls.landlock_allow(rules, fd, access)
    finally:
        if fd != path:
            os.close(fd)
