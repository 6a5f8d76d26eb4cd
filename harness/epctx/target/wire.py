"""The messages of ``native/protocol.h`` in Python: a request is packed, a reply unpacked."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any, Literal

from epctx.case import Attribute, Call, Callback, Node, Step, Struct, raw, stream
from epctx.errors import HarnessError
from epctx.observation import Handed, StepSeen
from epctx_driver import protocol
from epctx_driver.protocol import field, fields


def script(callback: Callback, root: bytes) -> bytes:
    """A scripted callback: its fixed part, its content, the name that it re-enters with, its text."""
    content = callback.content
    data = b"" if content is None else stream(content.key, content.size)
    again = b"" if callback.reenters is None else raw(callback.reenters, root)
    flags = (protocol.HAS_CONTENT if content is not None else 0) | (protocol.NULL_STATE if callback.null_state else 0)
    reported = len(data) if callback.size is None else callback.size
    return (
        protocol.SCRIPT.pack(callback.code, flags, len(data), reported, callback.waits, len(again))
        + data
        + again
        + raw(callback.text)
    )


def threads(call: Call, names: Sequence[bytes]) -> bytes:
    """The script of a call of several threads, whose shares are called ``names``, as a field."""
    script, callbacks = call.threads, (call.read_callback, call.write_callback)
    assert script is not None
    own = [raw(share.name) for share in script.shares]
    reads, writes = (None if c is None or c.reenters is None else own.index(raw(c.reenters)) for c in callbacks)
    flags = protocol.READS_BY_CALLBACK if call.read_callback else 0
    flags |= (protocol.WRITES_BY_CALLBACK if call.write_callback else 0) | (
        protocol.CONFIG_FOR_EACH if script.configs == "each" else 0
    )
    parts = [
        protocol.THREADS_SCRIPT.pack(
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
        parts += [protocol.SHARE.pack(share.op == "write", share.content is None, len(name), len(data)), name, data]
    return field(protocol.THREADS, b"".join(parts))


def step(made: Step) -> bytes:
    """A step of a ``config`` call, as a field."""
    numbers = (-1 if n is None else n for n in (made.options, made.config, made.function, made.state))
    return field(protocol.STEP, protocol.STEP_BODY.pack(protocol.STEPS[made.do], *numbers, protocol.STEP_OUTPUTS[made.without]))


def step_seen(data: bytes) -> StepSeen:
    """What came of a step."""
    code, function, state, config, grown, kept, size = protocol.STEP_RESULT_BODY.unpack_from(data)
    text = data[protocol.STEP_RESULT_BODY.size : protocol.STEP_RESULT_BODY.size + size].decode("utf-8", "backslashreplace")
    taken: dict[int, Literal["set", "null", "untouched"]] = {0: "set", protocol.NULL: "null", protocol.UNTOUCHED: "untouched"}
    return StepSeen(code, text, _handed(function), _handed(state), taken.get(config), bool(kept), grown)


def _handed(value: int) -> Handed | None:
    named: dict[int, Handed | None] = {
        protocol.NULL: "null",
        protocol.UNTOUCHED: "untouched",
        protocol.OTHER: "other",
        protocol.NOT_ASKED: None,
    }
    return named.get(value, value)


def attribute(attr: Attribute) -> bytes:
    """A node's attribute as ONNX Runtime would type it."""
    name = attr.name.encode()
    if attr.text is not None:
        kind, value = protocol.STRING, raw(attr.text)
    elif attr.number is not None:
        kind, value = protocol.INT, struct.pack("<q", attr.number)
    elif attr.real is not None:
        kind, value = protocol.FLOAT, struct.pack("<f", attr.real)
    elif attr.texts is not None:
        texts = [raw(t) for t in attr.texts]
        kind, value = protocol.STRINGS, struct.pack("<I", len(texts)) + b"".join(struct.pack("<I", len(t)) + t for t in texts)
    elif attr.numbers is not None:
        kind, value = protocol.INTS, struct.pack(f"<I{len(attr.numbers)}q", len(attr.numbers), *attr.numbers)
    else:
        kind, value = protocol.UNDEFINED, b""
    return struct.pack("<II", kind, len(name)) + name + value


class Hello(Struct, frozen=True):
    """What a driver says about itself and its target when it is up. ``can`` holds read, write, fallback, load."""

    target: str
    ort: str
    can: frozenset[str]
    lent: bool = False
    """Whether it looks for functions that this ONNX Runtime does not have, and the driver lends them."""
    error: str = ""
    cannot: dict[str, str] = {}
    """What a target in Python says that it does not support, with its reasons."""


def hello(data: bytes) -> Hello:
    """Read the driver's hello (a whole message); HarnessError for another protocol."""
    texts: list[dict[str, Any]] = [json.loads(value) for value in fields(data, protocol.HEADER.size).get(protocol.HELLO_TEXT, [])]
    if len(texts) != 1 or texts[0].get("protocol") != protocol.PROTOCOL:
        raise HarnessError("The driver speaks another version of the protocol; remove the build cache and run again.")
    text = texts[0]
    return Hello(text["target"], text["ort"], frozenset(text["can"]), text["lent"], text["error"], text.get("cannot", {}))


def node(node: Node) -> bytes:
    """A node of the model, as a field that holds its domain, its type and its attributes as fields."""
    parts = [field(protocol.NODE_TEXT, node.domain.encode()), field(protocol.NODE_TEXT, node.op_type.encode())]
    parts += [field(protocol.ATTRIBUTE, attribute(a)) for a in node.attributes]
    return field(protocol.NODE, b"".join(parts))
