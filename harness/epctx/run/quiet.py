"""Which cases may be run in a sweep, and which of their calls are to change the world."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from epctx.case import Call, Case, Dir, Expect, Fifo, File, HardLink, Limits, Link, Socket, World, content_of, raw
from epctx.remember import remembered
from epctx.spec import predict
from epctx.spec.tree import ROOT
from epctx.target import Launch
from epctx_driver import protocol

USUAL = Limits()
Way: TypeAlias = tuple[str, str, bool]


def quiet(case: Case) -> bool:
    """Whether a case needs no time, nothing large, and a world in which nothing goes on by itself."""
    limits = case.limits
    if limits is not USUAL and (limits.seconds < USUAL.seconds or limits.memory != USUAL.memory):
        return False
    if not _still(case.world) or not all(map(_brief, case.calls)):
        return False
    return sum(map(_size, case.calls)) + sum(map(_length, case.calls)) <= protocol.INLINE_LIMIT


def changing(case: Case, launch: Launch) -> tuple[int, ...]:
    """The indexes of the calls that change the world, if they do what is expected of them, or what others like them did."""
    known = habits(launch).change
    if not known and not writes(case):
        return ()
    found = []
    for index, (call, expect) in enumerate(zip(case.calls, predict(case), strict=True)):
        meant = call.op == "write" and expect.outcome != "refuse" and call.as_used.write_callback is None
        if meant or (known and _way(call, expect) in known):
            found.append(index)
    return tuple(found)


def writes(case: Case) -> bool:
    """Whether there is a write among the calls of a case."""
    return "write" in [call.op for call in case.calls]


class Habits(NamedTuple):
    """What is known of a target from sweeps: ways of calls that ``change`` something against expectation, and that ``hang``."""

    change: set[Way]
    hang: set[Way]


@remembered(16)
def habits(_launch: Launch) -> Habits:
    """What has become known of a target; it is added to."""
    return Habits(set(), set())


def ways(case: Case) -> list[Way]:
    """What each call of a case does, the rule that decides it, and whether its name goes back up."""
    return list(map(_way, case.calls, predict(case)))


def _way(call: Call, expect: Expect) -> Way:
    return call.op, expect.rule, isinstance(call.name, str) and "/../" in call.name


def _size(call: Call) -> int:
    """How many bytes a call takes along."""
    size = call.payload.size if call.op == "write" and call.payload else 0
    for script in (call.read_callback, call.write_callback):
        if script and script.content:
            size += script.content.size
    return size


def _length(call: Call) -> int:
    """How many bytes the names of a call have that are in pieces, at the most; others are short."""
    pieces = [piece for name in (call.name, call.fallback) if type(name) is tuple for piece in name]
    return sum([piece.times * max(len(raw(piece.text, ROOT)), len(piece.hex)) for piece in pieces])


def _brief(call: Call) -> bool:
    """Whether a call comes to its end by itself."""
    scripts = (call.read_callback, call.write_callback)
    return not (call.race or call.resize or call.threads or any(s and (s.waits or s.reenters) for s in scripts))


@remembered()
def _still(world: World) -> bool:
    """Whether the files of a world are small, and nothing in it goes on by itself or is particular."""
    for entry in world.entries:
        if isinstance(entry, File):
            if entry.attribute or content_of(entry).size > protocol.INLINE_LIMIT:
                return False
        elif isinstance(entry, Fifo):
            if entry.writer:
                return False
        elif not isinstance(entry, Link | Dir | HardLink | Socket):
            return False
    return True
