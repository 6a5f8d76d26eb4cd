"""Where a sanitizer's reports come in, apart from all that a target prints."""

from __future__ import annotations

import contextlib
import fcntl
import os

_CAPACITY = 1 << 20
_MOST = 4 << 20
"""Bytes of reports that are kept until they are taken. A runtime that cannot write ends its process, so all are read."""


class ReportPipe:
    """A pipe whose writing end, ``theirs``, goes to the process that reports."""

    def __init__(self) -> None:
        self._read, self.theirs = os.pipe()
        os.set_blocking(self._read, False)
        with contextlib.suppress(OSError):
            fcntl.fcntl(self._read, fcntl.F_SETPIPE_SZ, _CAPACITY)
        self._text = b""

    def given(self) -> None:
        """The process has its end now; ours of it is closed."""
        os.close(self.theirs)

    def drain(self) -> None:
        """Read what there is; never blocks."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._read, _CAPACITY):
                if len(self._text) < _MOST:
                    self._text += data

    def take(self) -> str:
        """What was reported since the last time."""
        self.drain()
        text, self._text = self._text, b""
        return text.decode("utf-8", "backslashreplace")

    def close(self) -> None:
        """Read no more."""
        os.close(self._read)
