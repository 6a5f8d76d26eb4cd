"""Which processes belong to one, for both sides of the link."""

from __future__ import annotations

import contextlib
import os

SEEN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")
"""Whether the kernel tells which processes another one started (CONFIG_PROC_CHILDREN)."""


def family(pid: int) -> list[int]:
    """A process and all that it started, as far as the kernel tells and they did not leave it."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{thread}/children", encoding="ascii") as file:
                    found += map(int, file.read().split())
    return found
