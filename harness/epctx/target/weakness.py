"""The weak targets: the bundled helper with one fault each, and what that fault must break."""

from __future__ import annotations

import functools
import tomllib
from importlib.resources import files

import msgspec

from epctx.case import Platform, Sanitizer, Struct


class Weakness(Struct, frozen=True):
    """A weak target: what is wrong with it, the rules that it must break, and those of tier spec that may break with them.

    One with ``chunking`` declares that it writes in pieces. Some faults are seen only under a ``sanitizer``.
    """

    name: str
    summary: str
    breaks: tuple[str, ...]
    follows: tuple[str, ...] = ()
    platform: Platform = "posix"
    sanitizer: Sanitizer | None = None
    chunking: bool = False

    @property
    def target(self) -> str:
        """Its name as a target."""
        return f"weak:{self.name}"


@functools.cache
def weaknesses() -> tuple[Weakness, ...]:
    """All weak targets, in the order of ``weak.toml``."""
    text = files("epctx.target").joinpath("weak.toml").read_text(encoding="utf-8")
    return tuple(msgspec.convert(tomllib.loads(text)["weak"], list[Weakness]))
