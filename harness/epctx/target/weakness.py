"""The weak targets: the bundled helper with one fault each, and what that fault must break."""

from __future__ import annotations

import functools
import tomllib
from importlib.resources import files
from typing import Literal

import msgspec

from epctx.case import Platform, Sanitizer, Struct


class Weakness(Struct, frozen=True):
    """A weak target: what is wrong with it, the rules that it must break, and those of tier spec that may break with them.

    One with ``chunking`` declares that it writes in pieces. Some faults are seen only under a ``sanitizer``.

    One ``of`` an ``ep`` is a weak execution provider, met in sessions, and one of a ``loader`` a weak loader of external data;
    ``cases`` are globs of those that the self-test runs on it (none: all). ``right`` are the definitions of the reference helper
    that show how it is done rightly, where that is not the one that the weak form replaces.
    """

    name: str
    summary: str
    breaks: tuple[str, ...]
    follows: tuple[str, ...] = ()
    platform: Platform = "posix"
    sanitizer: Sanitizer | None = None
    chunking: bool = False
    of: Literal["helper", "ep", "loader"] = "helper"
    cases: tuple[str, ...] = ()
    right: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """Its name as a target."""
        return f"weak:{self.name}" if self.of == "helper" else f"{self.of}:bundled?weak={self.name}"


@functools.cache
def weaknesses() -> tuple[Weakness, ...]:
    """All weak targets, in the order of ``weak.toml``."""
    text = files("epctx.target").joinpath("weak.toml").read_text(encoding="utf-8")
    return tuple(msgspec.convert(tomllib.loads(text)["weak"], list[Weakness]))
