"""The application of a call: callbacks that answer as their scripts say, and a record of how they were called.

What ``epctx/native/driver/callbacks.h`` is for targets of native code.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from epctx_driver import protocol
from epctx_driver.adapter import Buffer, Refused
from epctx_driver.protocol import field
from epctx_driver.serve import put_bulk

PATIENCE, LINGER, TURN = 0.5, 0.1, 0.05
"""Seconds that a callback waits for others, and that the driver stays to see a late one; both sleep in short turns, so that they
are not taken for a call that is blocked."""
NONE = -1
"""The code of a call that a callback did not make."""


class Script(NamedTuple):
    """What a callback does: it answers with ``content`` or a refusal, once it ``waits`` no more, and called the target again."""

    code: int
    content: bytes
    waits: int
    reenters: str
    text: str


def script(data: bytes) -> Script:
    """A script as it is in a request."""
    code, _, size, _, waits, again = protocol.SCRIPT.unpack_from(data)
    start = protocol.SCRIPT.size
    name, text = data[start + size : start + size + again], data[start + size + again :]
    return Script(code, data[start : start + size], waits, os.fsdecode(name), os.fsdecode(text))


class Record:
    """One invocation."""

    def __init__(self, write: bool, name: bytes, started: int, thread: int, late: bool) -> None:
        self.write, self.name, self.started, self.thread = write, name, started, thread
        self.flags = protocol.STATE_OK | protocol.ALLOCATOR_OK | (protocol.LATE if late else 0)
        self.size, self.offset, self.ended, self.reentered = 0, 0, 0, NONE
        self.payload = b""

    def packed(self) -> bytes:
        """The record as it is in a reply."""
        numbers = (self.size, self.offset, self.started, self.ended, 0, self.thread, self.reentered, len(self.name))
        return field(protocol.CALLBACK, protocol.RECORD.pack(self.write, self.flags, *numbers) + self.name + self.payload)


class Application:
    """Who makes a call on a target, and answers its callbacks.

    ``again`` calls the target once more, from within a callback: with whether that is a write, the name, and the payload; the
    code that comes back. ``bulk`` is how much of the shared memory is taken already.
    """

    def __init__(
        self, read: Script | None, write: Script | None, again: Callable[[bool, str, bytes], int], bulk: int = 0
    ) -> None:
        self._scripts, self._again, self._bulk = (read, write), again, bulk
        self._changed = threading.Condition()
        self._records: list[Record] = []
        self._threads: list[int] = []
        self._start, self._calls, self._in_flight, self._most = time.perf_counter_ns(), 0, 0, 0
        self._within = threading.local()

    def __enter__(self) -> Application:
        """Begin a call."""
        with self._changed:
            self._start, self._calls = time.perf_counter_ns(), self._calls + 1
        return self

    def __exit__(self, *exc: object) -> None:
        with self._changed:
            self._calls -= 1

    def read(self, name: str) -> bytes:
        """The callback for reads."""
        record = self._begin(False, name)
        try:
            if record.flags & protocol.LATE:
                return b""
            script = self._script(False)
            record.size = len(script.content)
            self._wait_and_call_again(record, script, name, b"")
            if script.code:
                raise Refused(script.code, script.text)
            return script.content
        finally:
            self._end(record)

    def write(self, name: str, data: Buffer) -> None:
        """The callback for writes."""
        record, given = self._begin(True, name), bytes(data)
        try:
            record.size = len(given)
            self._keep(record, given)
            if record.flags & protocol.LATE:
                return
            script = self._script(True)
            self._wait_and_call_again(record, script, name, given)
            if script.code:
                raise Refused(script.code, script.text)
        finally:
            self._end(record)

    def linger(self) -> None:
        """Stay for a moment, or until a callback came late."""
        end = time.monotonic() + LINGER
        with self._changed:
            while not any(r.flags & protocol.LATE for r in self._records) and (left := end - time.monotonic()) > 0:
                self._changed.wait(min(left, TURN))

    def records(self) -> bytes:
        """All invocations until now, as fields of a reply."""
        with self._changed:
            return b"".join([record.packed() for record in self._records])

    def _script(self, write: bool) -> Script:
        found = self._scripts[write]
        assert found, "a callback is given only where there is a script for it"
        return found

    def _begin(self, write: bool, name: str) -> Record:
        asked, thread = os.fsencode(name), threading.get_ident()
        with self._changed:
            if thread not in self._threads:
                self._threads.append(thread)
            record = Record(write, asked, self._now(), self._threads.index(thread), not self._calls)
            self._records.append(record)
            self._in_flight += 1
            self._most = max(self._most, self._in_flight)
            self._changed.notify_all()
        return record

    def _end(self, record: Record) -> None:
        with self._changed:
            self._in_flight -= 1
            record.ended = self._now()

    def _now(self) -> int:
        return time.perf_counter_ns() - self._start

    def _keep(self, record: Record, data: bytes) -> None:
        if len(data) <= protocol.INLINE_LIMIT:
            record.payload = data
            return
        with self._changed:
            record.offset, self._bulk = self._bulk, self._bulk + len(data)
        put_bulk(data, record.offset)
        record.flags |= protocol.IN_BULK

    def _wait_and_call_again(self, record: Record, script: Script, name: str, data: bytes) -> None:
        if script.waits > 1:
            self._meet(record, script.waits)
        if not script.reenters or name == script.reenters or getattr(self._within, "callback", False):
            return
        self._within.callback = True
        try:
            record.reentered = self._again(record.write, script.reenters, data)
        finally:
            self._within.callback = False

    def _meet(self, record: Record, wanted: int) -> None:
        end = time.monotonic() + PATIENCE
        with self._changed:
            while self._most < wanted and (left := end - time.monotonic()) > 0:
                self._changed.wait(min(left, TURN))
            if self._most >= wanted:
                record.flags |= protocol.MET
