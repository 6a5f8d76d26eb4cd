"""Published faults: what was wrong with a release of somebody's loader, in which release it is gone, and which cases show it.

They are data in a TOML file, named *faults file* here. Whatever is wrong with one, the answer is a UsageError of one sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from epctx.case import Struct
from epctx.errors import UsageError

FORMAT = 1
"""Version of the format; a file with another one is refused."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:(?:==|~=|!=|<=|>=|<|>)[A-Za-z0-9.*+!-]+(?:,(?=[=~!<>])|$))+")
"""A package and its versions, nothing that an installer would take for an option or an address."""


class Environment(Struct, frozen=True):
    """A virtual environment with a release of a loader: ``requirements`` are what it holds, as pip takes them.

    ``python`` is the newest Python that it has wheels for ("" for any so far), ``machines`` those that it has wheels for, as
    ``uname -m`` names them, all if none is named.
    """

    name: str
    requirements: tuple[str, ...]
    python: str = ""
    machines: tuple[str, ...] = ()


class Fault(Struct, frozen=True):
    """A published fault: ``target`` has it in the environment ``vulnerable``, and no more in the environment ``fixed``.

    ``cases`` are globs over the ids of cases. In the vulnerable release each case breaks one of ``rules``, and each of the rules
    is broken; in the fixed one no case breaks any rule at all. They are judged by ``profile``, by default what goes with the
    release, and ``policies``.
    """

    id: str
    title: str
    target: str
    vulnerable: str
    fixed: str
    cases: tuple[str, ...]
    rules: tuple[str, ...]
    sources: tuple[str, ...]
    """Addresses of the public pages that tell of it."""
    affected: str
    """Which releases have it, in the words of the sources."""
    checked: str = ""
    """What the sources leave open, or get wrong, and what was measured instead."""
    profile: str | None = None
    policies: tuple[str, ...] = ()


class Faults(Struct, frozen=True):
    """A faults file: published faults, and the environments that show them."""

    format: int
    environments: tuple[Environment, ...]
    faults: tuple[Fault, ...]

    def environment(self, name: str) -> Environment:
        """The environment of that name, which a fault of this file has."""
        return next(e for e in self.environments if e.name == name)


def read(path: Path) -> Faults:
    """Read a faults file. UsageError if it is none, or if what it says does not fit together."""
    try:
        faults = msgspec.toml.decode(path.read_bytes(), type=Faults)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; name a faults file.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: {error}; see how epctx_corpora/published.toml is written.") from None
    if faults.format != FORMAT:
        raise UsageError(f"{path}: the file is of format {faults.format}, and this epctx reads format {FORMAT} only.")
    for wrong in _mistakes(faults):
        raise UsageError(f"{path}: {wrong}.")
    return faults


def _mistakes(faults: Faults) -> Iterable[str]:
    """What does not fit together, each in a clause."""
    names = [environment.name for environment in faults.environments]
    yield from (f"two environments are called {name!r}" for name in _doubled(names))
    for environment in faults.environments:
        where = f"the environment {environment.name!r}"
        yield from (
            f"{where} requires {text!r}, which is not PACKAGE==VERSION or the like"
            for text in environment.requirements
            if not _REQUIREMENT.fullmatch(text)
        )
        if not any("==" in text for text in environment.requirements):
            yield f"{where} requires no exact release; write PACKAGE==VERSION"
        if environment.python and not re.fullmatch(r"3\.\d+", environment.python):
            yield f"{where} has wheels up to Python {environment.python!r}, which is no version such as 3.11"
    yield from (f"two faults have the id {id!r}" for id in _doubled([fault.id for fault in faults.faults]))
    for fault in faults.faults:
        where = f"the fault {fault.id!r}"
        if not _ID.fullmatch(fault.id):
            yield f"{where} has an id with other characters than letters, digits, dots, dashes and underscores"
        yield from (f"{where} names the environment {n!r}, which is not there" for n in _ends(fault) if n not in names)
        if fault.vulnerable == fault.fixed:
            yield f"{where} is fixed in the environment that is vulnerable"
        for field in ("title", "target", "affected", "cases", "rules", "sources"):
            if not getattr(fault, field):
                yield f"{where} has no {field}"
        yield from (
            f"{where} has the source {s!r}, which is no https address" for s in fault.sources if not s.startswith("https://")
        )
    used = {name for fault in faults.faults for name in _ends(fault)}
    yield from (f"the environment {name!r} is that of no fault" for name in names if name not in used)


def _ends(fault: Fault) -> tuple[str, str]:
    return fault.vulnerable, fault.fixed


def _doubled(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
