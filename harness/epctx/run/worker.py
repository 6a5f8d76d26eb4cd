"""What runs in a worker process: a keeper, made when it is first needed.

This module imports little, and the keeper late: numpy starts threads when it is imported, unless told not to, and only a process
with one thread can get namespaces of its own and fork safely.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from epctx.box import Strength
    from epctx.run.keeper import Conditions, Keeper

_keeper: list[Keeper] = []
_box: Strength | None = None


def start(box: Strength | None) -> None:
    """Start a worker whose targets run in boxes of that strength. Interrupts are left to the parent."""
    global _box
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _box = box


def keeper() -> Keeper:
    """The keeper of this process. HarnessError if there is no place for a world, or no box."""
    from epctx.run.keeper import Keeper

    if not _keeper:
        _keeper.append(Keeper(_box))
    return _keeper[0]


def conditions(launch: bytes) -> Conditions:
    """How the packed target runs here. TargetError if it does not load."""
    from epctx.target import Launch

    return keeper().conditions(msgspec.msgpack.decode(launch, type=Launch))


def observe(launch: bytes, cases: bytes) -> bytes:
    """Run packed cases on a packed target; packed observations."""
    from epctx.case import Case
    from epctx.target import Launch

    kept, target = keeper(), msgspec.msgpack.decode(launch, type=Launch)
    return msgspec.msgpack.encode([kept.observe(target, case) for case in msgspec.msgpack.decode(cases, type=list[Case])])
