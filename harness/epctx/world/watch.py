"""The watch on a world: it sees what is opened, made, changed and removed, in whatever process.

A user has few inotify descriptors, often 128 for all that runs, so the worlds of a process share one.

It sees opens through links, hard links and descriptors. It does not see stat, readlink, O_PATH or failed opens.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator
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
MARK: Inode = (0, 0)
"""What an event at a mark is about: no file has that number."""
Event: TypeAlias = tuple[int, bytes | Inode, bytes]
"""A mask (IN_...), the path of the watched directory or the inode of the watched file, and the entry's name (b"": itself)."""


class Inotify:
    """An inotify descriptor that several watches share: what it sees is handed to those that asked for it."""

    def __init__(self) -> None:
        """Open the descriptor. HarnessError if this user has no more."""
        try:
            self.fd = syscalls.inotify_init()
        except OSError as error:
            raise HarnessError(
                f"Nothing more can be watched here ({error.strerror}): raise the sysctl fs.inotify.max_user_instances, or use "
                "fewer jobs."
            ) from error
        self._watches: list[Watch] = []
        self._wanted: dict[int, dict[Watch, bytes | Inode]] = {}
        self._at_once = False
        self._deaf: set[Watch] = set()

    def watch(self) -> Watch:
        """A new watch, which sees nothing yet."""
        self._watches.append(Watch(self))
        return self._watches[-1]

    def add(self, watch: Watch, path: bytes, mask: int, what: bytes | Inode) -> int:
        """Hand what happens at ``path`` to a watch, as about ``what``, unless it has that already; the number of the inode."""
        number = syscalls.inotify_add_watch(self.fd, path, mask)
        self._wanted.setdefault(number, {}).setdefault(watch, what)
        return number

    def remove(self, watch: Watch, number: int, what: bytes | Inode) -> None:
        """Hand it no longer to that watch; the kernel goes on, or has stopped because the inode is gone."""
        owners = self._wanted.get(number, {})
        if owners.get(watch) == what:
            del owners[watch]
            if not owners:
                del self._wanted[number]

    def drop(self, watch: Watch) -> None:
        """Hand nothing more to a watch, and stop what was for it alone."""
        self._watches.remove(watch)
        for number, owners in list(self._wanted.items()):
            owners.pop(watch, None)
            if not owners:
                del self._wanted[number]
                with contextlib.suppress(OSError):  # the inode is gone
                    syscalls.inotify_rm_watch(self.fd, number)

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """For several worlds that are changed, or looked at, one after the other: ask for events once for all of them.

        Watches then read what has happened up to the beginning, and what they discard is all up to the end.
        """
        self.pump()
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False
            if self._deaf:
                self.pump()

    def pump(self) -> None:
        """Hand out what has happened up to now, but to watches that discard it."""
        if self._at_once:
            return
        wanted, deaf = self._wanted, self._deaf
        try:
            while True:
                data = os.read(self.fd, _BUFFER)
                at, end = 0, len(data)
                while at < end:
                    number, mask, _, size = _HEADER.unpack_from(data, at)
                    at += 16 + size
                    if number in wanted:
                        for watch, what in wanted[number].items():
                            if watch not in deaf and not mask & syscalls.IN_IGNORED:
                                watch.events.append((mask, what, data[at - size : at].rstrip(b"\0")))
                    elif mask & syscalls.IN_Q_OVERFLOW:
                        for watch in self._watches:
                            if watch not in deaf:
                                watch.events.append((syscalls.IN_Q_OVERFLOW, b"", b""))
                if end < _BUFFER // 2:  # the queue held no more, and asking again would cost an exception
                    break
        except BlockingIOError:
            pass
        deaf.clear()

    def discard(self, watch: Watch) -> None:
        """Hand nothing of what has happened up to now to a watch."""
        self._deaf.add(watch)
        self.pump()

    def close(self) -> None:
        """Stop watching."""
        os.close(self.fd)


class Watch:
    """Watches on directories (their entries are seen by name) and on files (an inode is seen under whatever name).

    Made by ``Inotify.watch``. ``events`` are those that were handed to it and not yet read.
    """

    def __init__(self, inotify: Inotify) -> None:
        self.events: list[Event] = []
        self._inotify = inotify
        self._numbers: dict[bytes | Inode, int] = {}

    def add_directory(self, fd: int, path: bytes) -> None:
        """Watch the directory that ``fd`` refers to, as ``path``. One that is mounted elsewhere too keeps its first path."""
        self._numbers[path] = self._inotify.add(self, b"/proc/self/fd/%d" % fd, _OF_DIRECTORY, path)

    def add_file(self, path: bytes, inode: Inode) -> None:
        """Watch the file at the absolute ``path``. One that this user may not read is left to the watch on its directory."""
        with contextlib.suppress(PermissionError):
            self._numbers[inode] = self._inotify.add(self, path, _OF_FILE, inode)

    def add_mark(self, fd: int) -> None:
        """See where the file that ``fd`` refers to is touched, as ``MARK``."""
        self._inotify.add(self, b"/proc/self/fd/%d" % fd, IN_ATTRIB, MARK)

    def forget(self, what: bytes | Inode) -> None:
        """No longer know a directory or file that was removed."""
        number = self._numbers.pop(what, None)
        if number is not None:
            self._inotify.remove(self, number, what)

    def watches(self, inode: Inode) -> bool:
        """Whether the file is watched by itself."""
        return inode in self._numbers

    def read(self) -> list[Event]:
        """The events since the last call, oldest first. An overflow of the kernel's queue is ``(IN_Q_OVERFLOW, b"", b"")``."""
        self._inotify.pump()
        events = self.events
        if events:
            self.events = []
        return events

    def read_marked(self, count: int) -> list[list[Event]]:
        """The events since the last call up to each of the next ``count`` marks, which are left out; fewer if there were not so
        many, and then nothing of what came after the last one."""
        self._inotify.pump()
        turns: list[list[Event]] = []
        turn: list[Event] = []
        read = 0
        for number, event in enumerate(self.events):
            if event[1] != MARK:
                turn.append(event)
                continue
            turns.append(turn)
            turn, read = [], number + 1
            if len(turns) == count:
                break
        del self.events[:read]
        return turns

    def discard(self) -> None:
        """Forget the events since the last call: those that this process made itself."""
        self._inotify.discard(self)
        self.events.clear()

    def close(self) -> None:
        """Stop watching."""
        self._inotify.drop(self)
