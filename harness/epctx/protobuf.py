"""Fields of protobuf messages as bytes, where a text holds what the protobuf package refuses.

A message that follows another one of its type adds to it, so a field can be added to what that package has serialised.
"""

from __future__ import annotations

DELIMITED = 2
"""The wire type of texts, bytes and messages."""


def field(message: type, name: str, value: bytes) -> bytes:
    """The field ``name`` of a ``message`` with a value that is text, bytes or a serialised message."""
    number: int = message.DESCRIPTOR.fields_by_name[name].number  # type: ignore[attr-defined]
    return _varint(number << 3 | DELIMITED) + _varint(len(value)) + value


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
