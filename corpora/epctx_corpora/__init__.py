"""Corpora: cases kept as data, useful without the code that made them.

``cases/FAMILY.jsonl`` holds the frozen cases of a bundled family: a header line with the version of the format, then one case on
each line, in the order in which the family yields them.
"""

from __future__ import annotations

from pathlib import Path

from epctx import case_file
from epctx.case import Case
from epctx.errors import UsageError
from epctx_attacks import bundled

CASES = Path(__file__).parent / "cases"
"""Where the frozen cases lie."""


def names() -> list[str]:
    """The families that are frozen, sorted."""
    return sorted(path.stem for path in CASES.glob("*.jsonl"))


def load(family: str) -> list[Case]:
    """The frozen cases of a family. Raises UsageError if there is none of that name."""
    if family not in names():
        raise UsageError(f"the corpus has no family {family!r}; it has {', '.join(names()) or 'none'}")
    return case_file.read(CASES / f"{family}.jsonl")


def freeze(folder: Path = CASES) -> list[Path]:
    """Write the cases of all bundled families into ``folder``, one file each; returns the files written."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, family in sorted(bundled().items()):
        written.append(folder / f"{name}.jsonl")
        case_file.write(written[-1], family.cases())
    return written
