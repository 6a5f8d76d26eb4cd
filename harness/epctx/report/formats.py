"""Reports by name: functions from a finished run, or from a comparison of two, to text, found by entry points."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeAlias, TypeVar

from epctx.errors import HarnessError, UsageError
from epctx.report.comparison import Comparison
from epctx.report.record import Run

REPORTS, COMPARISONS = "epctx.reports", "epctx.comparisons"
"""The groups of entry points in which reports of a run, and of a comparison, are found: the name is that of the format, the value
a function to str, whose docstring begins with a line for lists."""

Subject = TypeVar("Subject", Run, Comparison)


class Format(Generic[Subject]):
    """A format that is installed: its ``name``, and where its report is, which is loaded when it is asked for."""

    def __init__(self, name: str, point: EntryPoint) -> None:
        self.name, self._point = name, point

    @property
    def summary(self) -> str:
        """What it is, in a line."""
        return (self._load().__doc__ or "").strip().partition("\n")[0]

    def make(self, subject: Subject) -> str:
        """The report. HarnessError if it fails, which says whose it is."""
        report = self._load()
        try:
            return report(subject)
        except Exception as error:
            raise self._broken(error) from error

    def _load(self) -> Callable[[Subject], str]:
        try:
            report: Callable[[Subject], str] = self._point.load()
        except Exception as error:
            raise self._broken(error) from error
        return report

    def _broken(self, error: Exception) -> HarnessError:
        return HarnessError(f"The report {self.name} ({self._point.value}) failed: {type(error).__name__}: {error}.")


ReportFormat: TypeAlias = Format[Run]
ComparisonFormat: TypeAlias = Format[Comparison]


def reports() -> dict[str, ReportFormat]:
    """The formats of reports that are installed, by name."""
    return {name: Format(name, point) for name, point in _points(REPORTS).items()}


def comparisons() -> dict[str, ComparisonFormat]:
    """The formats of comparisons that are installed, by name."""
    return {name: Format(name, point) for name, point in _points(COMPARISONS).items()}


def _points(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in sorted(entry_points(group=group), key=lambda point: point.name)}


def named(name: str, known: dict[str, Format[Subject]]) -> Format[Subject]:
    """The format of that name; UsageError, with the nearest one that there is, for none."""
    if name not in known:
        near = get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known) or 'none'}."
        raise UsageError(f"There is no report {name!r}; {hint}")
    return known[name]
