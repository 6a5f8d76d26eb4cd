"""The watch: one inotify descriptor that sees what is opened, made, changed and removed, in whatever process.

It sees opens through links, hard links and descriptors. It does not see stat, readlink, O_PATH or failed opens.
"""

from __future__ import annotations

import os
import struct
from typing import TypeAlias

from epctx import syscalls
from epctx.errors import HarnessError
from epctx.syscalls import IN_ATTRIB, IN_CLOSE_WRITE, IN_CREATE, IN_DELETE, IN_MODIFY, IN_MOVED_FROM, IN_MOVED_TO, IN_OPEN

_OF_DIRECTORY = (
    IN_OPEN | IN_CREATE | IN_DELETE | IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_CLOSE_WRITE | syscalls.IN_ONLYDIR
)
_OF_FILE = IN_OPEN | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | syscalls.IN_DONT_FOLLOW
_HEADER = struct.Struct("iIII")
_BUFFER = 1 << 14

Inode: TypeAlias = tuple[int, int]
"""Number and device of an inode."""
Event: TypeAlias = tuple[int, bytes | Inode, bytes]
"""A mask (IN_...), the path of the watched directory or the inode of the watched file, and the entry's name (b"": itself)."""


class Watch:
    """Watches on directories (their entries are seen by name) and on files (an inode is seen under whatever name)."""

    def __init__(self) -> None:
        """Open the descriptor. HarnessError if this user has no more."""
        try:
            self.fd = syscalls.inotify_init()
        except OSError as error:
            raise HarnessError(
                f"Nothing more can be watched here ({error.strerror}): raise the sysctl fs.inotify.max_user_instances, or use "
                "fewer jobs."
            ) from error
        self._watched: dict[int, bytes | Inode] = {}
        self._numbers: dict[bytes | Inode, int] = {}

    def add_directory(self, fd: int, path: bytes) -> None:
        """Watch the directory that ``fd`` refers to, as ``path``. One that is mounted elsewhere too keeps its first path."""
        number = syscalls.inotify_add_watch(self.fd, b"/proc/self/fd/%d" % fd, _OF_DIRECTORY)
        self._numbers[path] = number
        self._watched.setdefault(number, path)

    def add_file(self, path: bytes, inode: Inode) -> None:
        """Watch the file at the absolute ``path``. One that this user may not read is left to the watch on its directory."""
        try:
            number = syscalls.inotify_add_watch(self.fd, path, _OF_FILE)
        except PermissionError:
            return
        self._numbers[inode] = number
        self._watched.setdefault(number, inode)

    def forget(self, what: bytes | Inode) -> None:
        """No longer know a directory or file that was removed; the kernel has stopped its watch, or will."""
        number = self._numbers.pop(what, None)
        if number is not None and self._watched.get(number) == what:
            del self._watched[number]

    def watches(self, inode: Inode) -> bool:
        """Whether the file is watched by itself."""
        return inode in self._numbers

    def read(self) -> list[Event]:
        """The events since the last call, oldest first. An overflow of the kernel's queue is ``(IN_Q_OVERFLOW, b"", b"")``."""
        events: list[Event] = []
        try:
            while True:
                data = os.read(self.fd, _BUFFER)
                at, end = 0, len(data)
                while at < end:
                    number, mask, _, size = _HEADER.unpack_from(data, at)
                    at += 16 + size
                    if mask & syscalls.IN_Q_OVERFLOW:
                        events.append((syscalls.IN_Q_OVERFLOW, b"", b""))
                    elif number in self._watched and not mask & syscalls.IN_IGNORED:
                        events.append((mask, self._watched[number], data[at - size : at].rstrip(b"\0") if size else b""))
                if end < _BUFFER // 2:  # the queue held no more, and asking again would cost an exception
                    return events
        except BlockingIOError:
            return events

    def discard(self) -> None:
        """Forget the events since the last call: those that this process made itself."""
        try:
            while len(os.read(self.fd, _BUFFER)) >= _BUFFER // 2:
                pass
        except BlockingIOError:
            return

    def close(self) -> None:
        """Stop watching."""
        os.close(self.fd)
