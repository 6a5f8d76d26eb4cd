"""The messages of ``epctx/native/protocol.h`` as numbers and plain structures, for both sides of the link."""

from __future__ import annotations

import struct

PROTOCOL = 2
INLINE_LIMIT = 96 * 1024
"""Payloads and outputs of more bytes go through bulk memory."""

HEADER = struct.Struct("<II")
FIELD = struct.Struct("<II")
REQUEST = struct.Struct("<IIIIqQ")
SCRIPT = struct.Struct("<iIQQII")
RECORD = struct.Struct("<IIQQQQIIiI")
SIZE = struct.Struct("<Q")
RACE_PLAN = struct.Struct("<III")
RACE_KINDS = {"exchange": 0, "move": 1, "chdir": 2}
RACE_COUNTS = struct.Struct("<6I")
THREADS_SCRIPT = struct.Struct("<6I2i")
SHARE = struct.Struct("<4I")
THREAD_COUNTS = struct.Struct("<8I")
REPLY = struct.Struct("<Ii12Q")

STEP_BODY = struct.Struct("<I5i")
STEP_RESULT_BODY = struct.Struct("<4iQII")

HELLO_KIND, REQUEST_KIND, REPLY_KIND = 0, 1, 2

OPS = {"read": 1, "write": 2, "load": 3, "config": 4}
AWAIT = 5
"""The operation that waits for what comes late of an earlier call."""
GRAPH, HELD, MOVES, SEPARATE_FALLBACK, PAYLOAD_IN_BULK, NULL_PAYLOAD, NO_ACCESSORS, LINGERS, EMPTY_CONFIG, EMBEDS, RUNS = (
    1 << n for n in range(11)
)
MARKED, AWAITED = 1 << 12, 1 << 13
AFRESH = 1 << 11
"""The first call of a case, that and those after it to be made in a process that has made none: for drivers in Python."""
HAS_CONTENT, NULL_STATE = (1 << n for n in range(2))
READS_BY_CALLBACK, WRITES_BY_CALLBACK, CONFIG_FOR_EACH = (1 << n for n in range(3))
ALLOCATORS = {"default": 0, "caller": 1, "null": 2, "error": 3}

(
    NAME,
    FALLBACK,
    MODEL_PATH,
    PAYLOAD,
    READ_CALLBACK,
    WRITE_CALLBACK,
    RESIZE,
    RACE,
    RACE_INSIDE,
    NODE,
    NODE_TEXT,
    ATTRIBUTE,
    CWD,
    THREADS,
) = range(1, 15)
SESSION_MODEL, SESSION_OPTION = 16, 17
(HELLO_TEXT, MESSAGE, OUTPUT, EXCEPTION, CALLBACK, MOVE_FAULT, RACE_COUNT, LOADED_NAME) = range(32, 40)
THREAD_COUNT, SESSION_FAULT = 40, 42
STEP, STEP_RESULT = 15, 41
SKIPPED, DIED = 43, 44
EMULATED_WORLD, EMULATED_SEEN = 18, 45
"""What a world is on an emulated file system, and what is seen of it, in JSON: only of drivers in Python."""
UNSAID = -1
"""The code of a refusal that says none."""

STATE_OK, ALLOCATOR_OK, LATE, MET, NULL_BUFFER, IN_BULK = (1 << n for n in range(6))
OUTPUT_IN_BULK, OUTPUT_NULL, ADOPTED, THREW, NOT_HELD, CALLER_RELEASED = (1 << n for n in range(6))

UNDEFINED, INT, INTS, FLOAT, FLOATS, STRING, STRINGS = range(7)
"""Members of OrtOpAttrType."""


_PADDING = [bytes(-size % 8) for size in range(8)]


def field(tag: int, data: bytes) -> bytes:
    """One field, padded to a multiple of 8 bytes."""
    return FIELD.pack(tag, len(data)) + data + _PADDING[len(data) % 8]


def message(kind: int, body: bytes) -> bytes:
    """A whole message: header and body."""
    return HEADER.pack(HEADER.size + len(body), kind) + body


def fields(data: bytes, offset: int) -> dict[int, list[bytes]]:
    """The fields of a message from ``offset`` on, by tag, in order; ValueError if they do not fill it exactly."""
    found: dict[int, list[bytes]] = {}
    end = len(data)
    while offset < end:
        tag, size = FIELD.unpack_from(data, offset)
        offset += FIELD.size
        if offset + size > end:
            raise ValueError(f"a message has a field {tag} of {size} bytes that it has no room for")
        found.setdefault(tag, []).append(data[offset : offset + size])
        offset += size + -size % 8
    return found


STEPS = {
    do: n
    for n, do in enumerate(
        ("set-read", "set-write", "take", "get-read", "get-write", "release-config", "release-options", "cycle")
    )
}
STEP_OUTPUTS = {"": -1, "config": 0, "function": 1, "state": 2}
NULL, UNTOUCHED, OTHER, NOT_ASKED = -1, -2, -3, -4
"""What a step's output is where it is not one of ours."""
