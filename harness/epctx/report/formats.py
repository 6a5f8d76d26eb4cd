"""Reports by name: functions from a finished run to text, found by entry points."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import TypeAlias

from epctx.errors import HarnessError, UsageError
from epctx.report.record import Run

ENTRY_POINTS = "epctx.reports"
"""The group of entry points in which reports are found: the name is that of the format, the value a function from Run to str,
whose docstring begins with a line for lists."""

Report: TypeAlias = Callable[[Run], str]


class Format:
    """A format that is installed: its ``name``, and where its report is, which is loaded when it is asked for."""

    def __init__(self, name: str, point: EntryPoint) -> None:
        self.name, self._point = name, point

    @property
    def summary(self) -> str:
        """What it is, in a line."""
        return (self._load().__doc__ or "").strip().partition("\n")[0]

    def make(self, run: Run) -> str:
        """The report of a run. HarnessError if the report fails, which says whose it is."""
        report = self._load()
        try:
            return report(run)
        except Exception as error:
            raise self._broken(error) from error

    def _load(self) -> Report:
        try:
            report: Report = self._point.load()
        except Exception as error:
            raise self._broken(error) from error
        return report

    def _broken(self, error: Exception) -> HarnessError:
        return HarnessError(f"The report {self.name} ({self._point.value}) failed: {type(error).__name__}: {error}.")


def formats() -> dict[str, Format]:
    """All formats that are installed, by name."""
    points = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    return {name: Format(name, points[name]) for name in sorted(points)}


def format_named(name: str) -> Format:
    """The format of that name; UsageError, with the nearest one that there is, for none."""
    known = formats()
    if name not in known:
        near = get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known) or 'none'}."
        raise UsageError(f"There is no report {name!r}; {hint}")
    return known[name]
