"""The files that reports are written to."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Generic

from epctx.errors import EpctxError, UsageError
from epctx.report.formats import Format, Subject


class ReportFile(Generic[Subject]):
    """A file for a report, opened before anything runs; UsageError if it cannot be written. A context manager.

    What was in it is gone then, and if no report is written so is the file: what an earlier run left there must not pass for the
    report of this one. ``replaced`` is whether there was such a file.
    """

    def __init__(self, format: Format[Subject], path: Path) -> None:
        self.format: Format[Subject] = format
        self.path, self.replaced = path, False
        self._file: IO[bytes] | None = None
        self._written = False

    def __enter__(self) -> ReportFile[Subject]:
        try:
            self.replaced = self.path.exists()
            self._file = self.path.open("wb")
        except (OSError, ValueError) as error:
            raise self._failed(error) from None
        return self

    def __exit__(self, *exc: object) -> None:
        if self._file is None:
            return
        with suppress(OSError):
            regular = stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)
            self._file.close()
            if regular and not self._written:
                self.path.unlink()

    def write(self, subject: Subject) -> None:
        """Make the report and write it. HarnessError, UsageError."""
        assert self._file is not None
        text = self.format.make(subject).encode("utf-8", "backslashreplace")
        try:
            self._file.write(text)
            self._file.flush()
        except OSError as error:
            raise self._failed(error) from None
        self._written = True

    def _failed(self, error: OSError | ValueError) -> UsageError:
        why = error.strerror if isinstance(error, OSError) else error
        return UsageError(f"report {self.format.name}:{self.path}: {why}; name a file that can be written.")


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
