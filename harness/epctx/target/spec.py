"""Targets by name: ``kind:what?option=value&option=value``."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Literal, TypeAlias

from epctx.case import Sanitizer, Struct
from epctx.errors import UsageError

Fuzzer: TypeAlias = Literal["libfuzzer", "atheris"]
"""A fuzzer that executes targets by itself, and so wants them built in a way of its own."""


class TargetSpec(Struct, frozen=True):
    """A target as the user wrote it (``text``), taken apart. Options given twice keep all values.

    ``sanitizer`` is what it is to be built for and run under, if anything; so is ``fuzzer``.
    """

    text: str
    kind: str
    what: str = ""
    options: dict[str, tuple[str, ...]] = {}
    sanitizer: Sanitizer | None = None
    fuzzer: Fuzzer | None = None

    def option(self, name: str, default: str = "") -> str:
        """The one value of an option; UsageError if it was given more than once."""
        values = self.options.get(name, (default,))
        if len(values) > 1:
            raise UsageError(f"Target {self.text!r} gives {name} {len(values)} times; give it once.")
        return values[0]

    def chunking(self) -> bool:
        """Whether it declares that it hands payloads to a write callback in pieces, in order; UsageError for other pieces."""
        value = self.option("chunking")
        if value not in ("", "ordered"):
            raise UsageError(f"Target {self.text!r}: the only chunking that can be declared is ordered, not {value!r}.")
        return value == "ordered"

    def allow(self, *names: str) -> None:
        """Refuse options that the kind does not have, with the nearest one that it has; UsageError."""
        for name in self.options:
            if name not in names:
                near = get_close_matches(name, names, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(names) or 'no options'}."
                raise UsageError(f"Target {self.text!r} has an unknown option {name!r}; {hint}")


def parse(text: str, sanitizer: Sanitizer | None = None, fuzzer: Fuzzer | None = None) -> TargetSpec:
    """Take a target's name apart; UsageError if it is no such name."""
    head, mark, tail = text.partition("?")
    kind, _, what = head.partition(":")
    if not kind:
        raise UsageError(
            f"{text!r} names no target; write KIND or KIND:WHAT?OPTION=VALUE, for example weak:S7 (see `epctx list targets`)."
        )
    options: dict[str, tuple[str, ...]] = {}
    for part in tail.split("&") if mark else []:
        name, equals, value = part.partition("=")
        if not name or not equals:
            raise UsageError(f"Target {text!r}: {part!r} is no option; write OPTION=VALUE, with & between two of them.")
        options[name] = (*options.get(name, ()), value)
    return TargetSpec(text, kind, what, options, sanitizer, fuzzer)


NAMES_A_FILE: dict[str, tuple[str, ...]] = {
    "header": ("", "include"),
    "lib": ("",),
    "ep": ("lib", "python"),
    "loader": ("python",),
    "python": ("path", "python"),
}
"""What of a target's name is a path, by kind: options, and "" for what stands before them."""


def relocated(text: str, directory: Path) -> str:
    """A target's name whose paths are relative to ``directory``, as the working directory has it."""
    if directory == Path():
        return text
    head, mark, tail = text.partition("?")
    kind, colon, what = head.partition(":")
    paths = NAMES_A_FILE.get(kind, ())
    if what and ("" in paths or (kind == "ep" and what.endswith(".toml"))):
        what = str(directory / what)
    parts = [part.partition("=") for part in tail.split("&")]
    moved = [f"{name}{equals}{directory / value if name in paths and value else value}" for name, equals, value in parts]
    return f"{kind}{colon}{what}{mark}{'&'.join(moved)}"
