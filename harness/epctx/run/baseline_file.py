"""Baselines as TOML files, which people edit: read, checked, refused in one sentence, and written."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from epctx.awaited_file import AwaitedFile
from epctx.case import Case, Struct
from epctx.case_file import MAX_FILE, contents
from epctx.errors import UsageError
from epctx.oracle import PROFILES, RULES
from epctx.run.baseline import Entry
from epctx.run.select import matcher, matching

WHAT_IT_IS_FOR = ("target", "profile")
FIELDS: dict[str, tuple[Any, str]] = {
    "rule": (str, "the id of a rule, such as 'contain.parent'"),
    "cases": (tuple[str, ...], "a list of ids or globs of cases, such as ['links/final-outside*']"),
    "reason": (str, "a text"),
    "expires": (date, "a date, such as 2030-12-31"),
    "sometimes": (bool, "true or false"),
}
"""What an entry holds: the type of each key, and how that is called in a sentence."""
NEEDED = ("rule", "cases", "reason")


class BaselineFile(Struct, frozen=True):
    """A file that was read. ``target``, a glob, and ``profile`` are what it is for, "" for any."""

    path: str
    entries: tuple[Entry, ...]
    target: str = ""
    profile: str = ""

    def check_use(self, target: str, profile: str) -> None:
        """UsageError if the file is for another target or profile."""
        for key, wanted, given in (("target", self.target, target), ("profile", self.profile, profile)):
            if wanted and not matcher(wanted).match(given):
                raise UsageError(
                    f"{self.path}: this baseline is for the {key} {wanted!r}, and the run's is {given!r}; "
                    f"give the right one, or take out the line if it is for both."
                )


def read(paths: Sequence[Path], cases: Sequence[Case]) -> list[BaselineFile]:
    """Read baselines for runs of some of these cases; UsageError for whatever is wrong with one."""
    files = [_read(str(path), cases) for path in paths]
    seen: dict[tuple[str, str], Entry] = {}
    for entry in (e for file in files for e in file.entries):
        for glob in entry.cases:
            if (first := seen.setdefault((entry.rule, glob), entry)) is not entry:
                raise UsageError(f"{entry.where}: {glob!r} is in {first.where} already; keep one of them.")
    return files


def _read(path: str, cases: Sequence[Case]) -> BaselineFile:
    data = contents(path)
    if len(data) > MAX_FILE:
        raise UsageError(f"{path}: larger than {MAX_FILE >> 20} MiB, which no baseline needs.")
    try:
        table = tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start} is not UTF-8, which TOML must be.") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not TOML: {error}.") from None
    _known_keys(table, ("known", *WHAT_IT_IS_FOR), path)
    tables = table.get("known", [])
    if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise UsageError(f"{path}: entries are tables that begin with [[known]].")
    for key in WHAT_IT_IS_FOR:
        if not isinstance(table.get(key, ""), str):
            raise UsageError(f"{path}: {key} must be a text.")
    if (name := table.get("profile", "")) and name not in PROFILES:
        raise UsageError(f"{path}: there is no profile {name!r}; the profiles are {', '.join(PROFILES)}.")
    entries = tuple(_entry(path, number, written, cases) for number, written in enumerate(tables, 1))
    _reasons(path, entries)
    return BaselineFile(path, entries, table.get("target", ""), name)


def _entry(path: str, number: int, written: Mapping[str, Any], cases: Sequence[Case]) -> Entry:
    rule = written.get("rule")
    where = f"{path}: entry {number}" + (f" ({rule})" if isinstance(rule, str) else "")
    _known_keys(written, tuple(FIELDS), where)
    fields = {"reason": ""}
    for key, (kind, form) in FIELDS.items():
        if key in written:
            try:
                fields[key] = msgspec.convert(written[key], kind)
            except msgspec.ValidationError:
                raise UsageError(f"{where}: {key} must be {form}.") from None
    if not fields.get("rule") or not fields.get("cases"):
        missing = "cases" if fields.get("rule") else "rule"
        raise UsageError(f"{where}: there is no {missing} in it; give {FIELDS[missing][1]}.")
    entry = Entry(path, number, **fields)  # type: ignore[arg-type]
    if entry.rule not in RULES:
        near = get_close_matches(entry.rule, RULES, 1)
        raise UsageError(
            f"{where}: there is no such rule; " + (f"did you mean {near[0]!r}?" if near else "see `epctx list rules`.")
        )
    for glob in entry.cases:
        if entry.cases.count(glob) > 1:
            raise UsageError(f"{where}: {glob!r} stands twice in it; keep one of them.")
        matching(glob, cases, f"{where}:", "the entry is stale")
    return entry


def _reasons(path: str, entries: Sequence[Entry]) -> None:
    """Said once for all of a file, since that is how one that was just written starts."""
    bare = [e for e in entries if not e.reason.strip()]
    if bare:
        number = "it" if len(bare) == 1 else f"it and {len(bare) - 1} more"
        raise UsageError(f"{bare[0].where} has no reason; look at the finding, and write into {number} why it is not mended yet.")


def _known_keys(table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}."
            raise UsageError(f"{where}: there is no key {key!r}; {hint}")


def dumps(entries: Sequence[Entry], target: str, profile: str) -> str:
    """A baseline as TOML: what it is for, then the entries in their order, above each what its rule says."""
    parts = [
        "# What epctx finds and is known: such findings do not fail `epctx check --baseline`.\n"
        "# Write a reason into each entry, and where that helps a last day: expires = 2030-12-31\n",
        tomli_w.dumps({"target": target, "profile": profile}),
    ]
    for entry in entries:
        table: dict[str, Any] = {"rule": entry.rule, "cases": list(entry.cases), "reason": entry.reason}
        table |= {"expires": entry.expires} if entry.expires else {}
        table |= {"sometimes": True} if entry.sometimes else {}
        rule = RULES[entry.rule]
        parts.append(f"# {rule.severity}: {' '.join(rule.statement.split())}\n{tomli_w.dumps({'known': [table]})}")
    return "\n".join(parts)


class NewFile(AwaitedFile):
    """A baseline that is about to be written: never over one that is there, whose reasons would be lost."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, f"--write-baseline {path}", keeps="its reasons")
