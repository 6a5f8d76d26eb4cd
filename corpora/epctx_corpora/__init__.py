"""Corpora: cases kept as data, useful without the code that made them.

``cases/FAMILY.jsonl`` holds the frozen cases of a bundled family: a header line with the version of the format, then one case on
each line, in the order in which the family yields them. ``regressions/`` holds what campaigns found, a case in each file, and
``tokens.dict`` what all names are made from, for engines that string bytes together. A seed corpus is nothing but these cases,
and is made from them where it is needed.
"""

from __future__ import annotations

from pathlib import Path

from epctx import case_file
from epctx.case import Case
from epctx.errors import UsageError
from epctx.fuzz.corpus import kept, write
from epctx_attacks import bundled
from epctx_corpora import tokens
from epctx_corpora.finds import FOLDER, family

HERE = Path(__file__).parent
CASES = HERE / "cases"
"""Where the frozen cases lie."""
DICTIONARY = HERE / "tokens.dict"
"""Where the dictionary lies."""
REGRESSIONS = FOLDER
"""Where regressions lie."""


def names() -> list[str]:
    """The families that are frozen, sorted."""
    return sorted(path.stem for path in CASES.glob("*.jsonl"))


def load(family: str) -> list[Case]:
    """The frozen cases of a family. Raises UsageError if there is none of that name."""
    if family not in names():
        raise UsageError(f"the corpus has no family {family!r}; it has {', '.join(names()) or 'none'}")
    return case_file.read(CASES / f"{family}.jsonl")


def freeze(folder: Path = HERE) -> list[Path]:
    """Write into ``folder`` the cases of all bundled families, one file each, the regressions, with what the specification says
    of them now, and the dictionary; returns the files written."""
    cases = {name: found.cases() for name, found in sorted(bundled().items())}
    (folder / "cases").mkdir(parents=True, exist_ok=True)
    written = []
    for name, own in cases.items():
        written.append(folder / "cases" / f"{name}.jsonl")
        case_file.write(written[-1], own)
    written += [write(folder / "regressions", kept(case)) for case in family.cases()]
    written.append(folder / DICTIONARY.name)
    written[-1].write_text(tokens.text(case for own in cases.values() for case in own), encoding="utf-8")
    return written
