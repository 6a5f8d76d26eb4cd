"""The JSON lines report: a header, one line for each case, a footer; a file without a footer was cut off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from epctx.errors import UsageError
from epctx.report.record import FORMAT, Footer, Header, Line


class JsonLines:
    """Writes a run, line by line. A context manager; where that fails, at best before anything runs, a UsageError says so."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None

    def __enter__(self) -> JsonLines:
        with self._told():
            self._file = self.path.open("wb")
        return self

    def __exit__(self, *exc: object) -> None:
        if self._file:
            with self._told():
                self._file.close()

    def write(self, record: Header | Line | Footer) -> None:
        """Add one line."""
        if self._file:
            with self._told():
                self._file.write(msgspec.json.encode(record) + b"\n")

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UsageError(f"--json {self.path}: {error.strerror}; name a file that can be written.") from None


def read(path: Path) -> tuple[Header, Sequence[Line], Footer]:
    """Read a report back; UsageError if it is none, of another version, or cut off."""
    records: list[Header | Line | Footer] = []
    try:
        for text in path.read_bytes().splitlines():
            records.append(msgspec.json.decode(text, type=Header | Line | Footer))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; name a report written by --json.") from None
    except msgspec.MsgspecError as error:
        raise UsageError(f"{path}:{len(records) + 1}: {error}; is this a report written by --json?") from None
    if not records or not isinstance(records[0], Header) or records[0].format != FORMAT:
        raise UsageError(f"{path}: this is no report of format {FORMAT}; write one with --json.")
    if not isinstance(records[-1], Footer):
        raise UsageError(f"{path}: the report has no footer, so it was cut off; run the check again.")
    return records[0], [r for r in records if isinstance(r, Line)], records[-1]
