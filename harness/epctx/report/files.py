"""The files that reports are written to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Generic

from epctx.awaited_file import AwaitedFile
from epctx.errors import EpctxError
from epctx.report.formats import Format, Subject


class ReportFile(AwaitedFile, Generic[Subject]):
    """A file for a report."""

    def __init__(self, format: Format[Subject], path: Path) -> None:
        super().__init__(path, f"report {format.name}:{path}")
        self.format: Format[Subject] = format

    def write(self, subject: Subject) -> None:
        """Make the report and write it. HarnessError, UsageError."""
        self.write_text(self.format.make(subject))


def write_all(files: Sequence[ReportFile[Subject]], subject: Subject) -> tuple[list[ReportFile[Subject]], EpctxError | None]:
    """Write the reports of a run or a comparison: those that were written, and what went wrong first with one of the others."""
    written: list[ReportFile[Subject]] = []
    failure = None
    for file in files:
        try:
            file.write(subject)
            written.append(file)
        except EpctxError as error:
            failure = failure or error
    return written, failure
