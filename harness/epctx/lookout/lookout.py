"""The lookout: it stands at the doors of a process and looks for plaintext in every file before its content can go away.

What it sees: what is written to a file through descriptors, up to the moment at which the file is closed, overwritten, cut,
renamed or removed, also of files that never had a name (O_TMPFILE); and what stands in the watched places in the end, and at
each removal and renaming meanwhile. What it does not see: what was written to a file through a mapping and was overwritten
through it, or never had a name in a watched place; what goes past the doors through io_uring; what a process keeps in memory,
shared memory (memfd) included; and a descriptor that is still open when its process is killed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import stat
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from epctx import syscalls
from epctx.errors import HarnessError
from epctx.lookout.doors import DOORS, Look

LARGEST = 1 << 28
"""Bytes of a file in which plaintext is looked for."""

_BLOCK = 1 << 20
_WRITABLE = 0o200
_ARGUMENT: dict[Look, int] = {"descriptor": 0, "replaced": 1, "mapped": 4}
_NONE = 0xFFFFFFFF

_State: TypeAlias = tuple[int, int, int, int, int]
"""What tells whether a file is as it was: device, inode, size, times of modification and status."""


class Sighting(NamedTuple):
    """A file that held plaintext. ``path`` is where it was, ``gone`` whether nothing is there any more."""

    path: bytes
    gone: bool


class Lookout:
    """Serves the doors of a guarded process, and between ``begin`` and ``end`` looks for plaintext.

    It serves them in a thread of its own, from now until the last guarded process has ended or ``close`` is called; after that,
    what is still guarded can pass no door, so end it before.
    """

    def __init__(self, listener: int, marks: Sequence[bytes] = (), places: Sequence[bytes] = ()) -> None:
        """``listener`` is what ``guarded_process`` gave; it is closed by ``close``. With ``marks`` it begins at once."""
        self._listener = listener
        self._wake, self._stop = os.pipe2(os.O_CLOEXEC)
        self._lock = threading.Lock()
        self._marks: tuple[bytes, ...] = ()
        self._places: tuple[bytes, ...] = ()
        self._before: dict[bytes, _State] = {}
        self._found: dict[bytes, None] = {}
        self._holding: dict[tuple[int, int], tuple[int, int]] = {}
        self._fault: Exception | None = None
        if marks:
            self.begin(marks, places)
        self._thread = threading.Thread(target=self._serve, name="epctx lookout", daemon=True)
        self._thread.start()

    def begin(self, marks: Sequence[bytes], places: Sequence[bytes]) -> None:
        """Look for ``marks``, bytes that occur in plaintext alone, from now on; ``places`` are directories that are watched.

        What stands there now is not what is looked for, unless it changes.
        """
        before = {path: _state(status) for path, status in _files(places)}
        with self._lock:
            self._marks, self._places, self._before = tuple(marks), tuple(places), before
            self._found, self._holding, self._fault = {}, {}, None

    def look(self) -> None:
        """Look once more at what changed in the places since ``begin``, before somebody else than the process changes it."""
        with self._lock:
            self._look_around()

    def renew(self) -> None:
        """Take what stands in the places for what stood there at ``begin``: it was looked at, or is somebody else's doing."""
        before = {path: _state(status) for path, status in _files(self._places)}
        with self._lock:
            self._before = before

    def end(self, processes: Iterable[int] = ()) -> tuple[Sighting, ...]:
        """Look once more, also at the descriptors of processes that go on; what was seen since ``begin``, in order.

        HarnessError if something was missed.
        """
        with self._lock:
            for process in processes:
                self._look_at_descriptors(process)
            self._look_around()
            found, fault, self._marks = tuple(self._found), self._fault, ()
        if fault is not None:
            raise HarnessError(f"a file could not be looked at for plaintext: {fault}") from fault
        return tuple(Sighting(path, not os.path.lexists(path)) for path in found)

    def close(self) -> None:
        """Serve no more."""
        os.close(self._stop)
        self._thread.join(1.0)  # not for ever: a signal's handler may call this while ``begin`` or ``end`` holds the lock
        os.close(self._wake)
        os.close(self._listener)

    # --- the doors --------------------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        poller = select.poll()
        poller.register(self._listener, select.POLLIN)
        poller.register(self._wake, select.POLLIN)
        while True:
            events = dict(poller.poll())
            if self._wake in events or events.get(self._listener, 0) & select.POLLHUP:
                return
            try:
                cookie, thread, number, arguments = syscalls.seccomp_notification(self._listener)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.EINTR):  # who waited was killed meanwhile
                    continue
                raise
            try:
                with self._lock:
                    if self._marks:
                        self._look(DOORS[number], thread, arguments)
            except Exception as error:
                self._fault = error
            with contextlib.suppress(FileNotFoundError):
                syscalls.seccomp_continue(self._listener, cookie)

    def _look(self, look: Look, thread: int, arguments: Sequence[int]) -> None:
        if look == "places":
            self._look_around()
        elif look == "descriptors":
            self._look_at_descriptors(thread)
        elif (fd := arguments[_ARGUMENT[look]] & _NONE) != _NONE:
            self._look_at(b"/proc/%d/fd/%d" % (thread, fd))

    # --- looking ----------------------------------------------------------------------------------------------------------------

    def _look_at_descriptors(self, process: int) -> None:
        directory = b"/proc/%d/fd" % process
        try:
            numbers = os.listdir(directory)
        except (FileNotFoundError, ProcessLookupError):  # it was killed
            return
        for number in numbers:
            self._look_at(directory + b"/" + number)

    def _look_at(self, link: bytes) -> None:
        """Look at the file behind a descriptor, if it is one that can be written through it."""
        try:
            if not os.lstat(link).st_mode & _WRITABLE:
                return
            status = os.stat(link)
            if not stat.S_ISREG(status.st_mode):
                return
            path = os.readlink(link)
            if not path.startswith(b"/memfd:"):
                self._look_into(link, path.removesuffix(b" (deleted)"), status)
        except (FileNotFoundError, ProcessLookupError):  # it is not open, and the call will fail; or its process was killed
            return

    def _look_around(self) -> None:
        """Look at every file in the places that is not as it was."""
        for path, status in _files(self._places):
            if self._before.get(path) != _state(status):
                with contextlib.suppress(FileNotFoundError):
                    self._look_into(path, path, status)

    def _look_into(self, file: bytes, path: bytes, status: os.stat_result) -> None:
        """Look into a file, which is at ``path``. One that held plaintext before and was not written to since still does."""
        if path in self._found:
            return
        inode, written = (status.st_dev, status.st_ino), (status.st_size, status.st_mtime_ns)
        if self._holding.get(inode) != written:  # to open it for nothing would be seen by a watch
            fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                if not holds(fd, self._marks):
                    return
            finally:
                os.close(fd)
            self._holding[inode] = written
        self._found.setdefault(path)


def holds(fd: int, marks: Sequence[bytes]) -> bool:
    """Whether any of ``marks`` occurs in the first 256 MiB of a file."""
    overlap = max(map(len, marks), default=1) - 1
    at, tail = 0, b""
    while at < LARGEST and (block := os.pread(fd, _BLOCK, at)):
        at += len(block)
        data = tail + block
        if any(data.find(mark) >= 0 for mark in marks):
            return True
        tail = data[-overlap:] if overlap else b""
    return False


def _files(places: Iterable[bytes]) -> Iterator[tuple[bytes, os.stat_result]]:
    """Every regular file in the places; no link is followed."""
    waiting = list(places)
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        with contextlib.suppress(FileNotFoundError):
                            yield entry.path, entry.stat(follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue


def _state(status: os.stat_result) -> _State:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
