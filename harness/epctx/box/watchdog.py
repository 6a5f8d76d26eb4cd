"""Seeing that a target sleeps for good, and waking one that waits for the other end of a FIFO."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable

from epctx_driver.processes import family

_LEAST_SLEEP = 0.2


class Watchdog:
    """Watches one call of a target. Make one when a call seems to take long, then ask ``asleep`` now and again."""

    def __init__(self, pid: int) -> None:
        """Start watching the process ``pid``, and all that it started."""
        self._pid = pid
        self._last: tuple[int, ...] | None = None
        self._since = time.monotonic()

    def asleep(self, seconds: float = _LEAST_SLEEP) -> bool:
        """Whether all threads have slept without a single wake-up for at least ``seconds``, as far as the times of asking tell.

        Those are the threads of all processes, for one that works may be waited for by others.

        A thread that runs, waits to run, or was switched in meanwhile, if only for a moment, starts the time again.
        """
        now, seen = time.monotonic(), _switches(family(self._pid))
        if seen is None or seen != self._last:
            self._last, self._since = seen, now
            return False
        return now - self._since >= seconds


def free_fifos(paths: Iterable[bytes]) -> list[bytes]:
    """Open each FIFO for reading and writing, without blocking, and close it again: whoever waits in open goes on, and then reads
    the end of the file, or gets EPIPE. Links are not followed. Returns the paths of those that could be opened.

    A target may open a FIFO again: call this until it answers or its time is over. A call that answers only after this has hung.
    """
    opened = []
    for path in paths:
        with contextlib.suppress(OSError):
            os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC))
            opened.append(path)
    return opened


def _switches(processes: Iterable[int]) -> tuple[int, ...] | None:
    """The count of context switches of each thread, if all sleep; None if one runs, or a process is gone."""
    counts: list[int] = []
    try:
        for process in processes:
            for thread in os.listdir(f"/proc/{process}/task"):
                with open(f"/proc/{process}/task/{thread}/status", encoding="ascii", errors="replace") as file:
                    lines = dict(line.partition(":")[::2] for line in file)
                state = lines["State"].split()[0]
                if state == "Z":  # nobody has asked yet how it ended
                    continue
                if state not in ("S", "D"):
                    return None
                counts += (int(thread), int(lines["voluntary_ctxt_switches"]), int(lines["nonvoluntary_ctxt_switches"]))
    except (OSError, KeyError):
        return None
    return tuple(counts) if counts else None
