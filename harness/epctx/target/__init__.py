"""Targets: implementations under test, by name, made ready to run."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

from epctx.case import Sanitizer, Struct
from epctx.errors import UsageError
from epctx.target.launch import Launch
from epctx.target.spec import Fuzzer, TargetSpec, parse
from epctx.target.weakness import Weakness, weaknesses

ENTRY_POINTS = "epctx.targets"
"""The group of entry points in which kinds are found: the name is the kind's, the value a function from TargetSpec to Launch."""


class Kind(Struct, frozen=True):
    """A kind of target: how it is made ready, and a line about it."""

    summary: str
    prepare: Callable[[TargetSpec], Launch]


def kinds() -> dict[str, Kind]:
    """All kinds that are installed, by name."""
    found = {entry.name: entry.load() for entry in entry_points(group=ENTRY_POINTS)}
    return {name: Kind(" ".join((load.__doc__ or "").split()), load) for name, load in sorted(found.items())}


def prepare(text: str, sanitizer: Sanitizer | None = None, fuzzer: Fuzzer | None = None) -> Launch:
    """Make a target ready, building what must be built, for a sanitizer or a fuzzer if one is named.

    UsageError for a name that is none, or of a kind that cannot be built so; TargetError, BuildError.
    """
    spec = parse(text, sanitizer, fuzzer)
    known = kinds()
    if spec.kind not in known:
        raise UsageError(f"{text!r} is no target: there is no kind {spec.kind!r}; the kinds are {', '.join(known)}.")
    launch = known[spec.kind].prepare(spec)
    if launch.sanitizer != sanitizer:
        raise UsageError(f"Targets of the kind {spec.kind} cannot run under a sanitizer; leave --sanitize out.")
    if launch.fuzzer != fuzzer:
        raise UsageError(f"The engine {fuzzer} calls a library, and {text} is none; choose another engine.")
    return launch


__all__ = ["Fuzzer", "Kind", "Launch", "TargetSpec", "Weakness", "kinds", "parse", "prepare", "weaknesses"]
