"""The messages between epctx and a program under test, one JSON object on each line: what they hold, read and written.

``docs/reference/exec.md`` tells how a conversation goes; ``docs/schema/exec.schema.json`` is made of these classes.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import functools
import json
import types
import typing
from dataclasses import MISSING, dataclass
from typing import Annotated, Any, Literal, NoReturn, TypeAlias

PROTOCOL = 1
"""The version that this release speaks."""

LONGEST_LINE = 96 << 20
"""Bytes of the longest line, without its end."""

LARGEST_PAYLOAD = 64 << 20
"""Bytes of the largest payload for which a line has room."""

SHOWN = 160
"""So many characters of a line are shown where something is wrong with it."""


@dataclass(frozen=True)
class Encoded:
    """A name that is no text, or a trouble to some who read text: bytes that are not UTF-8, or hold a NUL."""

    base64: bytes


Name: TypeAlias = str | Encoded
"""Any bytes: a string wherever they are UTF-8 without a NUL, else ``Encoded``; so each name is written in one way."""

Feature: TypeAlias = Literal["callbacks", "fallback", "trusted"]
Operation: TypeAlias = Literal["read", "write"]


@dataclass(frozen=True)
class Hello:
    """The first message, in both directions: the program answers that of epctx with its own."""

    protocol: Annotated[int, "The version of this protocol that the sender speaks."]


@dataclass(frozen=True)
class Describe:
    """epctx asks the program what it is."""


@dataclass(frozen=True)
class Description:
    """The program's answer to ``describe``."""

    target: Annotated[str, "What it is, with its version, in words."]
    can: Annotated[tuple[Operation, ...], "The operations that it has."]
    unsupported: Annotated[
        dict[Feature, str],
        "What it cannot do, with the reason: calls with callbacks, writes with a name of their own for the file (fallback), "
        "names from the application itself (trusted). Cases that need that are skipped.",
    ] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """epctx asks for a read or a write. The answer is a result, an error or a skip; before it there may be callbacks."""

    id: Annotated[int, "The number of the call, which is in all that belongs to it."]
    op: Annotated[Operation, "Whether the content for the name is read, or written."]
    name: Annotated[Name, "The name of the data, as the model or the application has it. It may hold anything."]
    model: Annotated[
        Name | None,
        "The path of the model, as the runtime was given it: absolute, relative, or bare. null: the model came from memory, and "
        "has no directory.",
    ]
    trusted: Annotated[
        bool, "Whether the name comes from the application itself, and so is not confined to the model's directory."
    ]
    cwd: Annotated[Name, "The working directory, an absolute path: the program goes there before it makes the call."]
    callback: Annotated[bool, "Whether the application has a callback for this operation, which then takes the place of a file."]
    payload: Annotated[bytes | None, "write: the content, in base64."] = None
    fallback: Annotated[Name | None, "write: the name of the file, where it is not that of the data."] = None


@dataclass(frozen=True)
class Callback:
    """The program calls the application's callback, within a call. The answer is a result or an error."""

    id: Annotated[int, "The number of the call."]
    name: Annotated[Name, "The name that the callback is given."]
    payload: Annotated[bytes | None, "write: the content that it is given, in base64."] = None


@dataclass(frozen=True)
class Result:
    """What was asked for was done: the program answers a call, or epctx a callback."""

    id: Annotated[int, "The number of the call."]
    payload: Annotated[bytes | None, "read: the content, in base64; empty for an empty content."] = None


@dataclass(frozen=True)
class Error:
    """What was asked for was refused, or failed: the program answers a call, or epctx a callback.

    Without ``id`` the program says why it cannot work at all, in place of its hello or its description.
    """

    text: Annotated[str, "Why, in words."]
    id: Annotated[int | None, "The number of the call."] = None
    code: Annotated[int | None, "The OrtErrorCode, where there is one. Without codes, the rule status.code is not judged."] = None


@dataclass(frozen=True)
class Skip:
    """The program cannot make this call, which says nothing about the loader: the case is skipped."""

    id: Annotated[int, "The number of the call."]
    reason: Annotated[str, "Why, in words."]


@dataclass(frozen=True)
class Bye:
    """The last message, in both directions: the program answers that of epctx, and ends."""


TAGS: dict[type[Any], str] = {
    Hello: "hello",
    Describe: "describe",
    Description: "describe",
    Call: "call",
    Callback: "callback",
    Result: "result",
    Error: "error",
    Skip: "skip",
    Bye: "bye",
}
"""What is in the field ``message`` of each kind of message."""

FROM_EPCTX = (Hello, Describe, Call, Result, Error, Bye)
FROM_PROGRAM = (Hello, Description, Callback, Result, Error, Skip, Bye)
"""The messages of each direction, by which a tag is one kind."""

Said: TypeAlias = Hello | Description | Callback | Result | Error | Skip | Bye
"""What a program says."""


class Malformed(ValueError):
    """What came is no message: what is wrong with it, in words, and what was expected in its place."""


def name_of(data: bytes) -> Name:
    """How a name is written."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return Encoded(data)
    return Encoded(data) if "\0" in text else text


def bytes_of(name: Name) -> bytes:
    """The bytes of a name. Malformed for text that no bytes stand for."""
    if isinstance(name, Encoded):
        return name.base64
    try:
        return name.encode()
    except UnicodeEncodeError:
        raise Malformed("the name holds half of a surrogate pair; a name that is not UTF-8 is written in base64") from None


def line_of(message: Any) -> bytes:
    """A message as a line, with its end. It is ASCII throughout; what is as it is by default is left out."""
    said = {"message": TAGS[type(message)]}
    for field in dataclasses.fields(message):
        value = getattr(message, field.name)
        if field.default is MISSING or value != field.default:
            said[field.name] = _written(value)
    return json.dumps(said, separators=(",", ":")).encode() + b"\n"


def _written(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return {"base64": _written(value.base64)} if isinstance(value, Encoded) else value


def message_in(line: bytes) -> Said:
    """The message that a program wrote as a line. Malformed if it is none."""
    try:
        said = json.loads(line.decode(), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise Malformed(f"it is not UTF-8 at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        told = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        raise Malformed(f"it is no JSON: {told}") from None
    if not isinstance(said, dict):
        raise Malformed(f"it is {_kind(said)}, and no object")
    tag = said.pop("message", None)
    kind = next((kind for kind in FROM_PROGRAM if TAGS[kind] == tag), None)
    if kind is None:
        known = ", ".join(TAGS[kind] for kind in FROM_PROGRAM)
        raise Malformed(
            "it has no field message" if tag is None else f"its field message is {_short(tag)}, and not one of {known}"
        )
    made: Said = _made(kind, said, f"the {tag}")
    return made


def shown(data: bytes | str, limit: int = SHOWN) -> str:
    """The beginning of what came, printable and on one line, with its length where that is not all."""
    text = data[: 4 * limit].decode("utf-8", "backslashreplace") if isinstance(data, bytes) else data[: 4 * limit]
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    whole = len(text) <= limit and len(data) <= 4 * limit
    return text if whole else f"{text[:limit]}… ({len(data)} {'bytes' if isinstance(data, bytes) else 'characters'})"


# --- types ------------------------------------------------------------------------------------------------------------------

_CHECKED = {str: "a string", int: "an integer", bool: "true or false", dict: "an object"}


def _made(kind: Any, given: dict[str, Any], what: str) -> Any:
    """A dataclass, of what JSON gave for it."""
    fields = _fields(kind)
    for name in given:
        if name not in fields:
            raise Malformed(f"{what} has an unknown field {_short(name)}; it has {', '.join(fields) or 'none'}")
    made = {}
    for name, (hint, needed) in fields.items():
        if name in given:
            made[name] = _value(hint, given[name], f"the field {name} of {what}")
        elif needed:
            raise Malformed(f"{what} has no field {name}")
    return kind(**made)


@functools.cache
def _fields(kind: type[Any]) -> dict[str, tuple[Any, bool]]:
    """The fields of a dataclass by name, with their types, and whether they are needed."""
    hints = typing.get_type_hints(kind)
    return {
        field.name: (hints[field.name], field.default is MISSING and field.default_factory is MISSING)
        for field in dataclasses.fields(kind)
    }


def _value(hint: Any, given: Any, what: str) -> Any:
    """A value of the type ``hint``, of what JSON gave for it."""
    if isinstance(hint, types.UnionType):
        return _either(typing.get_args(hint), given, what)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        if given not in args:
            raise Malformed(f"{what} is {_short(given)}, and not one of {', '.join(args)}")
    elif origin is tuple:
        if not isinstance(given, list):
            _wrong(what, given, "a list")
        return tuple(_value(args[0], value, f"an item of {what}") for value in given)
    elif origin is dict:
        if not isinstance(given, dict):
            _wrong(what, given, "an object")
        keys = [_value(args[0], key, f"a key of {what}") for key in given]
        return {key: _value(args[1], given[key], f"{key} in {what}") for key in keys}
    elif hint is bytes:
        return _decoded(given, what)
    elif type(given) is not hint:
        _wrong(what, given, _CHECKED[hint])
    return given


def _either(hints: tuple[Any, ...], given: Any, what: str) -> Any:
    """A value of a union: of its one type for what JSON gave."""
    if given is None and types.NoneType in hints:
        return None
    left = [hint for hint in hints if hint is not types.NoneType]
    if Encoded in left:
        if isinstance(given, dict):
            return _made(Encoded, given, what)
        if not isinstance(given, str):
            _wrong(what, given, 'a string, or {"base64": "…"}')
        return given
    return _value(left[0], given, what)


def _decoded(given: Any, what: str) -> bytes:
    if not isinstance(given, str):
        _wrong(what, given, "a string in base64")
    try:
        return base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Malformed(f"{what} is no base64: {error}") from None


def _wrong(what: str, given: Any, wanted: str) -> NoReturn:
    raise Malformed(f"{what} is {_kind(given)}, and not {wanted}")


def _kind(given: Any) -> str:
    if given is None:
        return "null"
    names = {bool: "true or false", int: "an integer", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return names[type(given)]


def _short(given: Any) -> str:
    return shown(json.dumps(given, ensure_ascii=False), 40)


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")
