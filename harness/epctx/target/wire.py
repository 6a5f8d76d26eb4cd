"""The messages of ``native/protocol.h`` in Python: a request is packed, a reply unpacked."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from epctx.case import Attribute, Call, Callback, Node, Step, Struct, raw, stream
from epctx.errors import HarnessError
from epctx.observation import Handed, StepSeen

PROTOCOL = 2
INLINE_LIMIT = 32 * 1024
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
GRAPH, HELD, MOVES, SEPARATE_FALLBACK, PAYLOAD_IN_BULK, NULL_PAYLOAD, NO_ACCESSORS, LINGERS, EMPTY_CONFIG, EMBEDS, RUNS = (
    1 << n for n in range(11)
)
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

STATE_OK, ALLOCATOR_OK, LATE, MET, NULL_BUFFER, IN_BULK = (1 << n for n in range(6))
OUTPUT_IN_BULK, OUTPUT_NULL, ADOPTED, THREW, NOT_HELD, CALLER_RELEASED = (1 << n for n in range(6))

UNDEFINED, INT, INTS, FLOAT, FLOATS, STRING, STRINGS = range(7)
"""Members of OrtOpAttrType."""


def field(tag: int, data: bytes) -> bytes:
    """One field, padded to a multiple of 8 bytes."""
    size = len(data)
    return FIELD.pack(tag, size) + data + b"\0" * (-size % 8)


def message(kind: int, body: bytes) -> bytes:
    """A whole message: header and body."""
    return HEADER.pack(HEADER.size + len(body), kind) + body


def script(callback: Callback, root: bytes) -> bytes:
    """A scripted callback: its fixed part, its content, the name that it re-enters with, its text."""
    content = callback.content
    data = b"" if content is None else stream(content.key, content.size)
    again = b"" if callback.reenters is None else raw(callback.reenters, root)
    flags = (HAS_CONTENT if content is not None else 0) | (NULL_STATE if callback.null_state else 0)
    reported = len(data) if callback.size is None else callback.size
    return SCRIPT.pack(callback.code, flags, len(data), reported, callback.waits, len(again)) + data + again + raw(callback.text)


def threads(call: Call, names: Sequence[bytes]) -> bytes:
    """The script of a call of several threads, whose shares are called ``names``, as a field."""
    script, callbacks = call.threads, (call.read_callback, call.write_callback)
    assert script is not None
    own = [raw(share.name) for share in script.shares]
    reads, writes = (None if c is None or c.reenters is None else own.index(raw(c.reenters)) for c in callbacks)
    flags = READS_BY_CALLBACK if call.read_callback else 0
    flags |= (WRITES_BY_CALLBACK if call.write_callback else 0) | (CONFIG_FOR_EACH if script.configs == "each" else 0)
    parts = [
        THREADS_SCRIPT.pack(
            script.count,
            script.rounds,
            flags,
            len(own),
            *(callback.waits if callback else 0 for callback in callbacks),
            *(-1 if index is None else index for index in (reads, writes)),
        )
    ]
    for share, name in zip(script.shares, names, strict=True):
        data = b"" if share.content is None else stream(share.content.key, share.content.size)
        parts += [SHARE.pack(share.op == "write", share.content is None, len(name), len(data)), name, data]
    return field(THREADS, b"".join(parts))


STEPS = {
    do: n
    for n, do in enumerate(
        ("set-read", "set-write", "take", "get-read", "get-write", "release-config", "release-options", "cycle")
    )
}
STEP_OUTPUTS = {"": -1, "config": 0, "function": 1, "state": 2}
NULL, UNTOUCHED, OTHER, NOT_ASKED = -1, -2, -3, -4
"""What a step's output is where it is not one of ours."""


def step(made: Step) -> bytes:
    """A step of a ``config`` call, as a field."""
    numbers = (-1 if n is None else n for n in (made.options, made.config, made.function, made.state))
    return field(STEP, STEP_BODY.pack(STEPS[made.do], *numbers, STEP_OUTPUTS[made.without]))


def step_seen(data: bytes) -> StepSeen:
    """What came of a step."""
    code, function, state, config, grown, kept, size = STEP_RESULT_BODY.unpack_from(data)
    text = data[STEP_RESULT_BODY.size : STEP_RESULT_BODY.size + size].decode("utf-8", "backslashreplace")
    taken: dict[int, Literal["set", "null", "untouched"]] = {0: "set", NULL: "null", UNTOUCHED: "untouched"}
    return StepSeen(code, text, _handed(function), _handed(state), taken.get(config), bool(kept), grown)


def _handed(value: int) -> Handed | None:
    named: dict[int, Handed | None] = {NULL: "null", UNTOUCHED: "untouched", OTHER: "other", NOT_ASKED: None}
    return named.get(value, value)


def attribute(attr: Attribute) -> bytes:
    """A node's attribute as ONNX Runtime would type it."""
    name = attr.name.encode()
    if attr.text is not None:
        kind, value = STRING, raw(attr.text)
    elif attr.number is not None:
        kind, value = INT, struct.pack("<q", attr.number)
    elif attr.real is not None:
        kind, value = FLOAT, struct.pack("<f", attr.real)
    elif attr.texts is not None:
        texts = [raw(t) for t in attr.texts]
        kind, value = STRINGS, struct.pack("<I", len(texts)) + b"".join(struct.pack("<I", len(t)) + t for t in texts)
    elif attr.numbers is not None:
        kind, value = INTS, struct.pack(f"<I{len(attr.numbers)}q", len(attr.numbers), *attr.numbers)
    else:
        kind, value = UNDEFINED, b""
    return struct.pack("<II", kind, len(name)) + name + value


def fields(data: bytes, offset: int) -> Iterator[tuple[int, bytes]]:
    """The fields of a message from ``offset`` on; HarnessError if they do not fill it exactly."""
    end = len(data)
    while offset < end:
        tag, size = FIELD.unpack_from(data, offset)
        offset += FIELD.size
        if offset + size > end:
            raise HarnessError(f"The driver sent a field {tag} of {size} bytes that its message has no room for.")
        yield tag, data[offset : offset + size]
        offset += size + -size % 8


class Hello(Struct, frozen=True):
    """What a driver says about itself and its target when it is up. ``can`` holds read, write, fallback, load."""

    target: str
    ort: str
    can: frozenset[str]
    lent: bool = False
    """Whether it looks for functions that this ONNX Runtime does not have, and the driver lends them."""
    error: str = ""


def hello(data: bytes) -> Hello:
    """Read the driver's hello (a whole message); HarnessError for another protocol."""
    texts: list[dict[str, Any]] = [json.loads(value) for tag, value in fields(data, HEADER.size) if tag == HELLO_TEXT]
    if len(texts) != 1 or texts[0].get("protocol") != PROTOCOL:
        raise HarnessError("The driver speaks another version of the protocol; remove the build cache and run again.")
    text = texts[0]
    return Hello(text["target"], text["ort"], frozenset(text["can"]), text["lent"], text["error"])


def node(node: Node) -> bytes:
    """A node of the model, as a field that holds its domain, its type and its attributes as fields."""
    parts = [field(NODE_TEXT, node.domain.encode()), field(NODE_TEXT, node.op_type.encode())]
    parts += [field(ATTRIBUTE, attribute(a)) for a in node.attributes]
    return field(NODE, b"".join(parts))
