"""A program as a process: lines go to its standard input and come from its standard output, and what it prints is kept."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence

from epctx_driver.messages import LONGEST_LINE, shown
from epctx_driver.processes import SEEN, family
from epctx_driver.serve import AWAKE

PRINTED = 4096
"""Bytes of standard error that are kept."""
GRACE = 2.0
"""Seconds that a program has to end once it closed its standard output."""
PART = 1 << 16


class Stopped(Exception):
    """The program ended, or closed its standard output: how, in words."""


class TooLong(Exception):
    """A line has no end within the limit."""


class Pipes:
    """A program that runs ``command`` in this process's group. OSError if it cannot be started.

    Nothing here waits for the program without reading what it writes, so neither a full pipe nor one that nobody reads stops
    anybody. ``line`` is the number of the last line that was taken, or that is coming.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
            bufsize=0,
            restore_signals=False,  # a write that meets a limit is to fail, not to kill
        )
        streams = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._streams = [stream for stream in streams if stream]
        self._stdin, self._stdout, self._stderr = (stream.fileno() for stream in self._streams)
        self._open = {self._stdin, self._stdout, self._stderr}
        for fd in self._open:
            os.set_blocking(fd, False)
        self._alive = os.pidfd_open(self._process.pid)
        self.line = 0
        self._out, self._in, self._looked = bytearray(), bytearray(), 0
        self._printed = bytearray()
        self._file_size = resource.getrlimit(resource.RLIMIT_FSIZE)

    @property
    def gone(self) -> bool:
        """Whether the program was given up (``kill``)."""
        return not self._open

    def send(self, line: bytes) -> None:
        """Have a line written while the next one is waited for."""
        self._out += line

    def receive(self, deadline: float | None = None) -> bytes | None:
        """The next line, without its end; None if it is not there at the ``deadline`` of the monotonic clock.

        Without one, this sleeps until the program does something: so both are seen to be asleep where the program is. Raises
        Stopped and TooLong.
        """
        self.line += 1
        while (end := self._in.find(b"\n", self._looked)) < 0:
            self._looked = len(self._in)
            if self._looked > LONGEST_LINE:
                raise TooLong
            if self._stdout not in self._open:
                raise Stopped(self._how_it_ended())
            if self._process.poll() is not None:  # what it started may hold its standard output
                self._turn(0)
                self._open.discard(self._stdout)
                continue
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return None
            self._turn(left if SEEN else AWAKE)
        line = bytes(self._in[:end])
        del self._in[: end + 1]
        self._looked = 0
        return line

    def pending(self) -> bytes:
        """The first line of what the program has written beyond the last one that was taken, as far as that is here by now."""
        self._turn(0)
        return bytes(self._in).partition(b"\n")[0]

    def begun(self) -> bytes:
        """What is here of the line that is coming."""
        return bytes(self._in)

    def limit_files(self, limit: tuple[int, int]) -> None:
        """Limit the size of files that the program, and those that it started, may write (RLIMIT_FSIZE, soft and hard)."""
        if limit == self._file_size:
            return
        for pid in family(self._process.pid):
            with contextlib.suppress(OSError):  # it may be gone by now
                resource.prlimit(pid, resource.RLIMIT_FSIZE, limit)
        self._file_size = limit

    def printed(self) -> str:
        """The last that the program printed to standard error, on one line; empty if there is nothing."""
        return shown(" ".join(self._printed.decode("utf-8", "backslashreplace").split())[-400:], 400)

    def wait(self, seconds: float) -> int | None:
        """The status with which the program ended, negative for a signal; None if it runs on for so long."""
        end = time.monotonic() + seconds
        while self._process.poll() is None and (left := end - time.monotonic()) > 0:
            self._turn(left)
        return self._process.returncode

    def kill(self) -> None:
        """End the program, and take what it has written until now. Harmless where that was done."""
        self._process.kill()
        self._process.wait()
        if self._open:
            self._turn(0)
            self._open.clear()
            os.close(self._alive)
            for stream in self._streams:
                stream.close()
        self._in.clear()

    def _how_it_ended(self) -> str:
        code = self.wait(GRACE)
        where = f" in the middle of line {self.line}, {shown(self.begun())}," if self._in else ""
        self.kill()
        return f"{ended(code)}{where}" if code is not None else f"closed its standard output{where} and went on"

    def _turn(self, seconds: float | None) -> None:
        """Write and read what can be, once there is something; at the latest after so many seconds."""
        poller = select.poll()
        poller.register(self._alive, select.POLLIN)
        for fd in self._open:
            if fd != self._stdin:
                poller.register(fd, select.POLLIN)
            elif self._out:
                poller.register(fd, select.POLLOUT)
        for fd, _ in poller.poll(None if seconds is None else seconds * 1000):
            if fd == self._stdin:
                self._write()
            elif fd != self._alive:
                self._read(fd)

    def _write(self) -> None:
        try:
            del self._out[: os.write(self._stdin, memoryview(self._out)[:PART].tobytes())]
        except BlockingIOError:
            pass
        except OSError:  # nobody reads: whether the program ended shows on its standard output
            self._open.discard(self._stdin)

    def _read(self, fd: int) -> None:
        try:
            data = os.read(fd, 4 * PART)
        except BlockingIOError:
            return
        if not data:
            self._open.discard(fd)
        elif fd == self._stdout:
            self._in += data
        else:
            self._printed = (self._printed + data)[-PRINTED:]


def ended(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"exited with status {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
