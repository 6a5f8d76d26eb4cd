"""A driver that is up: requests go out, replies come back. What a reply means for an observation is decided here, too."""

from __future__ import annotations

import functools
import mmap
import os
import select
import socket
import struct
import time
from collections.abc import Mapping, Sequence

from msgspec import UnsetType
from msgspec.structs import replace

from epctx.case import Call, Struct, raw, stream
from epctx.errors import HarnessError
from epctx.observation import CallbackSeen, Memory, Output, RaceSeen, Seen, ThreadsSeen, digest
from epctx.target import wire
from epctx_driver import protocol

LARGEST_MESSAGE = 1 << 26
"""No message has more bytes: large outputs go through bulk memory."""
BULK = 1 << 30
"""Size of the bulk memory, which takes room only where it is written."""
SMALL = 4096
"""Outputs of so many bytes are taken to come again, as those of a few files do."""
LOOK = 0.05
"""Seconds after which waiting for an answer is interrupted for a look at what the driver does."""


class Reply(Struct, frozen=True):
    """A driver's answer: the part of ``Seen`` that only it knows, the output's bytes, and whether ``held`` could not be had.

    ``fault`` is why it says nothing about the target, ``skipped`` that the target does not do what it was asked for, in words;
    usually nothing.
    """

    seen: Seen
    output: bytes | mmap.mmap
    not_held: bool
    fault: str = ""
    skipped: str = ""


class BadReply(HarnessError):
    """What came from the driver's process is no answer. Raised by ``Driver.reply``; it is as good as a crash."""


class Driver:
    """One running driver: its end of the socket and the bulk memory that both share."""

    def __init__(self, link: socket.socket, bulk: int) -> None:
        self.link, self.bulk = link, bulk
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, int(LOOK * 1e6)))
        self._received = bytearray()

    def hello(self, seconds: float) -> wire.Hello | None:
        """Wait for the driver's first words; None if it ended without any, HarnessError if it stays silent."""
        data = self.reply(seconds)
        if data is None:
            raise HarnessError(f"The driver did not come up within {seconds:g} s.")
        return wire.hello(data) if data else None

    def send(self, request: bytes) -> bool:
        """Send a request; False if the driver is gone."""
        try:
            self.link.sendall(request)
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def reply(self, seconds: float = LOOK) -> bytes | None:
        """The next answer, b"" if the driver is gone, None if none has come within ``seconds``.

        BadReply for what is no answer: the target shares the driver's process, and can write to any of its descriptors.
        """
        if seconds < LOOK and not self._received and not select.select([self.link], [], [], seconds)[0]:
            return None
        received, deadline = self._received, 0.0
        while len(received) < (size := self._wanted()):
            deadline = deadline or time.monotonic() + seconds
            try:
                part = self.link.recv(1 << 14)  # one system call, where a timeout in Python would take two
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    return None
                continue
            except ConnectionResetError:
                part = b""
            if not part:
                return b""
            received += part
        message = bytes(received[:size])
        del received[:size]
        return message

    def _wanted(self) -> int:
        """How many bytes of the next message are wanted before it can be taken. BadReply if it cannot be a message."""
        if len(self._received) < protocol.HEADER.size:
            return protocol.HEADER.size
        size, kind = protocol.HEADER.unpack_from(self._received)
        least = protocol.HEADER.size + (protocol.REPLY.size if kind == protocol.REPLY_KIND else 0)
        if kind not in (protocol.HELLO_KIND, protocol.REPLY_KIND) or not least <= size <= LARGEST_MESSAGE:
            raise BadReply(f"something else than the driver wrote to its socket (a message of kind {kind} with {size} bytes)")
        return int(size)


def request(
    call: Call,
    name: bytes | None,
    model_path: bytes,
    cwd: bytes,
    root: bytes,
    file_size: int | None,
    extra: bytes,
    bulk: int,
    *,
    ticket: int | None = None,
    afresh: bool = False,
) -> bytes:
    """The request for one call. ``name`` is the name as it was read back from the model, or as the caller gave it.

    ``model_path`` is what the runtime was given, ``cwd`` a real path, ``extra`` ready fields (a model's nodes, an interference).
    A payload of more than the inline limit is put into the bulk memory ``bulk``. The end of a call with a ``ticket`` is marked,
    and what comes late is not waited for here, but by that ticket (``await_late``). A driver in Python makes a call
    ``afresh``, and those after it, in a process that has made none.
    """
    parts: list[bytes] = [_same(protocol.CWD, cwd)]
    flags, size = _flags(call) | (protocol.AFRESH if afresh else 0), 0
    if ticket is not None:
        flags |= protocol.MARKED | (protocol.AWAITED if call.lingers else 0)
    if name is not None:
        parts.append(protocol.field(protocol.NAME, name))
    if call.source == "model":
        parts.append(_same(protocol.MODEL_PATH, model_path))
    if call.op == "write":
        if not isinstance(call.fallback, UnsetType) and call.fallback is not None:
            parts.append(protocol.field(protocol.FALLBACK, raw(call.fallback, root)))
        payload = call.payload
        if payload is None:
            size = call.null_size
        else:
            data, size = stream(payload.key, payload.size), payload.size
            if flags & protocol.PAYLOAD_IN_BULK:
                empty(bulk)
                _write_all(bulk, data)
            else:
                parts.append(protocol.field(protocol.PAYLOAD, data))
    if call.read_callback and not call.threads:
        parts.append(protocol.field(protocol.READ_CALLBACK, wire.script(call.read_callback, root)))
    if call.write_callback and not call.threads:
        parts.append(protocol.field(protocol.WRITE_CALLBACK, wire.script(call.write_callback, root)))
    parts += map(wire.step, call.steps)
    parts.append(extra)
    fixed = protocol.REQUEST.pack(
        protocol.OPS[call.op],
        flags,
        protocol.ALLOCATORS[call.allocator],
        ticket or 0,
        -1 if file_size is None else file_size,
        size,
    )
    return protocol.message(protocol.REQUEST_KIND, fixed + b"".join(parts))


_same = functools.lru_cache(maxsize=256)(protocol.field)
"""The fields that many requests have in common."""


def await_late(ticket: int) -> bytes:
    """The request that waits for callbacks that come late of an earlier call that lingers; those of later ones may follow."""
    return protocol.message(protocol.REQUEST_KIND, protocol.REQUEST.pack(protocol.AWAIT, 0, 0, ticket, -1, 0))


def _flags(call: Call) -> int:
    """What is particular about a call."""
    flags = protocol.GRAPH if call.source == "model" else 0
    if call.held:
        flags |= protocol.HELD
    if call.moves:
        flags |= protocol.MOVES
    if not call.accessors:
        flags |= protocol.NO_ACCESSORS
    if call.lingers:
        flags |= protocol.LINGERS
    if call.config:
        flags |= protocol.EMPTY_CONFIG
    if call.op == "write":
        if not isinstance(call.fallback, UnsetType):
            flags |= protocol.SEPARATE_FALLBACK
        if call.payload is None:
            flags |= protocol.NULL_PAYLOAD
        elif call.payload.size > protocol.INLINE_LIMIT:
            flags |= protocol.PAYLOAD_IN_BULK
    return flags


def empty(bulk: int) -> None:
    """Give back what the bulk memory holds, and it its size: a driver cannot let it grow while a case limits its files."""
    os.ftruncate(bulk, 0)
    os.ftruncate(bulk, BULK)


def _write_all(fd: int, data: bytes) -> None:
    done = 0
    while done < len(data):
        done += os.pwrite(fd, data[done:] if done else data, done)


def read_reply(call: Call, data: bytes, bulk: int) -> Reply:
    """What a reply says about a call: status, output, memory, callbacks. The output may be a view, valid until the next call."""
    flags, code, size, nanoseconds, *counts = protocol.REPLY.unpack_from(data, protocol.HEADER.size)
    allocated, freed, live, bad, caller, peak, largest, statuses, released, bad_releases = counts
    fields = protocol.fields(data, protocol.HEADER.size + protocol.REPLY.size)
    output: bytes | mmap.mmap = _first(fields, protocol.OUTPUT)
    if flags & protocol.OUTPUT_IN_BULK:
        output = _bulk_view(bulk, protocol.SIZE.unpack(output)[0])
    seen_output = None
    if call.op == "read" and not call.threads:
        small = isinstance(output, bytes) and len(output) <= SMALL
        seen_output = Output(
            size,
            _digest_of_small(output) if small else digest(output),
            bool(flags & protocol.OUTPUT_NULL),
            bool(flags & protocol.ADOPTED),
        )
    seen = Seen(
        "exception" if flags & protocol.THREW else "returned",
        code=code,
        message=_first(fields, protocol.MESSAGE).decode("utf-8", "backslashreplace"),
        output=seen_output,
        memory=Memory(
            allocated,
            freed,
            live,
            bad,
            caller,
            bool(flags & protocol.CALLER_RELEASED),
            peak,
            0,
            largest,
            statuses,
            released,
            bad_releases,
        ),
        seconds=nanoseconds / 1e9,
    )
    if fields.keys() <= _OF_PLAIN_READS:
        return Reply(seen, output, bool(flags & protocol.NOT_HELD))
    race, threads = _first(fields, protocol.RACE_COUNT), _first(fields, protocol.THREAD_COUNT)
    seen = replace(
        seen,
        detail=_first(fields, protocol.EXCEPTION).decode("utf-8", "backslashreplace"),
        callbacks=tuple([_callback(record, bulk) for record in fields.get(protocol.CALLBACK, ())]),
        moves=tuple(map(bytes.decode, fields.get(protocol.MOVE_FAULT, ()))),
        race=RaceSeen(*protocol.RACE_COUNTS.unpack(race)) if race else None,
        threads=_threads(threads) if threads else None,
        names=tuple(map(bytes.hex, fields.get(protocol.LOADED_NAME, ()))),
        steps=tuple(map(wire.step_seen, fields.get(protocol.STEP_RESULT, ()))),
    )
    if protocol.DIED in fields:
        seen = replace(seen, ended="crash", detail=_first(fields, protocol.DIED).decode(), output=None)
    fault, skipped = (_first(fields, tag).decode() for tag in (protocol.SESSION_FAULT, protocol.SKIPPED))
    return Reply(seen, output, bool(flags & protocol.NOT_HELD), fault, skipped)


_digest_of_small = functools.lru_cache(maxsize=1024)(digest)


def callbacks_in(data: bytes, bulk: int) -> tuple[CallbackSeen, ...]:
    """The callbacks that a reply tells of."""
    fields = protocol.fields(data, protocol.HEADER.size + protocol.REPLY.size)
    return tuple([_callback(record, bulk) for record in fields.get(protocol.CALLBACK, ())])


_OF_PLAIN_READS = {protocol.OUTPUT, protocol.MESSAGE}
"""The tags of the fields that most replies have, and no others."""


def _first(fields: Mapping[int, Sequence[bytes]], tag: int) -> bytes:
    """The first field with a tag; empty if there is none."""
    return fields[tag][0] if tag in fields else b""


def _bulk_view(bulk: int, size: int) -> mmap.mmap:
    return mmap.mmap(bulk, size, access=mmap.ACCESS_READ)


def _threads(data: bytes) -> ThreadsSeen:
    words = data[protocol.THREAD_COUNTS.size :].decode("utf-8", "backslashreplace")
    calls, right, wrong, failed, crossed, alone, most, _ = protocol.THREAD_COUNTS.unpack_from(data)
    return ThreadsSeen(calls, right, wrong, failed, crossed, alone, most, words)


def _callback(data: bytes, bulk: int) -> CallbackSeen:
    direction, flags, size, offset, started, ended, registration, thread, reentered, name_size = protocol.RECORD.unpack_from(data)
    name = data[protocol.RECORD.size : protocol.RECORD.size + name_size]
    payload = os.pread(bulk, size, offset) if flags & protocol.IN_BULK else data[protocol.RECORD.size + name_size :]
    return CallbackSeen(
        "write" if direction else "read",
        name.hex(),
        size,
        digest(payload) if direction and len(payload) == size else "",
        state_ok=bool(flags & protocol.STATE_OK),
        allocator_ok=bool(flags & protocol.ALLOCATOR_OK),
        null=bool(flags & protocol.NULL_BUFFER),
        late=bool(flags & protocol.LATE),
        met=bool(flags & protocol.MET),
        reentered=None if reentered < 0 else reentered,
        registration=registration,
        thread=thread,
        started=started / 1e9,
        ended=ended / 1e9 if ended else None,
    )
