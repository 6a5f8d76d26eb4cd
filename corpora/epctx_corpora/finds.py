"""Regressions: cases that somebody's campaign found, kept as they were found (``epctx corpus add``)."""

from __future__ import annotations

from pathlib import Path

from epctx import case_file
from epctx.attack import Family
from epctx.case import Case

FOLDER = Path(__file__).parent / "regressions"
"""Where they lie: each in a file of its own."""


class Kept(Family):
    """A family whose cases are files."""

    def __init__(self, name: str, summary: str, folder: Path) -> None:
        super().__init__(name, summary)
        self._folder = folder

    def cases(self) -> tuple[Case, ...]:
        """All cases, by the names of their files. CaseError if one is not valid."""
        return tuple(case for path in case_file.files(self._folder) for case in case_file.read(path))


family = Kept("regressions", "What campaigns found once: faults of loaders, and of epctx itself.", FOLDER)
