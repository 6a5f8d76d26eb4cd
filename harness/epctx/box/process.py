"""A process in a box, as the harness holds it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import struct

from epctx.case import Struct

TAIL_LIMIT = 64 << 10
"""How many of the last bytes that a target printed are kept."""


class Ended(Struct, frozen=True):
    """How a process ended: by ``signal``, or, if that is 0, with the exit ``code``."""

    signal: int = 0
    code: int = 0

    def __str__(self) -> str:
        """In words."""
        if not self.signal:
            return f"exited with status {self.code}"
        try:
            return f"killed by {signal.Signals(self.signal).name}"
        except ValueError:
            return f"killed by signal {self.signal}"


class Process:
    """A process in a box. ``pid`` is the target's process id as this process sees it. A context manager; else ``close`` it.

    To wait for it among other things, poll ``fileno()`` for reading (it has ended) and ``output_fd`` (it printed something; call
    ``drain``).
    """

    def __init__(self, leader: int, pid: int, end: int, output: int) -> None:
        """``leader`` is the child whose death ends the box; ``end`` a pipe that tells how the target ended, else -1."""
        self.pid = pid
        self.output_fd = output
        self._leader, self._end = leader, end
        self._handle = os.pidfd_open(leader)
        self._ended: Ended | None = None
        self._tail = b""

    def fileno(self) -> int:
        """A descriptor that becomes readable when the process has ended."""
        return self._handle

    def poll(self) -> Ended | None:
        """How it ended, or None while it runs. What it started ends with it."""
        if self._ended is None and os.waitid(os.P_PID, self._leader, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if self._end < 0:  # while nobody has waited for it, its number is that of no other group
                self._kill_group()
            _, status = os.waitpid(self._leader, 0)
            self._ended = self._how(status)
        return self._ended

    def wait(self, timeout: float | None = None) -> Ended | None:
        """Wait for the end, at most ``timeout`` seconds; None if it still runs then."""
        if self._ended is None:
            poller = select.poll()
            poller.register(self._handle, select.POLLIN)
            poller.poll(None if timeout is None else timeout * 1000)
        return self.poll()

    def kill(self) -> Ended:
        """End it, and with it everything in its box; how it ended, which may have been before."""
        if self._ended is None:
            if self._end < 0:
                self._kill_group()
            else:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        ended = self.wait()
        assert ended is not None
        return ended

    def drain(self) -> None:
        """Take what it printed so far; never blocks."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self.output_fd, TAIL_LIMIT):
                self._tail = (self._tail + data)[-TAIL_LIMIT:]

    def output(self) -> str:
        """The last 64 KiB of what it printed, standard output and standard error together."""
        self.drain()
        return self._tail.decode("utf-8", "backslashreplace")

    def close(self) -> None:
        """Kill it if it still runs, and release the descriptors. Harmless if called again."""
        if self._handle < 0:
            return
        self.kill()
        for fd in (self._handle, self.output_fd, self._end):
            if fd >= 0:
                os.close(fd)
        self._handle = self.output_fd = self._end = -1

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._leader, signal.SIGKILL)

    def _how(self, status: int) -> Ended:
        if self._end >= 0:
            told = os.read(self._end, 4)
            if len(told) < 4:  # the box's own init was killed: by kill()
                return Ended(signal.SIGKILL)
            (status,) = struct.unpack("i", told)
        code = os.waitstatus_to_exitcode(status)
        return Ended(signal=-code) if code < 0 else Ended(code=code)
