"""What runs in a worker process: a keeper, made when it is first needed, so that its errors reach whoever asked."""

from __future__ import annotations

import functools
import gc
import multiprocessing
import os
import signal
from collections.abc import Sequence
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.util import Finalize
from typing import TypeAlias

import msgspec

from epctx import syscalls
from epctx.box import Strength
from epctx.case import Case
from epctx.run.keeper import Conditions, Keeper
from epctx.run.lane import observe_all
from epctx.target import Launch

Taken: TypeAlias = "Synchronized[int]"
"""How many shares are taken, in all workers of a runner."""

_box: Strength | None = None
_keeper: list[Keeper] = []
_unpack_case = msgspec.msgpack.Decoder(Case)
_launch = msgspec.msgpack.Decoder(Launch)


def start(box: Strength | None, shares: Sequence[Sequence[int]] = (), taken: Taken | None = None) -> None:
    """Start a worker whose targets run in boxes of that strength. Interrupts are left to the parent, which then ends it.

    It keeps to the next of these ``shares`` of the processors that is not ``taken``, if there are any.
    """
    global _box
    if taken is not None:
        with taken:
            os.sched_setaffinity(0, shares[taken.value % len(shares)])
            taken.value += 1
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    _end_with_parent()
    gc.set_threshold(20_000, 50, 50)  # cases are made by the thousand, and go without it
    Finalize(None, _close, exitpriority=0)  # where the program ends, and nobody has ended the runner
    _box = box


def _end_with_parent() -> None:
    """Have the kernel end this worker when the parent was killed: it would wait for work for ever."""
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGTERM)
    parent = multiprocessing.parent_process()
    if parent and not parent.is_alive():
        _end()


def _end(*_: object) -> None:
    """Leave no driver and no ground behind, whatever was going on."""
    try:
        _close()
    finally:
        os._exit(0)


def _close() -> None:
    for kept in _keeper:
        kept.close()


@functools.lru_cache(maxsize=4096)
def _case(packed: bytes) -> Case:
    """A case. One that comes again, for another target, is the same object, of which much is remembered."""
    return _unpack_case.decode(packed)


def keeper() -> Keeper:
    """The keeper of this process. HarnessError if there is no place for a world, or no box."""
    if not _keeper:
        _keeper.append(Keeper(_box))
        _end_with_parent()  # a new user namespace took that back
    return _keeper[0]


def conditions(launch: bytes) -> Conditions:
    """How the packed target runs here. TargetError if it does not load."""
    return keeper().conditions(_launch.decode(launch))


def observe(launch: bytes, cases: Sequence[bytes], alone: bool) -> bytes:
    """Run packed cases on a packed target, ``alone`` each in a new driver; packed observations."""
    kept, target, unpacked = keeper(), _launch.decode(launch), list(map(_case, cases))
    if alone:
        return msgspec.msgpack.encode([kept.observe_alone(target, case) for case in unpacked])
    return msgspec.msgpack.encode(observe_all(kept, target, unpacked))
