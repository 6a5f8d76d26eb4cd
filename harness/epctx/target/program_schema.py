"""The JSON Schema of the messages between epctx and a program (``exec:``), made of the classes that the driver has for them."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable
from typing import Annotated, Any, Union

import msgspec

from epctx_driver import messages

_DESCRIPTION = "A line between epctx and a program under test. Which one may come when is told in docs/reference/exec.md."


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of any message; those of each direction are among its definitions."""
    _, definitions = msgspec.json.schema_components(structs(messages.TAGS), ref_template="#/$defs/{name}")
    directions = {
        "FromEpctx": ("What epctx writes to the program's standard input.", messages.FROM_EPCTX),
        "FromProgram": ("What the program writes to its standard output.", messages.FROM_PROGRAM),
    }
    for name, (description, kinds) in directions.items():
        definitions[name] = {"description": description, "oneOf": [_reference(kind.__name__) for kind in kinds]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"epctx exec, version {messages.PROTOCOL}",
        "description": _DESCRIPTION,
        "anyOf": [_reference(name) for name in directions],
        "$defs": dict(sorted(definitions.items())),
    }


def structs(kinds: Iterable[type[Any]]) -> list[type[msgspec.Struct]]:
    """The same messages as structs of msgspec, told apart by their field ``message``."""
    return [_struct(kind, messages.TAGS[kind]) for kind in kinds]


def _struct(kind: type[Any], tag: str | None = None) -> type[msgspec.Struct]:
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = [(field.name, _annotated(hints[field.name]), _default(field)) for field in dataclasses.fields(kind)]
    return msgspec.defstruct(
        kind.__name__,
        fields,
        tag=tag,
        tag_field="message" if tag else None,
        kw_only=True,
        forbid_unknown_fields=True,
        namespace={"__doc__": kind.__doc__},
    )


def _default(field: dataclasses.Field[Any]) -> Any:
    """A field's default, as msgspec has it."""
    if field.default_factory is not dataclasses.MISSING:
        return msgspec.field(default_factory=field.default_factory)
    return msgspec.NODEFAULT if field.default is dataclasses.MISSING else field.default


def _annotated(hint: Any) -> Any:
    """A type as msgspec knows it: with its words as a description, and structs in place of classes."""
    if typing.get_origin(hint) is Annotated:
        plain, words = typing.get_args(hint)
        return Annotated[_annotated(plain), msgspec.Meta(description=words)]
    if isinstance(hint, types.UnionType):
        return Union[tuple(map(_annotated, typing.get_args(hint)))]  # noqa: UP007  # of as many as there are
    return _ENCODED if hint is messages.Encoded else hint


_ENCODED = _struct(messages.Encoded)


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}
