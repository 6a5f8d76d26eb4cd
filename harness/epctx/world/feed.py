"""The slow, endless writers of FIFOs."""

from __future__ import annotations

import contextlib
import os

from epctx.case import token


class Feeder:
    """Holds FIFOs open for writing, and writes a little to each whenever it is told to; it never blocks."""

    def __init__(self) -> None:
        """Start without any."""
        self._open: dict[bytes, int] = {}

    def __bool__(self) -> bool:
        """Whether there is a FIFO to feed."""
        return bool(self._open)

    def add(self, path: bytes, name: bytes, directory: int) -> None:
        """Feed the FIFO ``name`` in ``directory``; ``path`` marks what it is fed with."""
        self._open[path] = os.open(name, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)

    def feed(self) -> None:
        """Write 32 bytes to each FIFO that has room."""
        for path, fd in self._open.items():
            with contextlib.suppress(BlockingIOError):
                os.write(fd, token(path.decode("utf-8", "backslashreplace")))

    def remove(self, path: bytes) -> None:
        """Stop feeding one FIFO."""
        fd = self._open.pop(path, None)
        if fd is not None:
            os.close(fd)

    def clear(self) -> None:
        """Stop feeding."""
        for path in list(self._open):
            self.remove(path)
