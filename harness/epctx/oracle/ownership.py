"""Rules on ownership and memory: who allocates, who frees, and how often."""

from __future__ import annotations

from epctx.case import OK, Call
from epctx.oracle.rule import HELD, Broken, Look, Ruling, rule

OWNER = "EpContextData — zero-copy owning buffer"
LARGE = 1 << 20
"""Payloads from this size on (bytes) are large enough for a second copy to show."""


def _delivers(call: Call) -> bool:
    """Whether a scripted read callback hands something over."""
    script = call.read_callback
    content = script.content if script and script.code == OK and script.size != 0 else None
    return call.op == "read" and content is not None and content.size > 0


def _delivered(look: Look) -> bool:
    """Whether the call took it, and what becomes of it is seen."""
    return look.accepted and look.expect.outcome == "accept" and not look.seen.unmeasured


@rule("own.adopts", "spec", "high", OWNER, calls=_delivers, applies=_delivered)
def adopts(look: Look) -> Ruling:
    """The output's data pointer is the callback's buffer: no copy is made.

    Payloads are hundreds of megabytes; a copy doubles the peak, and leaves a second plaintext behind.
    """
    output = look.seen.output
    return HELD if output is not None and output.adopted else Broken("the callback's own buffer", "another buffer with the bytes")


@rule("own.freed-once", "spec", "high", OWNER, calls=_delivers, applies=_delivered)
def freed_once(look: Look) -> Ruling:
    """The adopted buffer is freed exactly once, on destruction or replacement, through its allocator.

    Freed twice it is memory corruption; freed by another allocator it is one as well.
    """
    memory = look.seen.memory
    if memory.bad_frees or memory.live:
        return Broken(
            "one free, by the allocator that made it", f"{memory.bad_frees} wrong frees, {memory.live} bytes never freed"
        )
    return HELD


@rule("own.moves", "spec", "medium", OWNER, calls=lambda call: call.moves, applies=lambda look: look.accepted)
def moves(look: Look) -> Ruling:
    """Move construction, move assignment, self-move and replacement leave no double free; the source is empty.

    EPs keep these objects in containers, which move them without asking.
    """
    if look.seen.moves:
        return Broken("moves transfer the buffer", "; ".join(look.seen.moves))
    if look.seen.memory.bad_frees:
        return Broken("moves transfer the buffer", f"{look.seen.memory.bad_frees} wrong frees after the moves")
    return HELD


@rule(
    "own.caller-allocator",
    "spec",
    "high",
    "Read with file fallback",
    applies=lambda look: (
        any(not (c.allocator_ok or c.late) for c in look.seen.callbacks)
        or (look.accepted and look.call.allocator == "caller" and look.seen.output is not None and look.seen.output.size > 0)
    ),
)
def caller_allocator(look: Look) -> Ruling:
    """A caller's allocator is used on the callback and the file path and is never released; none given means the default one.

    EPs pass allocators for pinned or shared memory: bytes elsewhere are of no use to the device.
    """
    memory = look.seen.memory
    if memory.caller_released:
        return Broken("the caller's allocator stays the caller's", "it was released")
    if any(not (c.allocator_ok or c.late) for c in look.seen.callbacks):
        return Broken("the callback is given the caller's allocator, or else the default one", "it was given another one")
    if not memory.caller_allocated:
        return Broken("the buffer comes from the caller's allocator", "nothing was allocated through it")
    return HELD


@rule("own.alloc-fails", "spec", "medium", "Read with file fallback")
def alloc_fails(look: Look) -> Ruling:
    """An allocator that fails or returns NULL gives an error.

    Out of memory is an ordinary answer to a large payload; writing through NULL is not.
    """
    return look.decided()


@rule(
    "mem.single-copy",
    "spec",
    "medium",
    "Memory Usage Analysis",
    applies=lambda look: (
        look.accepted and not look.seen.unmeasured and look.seen.output is not None and look.seen.output.size >= LARGE
    ),
)
def single_copy(look: Look) -> Ruling:
    """The peak memory of a read is about one payload (limit 1.25 times).

    The read callback exists so that the decrypted payload is in memory once.
    """
    size, memory = look.seen.output.size if look.seen.output else 0, look.seen.memory
    peak = max(memory.peak, memory.resident_peak)
    if peak > 1.25 * size + LARGE / 4:
        return Broken(
            f"a peak of at most 1.25 times {size} bytes",
            f"{memory.peak / size:.2f} times by allocator, {memory.resident_peak / size:.2f} times resident",
        )
    return HELD
