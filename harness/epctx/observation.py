"""Observations: everything that was seen while a case ran, as pure data, apart from what was expected and from what it means.

Made by ``epctx.run`` from the driver's reply, the watch and the comparison of the world before and after; judged by
``epctx.oracle``.
"""

from __future__ import annotations

import functools
import hashlib
import mmap
from typing import Literal, TypeAlias

from epctx.case import TAIL, Content, Sanitizer, Struct, stream
from epctx_driver import protocol

UNSAID = protocol.UNSAID
"""The code of a refusal that says none, as in Python."""

Place: TypeAlias = Literal["inside", "outside", "above"]
"""Where an entry lies: in the model directory, elsewhere in the world, or above the world's root (in its margin)."""


def digest(data: bytes | mmap.mmap) -> str:
    """The name of some bytes: the first half of their SHA-256, in hex."""
    return hashlib.sha256(data).hexdigest()[:32]


@functools.lru_cache(maxsize=4096)
def content_digest(content: Content) -> str:
    """The digest of a content, as ``digest`` would give it for all of its bytes; hashed in pieces, so a large one is fine."""
    if not content.sparse:
        return digest(stream(content.key, content.size))
    tail = stream(content.key, min(TAIL, content.size))
    state, hole, zeros = hashlib.sha256(), content.size - len(tail), bytes(1 << 20)
    while hole > 0:
        state.update(zeros[:hole])
        hole -= len(zeros)
    state.update(tail)
    return state.hexdigest()[:32]


class Touched(Struct, frozen=True):
    """An event on an entry: ``names`` are all world paths of that inode, or the path at which it appeared or went."""

    what: Literal["open", "create", "modify", "delete", "move", "attributes"]
    names: tuple[str, ...]
    place: Place


class State(Struct, frozen=True):
    """What was at a path: ``inode`` 0 and kind ``absent`` if nothing. ``digest`` is of a file's bytes, or a link's text."""

    kind: Literal["absent", "file", "dir", "link", "fifo", "socket", "device"] = "absent"
    inode: int = 0
    mode: int = 0
    size: int = 0
    digest: str = ""


class Change(Struct, frozen=True):
    """A difference between the world (or its margin) before and after a call."""

    path: str
    place: Place
    before: State
    after: State


class Output(Struct, frozen=True):
    """The output after the call. ``null`` is a NULL data pointer; ``adopted`` that it points to the buffer of the callback."""

    size: int
    digest: str
    null: bool = False
    adopted: bool = False


class Memory(Struct, frozen=True):
    """What the tracking allocator counted, from before the call until the output was destroyed (sizes in bytes)."""

    allocated: int = 0
    freed: int = 0
    live: int = 0
    bad_frees: int = 0
    """Frees of a pointer twice, of a foreign one, or through another allocator than the one that made it."""
    caller_allocated: int = 0
    """Allocations made through the allocator that the caller gave."""
    caller_released: bool = False
    """Whether the caller's allocator itself was released."""
    peak: int = 0
    resident_peak: int = 0
    """How far the resident memory of the process rose during the call; measured for large contents only, else 0."""
    largest: int = 0
    """The largest single request, answered or not."""
    statuses: int = 0
    statuses_released: int = 0
    bad_releases: int = 0


class CallbackSeen(Struct, frozen=True):
    """One invocation of a scripted callback."""

    direction: Literal["read", "write"]
    name: str
    """The name's bytes in hex."""
    size: int = 0
    """write: of the payload that it was given; read: what it said the size of its buffer is."""
    digest: str = ""
    """write: of the payload."""
    state_ok: bool = True
    """Whether the state was one that is registered with a callback of this direction."""
    allocator_ok: bool = True
    """read: whether the allocator was the one that the target was given, or else the default one."""
    null: bool = False
    """write: whether the buffer was NULL."""
    late: bool = False
    """Whether no call was in progress."""
    met: bool = False
    """Whether as many invocations were in flight as it waits for."""
    reentered: int | None = None
    """The code that came back from the call that it made on the target; None if it made none."""
    registration: int = 0
    """The number of the registration whose state it was given."""
    thread: int = 0
    """The number of its thread, in the order in which threads came."""
    started: float = 0.0
    """Seconds from the beginning of the call."""
    ended: float | None = None


Handed: TypeAlias = int | Literal["null", "untouched", "other"]
"""What an output argument holds after a step: the number of one of our functions or states, NULL, what it held, or neither."""


class StepSeen(Struct, frozen=True):
    """What came of one step of a ``config`` call; None for what it does not give."""

    code: int = 0
    """The member of OrtErrorCode, or UNSAID."""
    message: str = ""
    function: Handed | None = None
    state: Handed | None = None
    config: Literal["set", "null", "untouched"] | None = None
    states_kept: bool = True
    """Whether the memory of all states was as before; for the last step once everything was released."""
    grown: int = 0
    """cycle: bytes by which the heap grew."""


class RaceSeen(Struct, frozen=True):
    """How the rounds of a race ended, and how often (``turns``) the attacker changed something meanwhile."""

    rounds: int
    inside: int
    refused: int
    outside: int
    torn: int
    turns: int = 0


class ThreadsSeen(Struct, frozen=True):
    """How the calls of several threads ended: ``right``, with ``wrong`` bytes, or ``failed`` with the wrong status.

    ``crossed`` are callbacks that were given the state or the name of another call. Calls that end wrongly ``alone``, too, in a
    single thread, are counted there and nowhere else. ``most_in_flight`` is how many callbacks were at work at once.
    ``evidence`` tells the first thing that went wrong, in words.
    """

    calls: int
    right: int
    wrong: int
    failed: int
    crossed: int
    alone: int
    most_in_flight: int
    evidence: str = ""


class Report(Struct, frozen=True):
    """What a sanitizer reported during a call: its ``kind``, such as a data race, and a ``summary`` in a line.

    ``stack`` are the frames of the target, innermost first, each as ``function file:line``; all frames where none is its.
    ``other`` are those of the access, or the lock, that it collided with.
    """

    sanitizer: Sanitizer
    kind: str
    summary: str
    stack: tuple[str, ...] = ()
    other: tuple[str, ...] = ()


class Seen(Struct, frozen=True):
    """What was seen of one call."""

    ended: Literal["returned", "hang", "crash", "exception"]
    detail: str = ""
    """The signal, the exception's text, how a hang was ended, the last lines that the target printed."""
    code: int = 0
    message: str = ""
    """The status's text; bytes that are not UTF-8 as backslash escapes, control characters as they came."""
    output: Output | None = None
    """read: the output object after the call; None for a write and for a call that did not return."""
    reads: tuple[str, ...] = ()
    """World paths of the files whose whole content came back (known by digest), or, as a tensor, a part of it."""
    leaks: tuple[str, ...] = ()
    """World paths of files outside the model directory of which some bytes are in the output or the error text."""
    plaintext: tuple[str, ...] = ()
    """World paths at which plaintext was seen that is for callbacks alone (``Call.secrets``), at any time of the call; those that
    were gone when it ended say ``(deleted)``."""
    touched: tuple[Touched, ...] = ()
    changes: tuple[Change, ...] = ()
    memory: Memory = Memory()
    shown_by: Literal["bytes", "result", "open"] = "bytes"
    """What shows which file a read took: the bytes that came back; the result of a run of what it loaded; or, where nothing can
    be run, only that it was opened, which then counts as accepted."""
    unmeasured: bool = False
    """Whether what the target does with memory is not shown: by a session, or in Python."""
    callbacks: tuple[CallbackSeen, ...] = ()
    moves: tuple[str, ...] = ()
    """Which promises of a move were broken, in words."""
    race: RaceSeen | None = None
    threads: ThreadsSeen | None = None
    reports: tuple[Report, ...] = ()
    """What a sanitizer reported, each kind of report at each place once."""
    names: tuple[str, ...] = ()
    """load: the names, in hex, that the target asked for."""
    steps: tuple[StepSeen, ...] = ()
    """config: what came of each step."""
    seconds: float = 0.0


class Observation(Struct, frozen=True):
    """What was seen of one case: one ``Seen`` for each call that was made, the last of which may be the one that ended it.

    ``skipped`` is the reason why the case could not be run here, and ``error`` that the harness failed at it; both else empty.
    """

    case: str
    target: str
    root: str = ""
    """The real path of the world's root: what ``{root}`` stood for."""
    calls: tuple[Seen, ...] = ()
    skipped: str = ""
    error: str = ""
