"""Several threads that call an adapter at once, and the application that answers all of them.

What ``epctx/native/driver/threads.h`` is for targets of native code: each thread makes its calls on *shares*, names whose
contents differ, and what it gets is held against the share that it is at.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from epctx_driver import protocol
from epctx_driver.adapter import FAIL, Buffer, ReadCallback, Refused, WriteCallback
from epctx_driver.ending import Ending

PATIENCE, TURN = 0.5, 0.0001
"""Seconds that a callback waits for others, and between two looks. One that waited in vain is enough: those after it do not."""
SWITCH = 1e-5
"""Seconds after which another thread has its turn, so that they meet where they can."""
SHOWN = 80


class Share(NamedTuple):
    """What a thread does in a round: it reads ``content`` at ``name``, or writes it there; one that is ``refused`` must be."""

    writes: bool
    refused: bool
    name: str
    content: bytes

    def __str__(self) -> str:
        return f"a {'write' if self.writes else 'read'} of {_quoted(self.name)}"


Make = Callable[[Share, ReadCallback | None, WriteCallback | None], Ending]
"""Makes the call of a share, with callbacks."""


@dataclass
class Faults:
    """How the calls of a share ended that did not end as it says, and the first of them in words."""

    wrong: int = 0
    failed: int = 0
    crossed: int = 0
    evidence: str = ""

    def note(self, kind: str, words: str) -> None:
        """Count one more."""
        setattr(self, kind, getattr(self, kind) + 1)
        self.evidence = self.evidence or words

    def add(self, other: Faults) -> None:
        """Count those of another thread, too."""
        self.wrong, self.failed = self.wrong + other.wrong, self.failed + other.failed
        self.crossed, self.evidence = self.crossed + other.crossed, self.evidence or other.evidence


@dataclass
class Tally:
    """What a thread finds."""

    shares: int
    calls: int = 0
    right: int = 0
    faults: list[Faults] = field(default_factory=list)
    other: bytes = b""
    flags: int = 0

    def __post_init__(self) -> None:
        self.faults = [Faults() for _ in range(self.shares)]


@dataclass
class Turn:
    """What a thread is at: a share with the number of its config. ``within`` a callback it calls the target no more."""

    share: Share
    config: int
    tally: Tally
    faults: Faults
    within: bool
    came: bool = False
    wrong: str = ""


class Threads:
    """The threads of one request. What they find is kept apart by thread, and put together when all are done."""

    def __init__(self, data: bytes, make: Make) -> None:
        fixed = protocol.THREADS_SCRIPT.unpack_from(data)
        self._count, self._rounds, self._flags, count, *self._waits, read_again, write_again = fixed
        self._again = (read_again, write_again)
        self._shares, offset = [], protocol.THREADS_SCRIPT.size
        for _ in range(count):
            writes, refused, name, content = protocol.SHARE.unpack_from(data, offset)
            start = offset + protocol.SHARE.size
            offset = start + name + content
            self._shares.append(
                Share(bool(writes), bool(refused), os.fsdecode(data[start : start + name]), data[offset - content : offset])
            )
        self._make_call = make
        self._at = threading.local()
        self._counting = threading.Lock()
        self._in_flight = self._most = 0
        self._waited_in_vain = self._met_stranger = False

    def run(self) -> bytes:
        """Make all calls; what came of them, as fields of a reply, and how one ended that was no call."""
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        try:
            tallies = self._tallies()
        finally:
            sys.setswitchinterval(before)
        counts = dict.fromkeys(("wrong", "failed", "crossed", "alone"), 0)
        evidence, self.flags = "", 0
        for tally in tallies:
            self.flags |= tally.flags
        other = b"".join(dict.fromkeys(tally.other for tally in tallies))
        for index in range(len(self._shares)):
            faults = Faults()
            for tally in tallies:
                faults.add(tally.faults[index])
            if not (faults.wrong or faults.failed or faults.crossed):
                continue
            if not other and self._ends_so_alone(index):
                counts["alone"] += faults.wrong + faults.failed
                continue
            for kind in ("wrong", "failed", "crossed"):
                counts[kind] += getattr(faults, kind)
            evidence = evidence or faults.evidence
        numbers = (sum(tally.calls for tally in tallies), sum(tally.right for tally in tallies), *counts.values(), self._most, 0)
        words = evidence.encode("utf-8", "surrogateescape")
        return protocol.field(protocol.THREAD_COUNT, protocol.THREAD_COUNTS.pack(*numbers) + words) + other

    def _tallies(self) -> list[Tally]:
        tallies = [Tally(len(self._shares)) for _ in range(self._count)]
        together = threading.Barrier(self._count)
        threads = [threading.Thread(target=self._work, args=(n, tally, together)) for n, tally in enumerate(tallies)]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():  # in turns, so that this is not taken for a call that is blocked
                thread.join(0.05)
        return tallies

    def _work(self, number: int, tally: Tally, together: threading.Barrier) -> None:
        together.wait()
        for turn in range(self._rounds):
            if tally.other:
                return
            self._make((number + turn * self._count) % len(self._shares), tally, within=False)

    def _make(self, index: int, tally: Tally, *, within: bool) -> None:
        share = self._shares[index]
        config = index if self._flags & protocol.CONFIG_FOR_EACH else 0
        turn = Turn(share, config, tally, tally.faults[index], within)
        before, self._at.turn = getattr(self._at, "turn", None), turn
        ending = self._make_call(share, *self._callbacks(config))
        self._at.turn = before
        tally.calls += 1
        if ending.other:
            tally.other, tally.flags = ending.other, ending.flags
            return
        if not share.writes and not ending.code and ending.output != share.content:
            turn.wrong = f" had {self._words_on(bytes(ending.output))}"
        by_callback = self._flags & protocol.WRITES_BY_CALLBACK
        if share.writes and by_callback and not turn.came and not self._met_stranger:
            turn.wrong = " was accepted without its callback"
        if ending.code and not share.refused:
            turn.faults.note("failed", f"{share} was refused: {ending.text}")
        elif share.refused and not ending.code:
            turn.faults.note("failed", f"{share} was accepted")
        elif turn.wrong and not share.refused:
            turn.faults.note("wrong", f"{share}{turn.wrong}")
        else:
            tally.right += 1

    def _ends_so_alone(self, index: int) -> bool:
        """Whether the call of a share, made once more and by itself, does not end as it should either: then other threads are not
        to blame."""
        self._waited_in_vain = True
        tally = Tally(len(self._shares))
        self._make(index, tally, within=True)
        return bool(tally.other) or tally.right < tally.calls

    # --- the application ----------------------------------------------------------------------------------------------------

    def _callbacks(self, config: int) -> tuple[ReadCallback | None, WriteCallback | None]:
        """The callbacks that are registered with a config, which they know in place of a state."""

        def read(name: str) -> bytes:
            self._answer(False, config, name)
            for share in self._shares:
                if not share.writes and share.name == name:
                    return share.content
            raise Refused(FAIL, "the application has nothing of that name")

        def write(name: str, data: Buffer) -> None:
            self._answer(True, config, name)
            turn: Turn | None = getattr(self._at, "turn", None)
            if turn is not None:
                turn.came = True
                if data != turn.share.content:
                    turn.wrong = f" gave its callback {self._words_on(bytes(data))}"

        reads, writes = self._flags & protocol.READS_BY_CALLBACK, self._flags & protocol.WRITES_BY_CALLBACK
        return read if reads else None, write if writes else None

    def _answer(self, writes: bool, config: int, name: str) -> None:
        """What every callback does before it answers."""
        with self._counting:
            self._in_flight += 1
            self._most = max(self._most, self._in_flight)
        try:
            turn: Turn | None = getattr(self._at, "turn", None)
            self._compare(turn, "write" if writes else "read", config, name)
            self._await(self._waits[writes])
            again = self._again[writes]
            if again >= 0 and turn is not None and not turn.within:
                self._make(again, turn.tally, within=True)
        finally:
            with self._counting:
                self._in_flight -= 1

    def _compare(self, turn: Turn | None, direction: str, config: int, name: str) -> None:
        """Hold what a callback was given against what its thread is at."""
        if turn is None:  # a thread of the target's own
            self._met_stranger = True
        elif (config, name) != (turn.config, turn.share.name):
            given = f"for {_quoted(name)}" if config == turn.config else f"of {_quoted(self._shares[config].name)}"
            turn.faults.note("crossed", f"{turn.share} had its {direction} callback called {given}")

    def _await(self, wanted: int) -> None:
        """Wait until so many callbacks were at work at once."""
        end = time.monotonic() + PATIENCE
        while self._most < wanted and not self._waited_in_vain:
            if time.monotonic() > end:
                self._waited_in_vain = True
            time.sleep(TURN)

    def _words_on(self, data: bytes) -> str:
        for share in self._shares:
            if share.content == data:
                return f"the bytes of {_quoted(share.name)}"
        return f"{len(data)} bytes that are no share's"


def _quoted(name: str) -> str:
    return f'"{name[:SHOWN]}"'
