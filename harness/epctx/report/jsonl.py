"""Saved runs, as JSON lines: a header, one line for each case, a footer; a file without a footer was cut off."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec

from epctx.case_file import contents
from epctx.errors import UsageError
from epctx.report.record import FORMAT, Footer, Header, Line, Run


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
                self._file.write(_encoded(record) + b"\n")

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UsageError(f"--json {self.path}: {error.strerror}; name a file that can be written.") from None


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a line of a saved run."""
    kinds, definitions = msgspec.json.schema_components([Header, Line, Footer], ref_template="#/$defs/{name}")
    whole: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "epctx saved run",
        "description": "A line of a saved run: first a header, then a line for each case, last a footer.",
        "oneOf": list(kinds),
        "$defs": dict(sorted(definitions.items())),
    }
    whole["$defs"]["Header"]["properties"]["format"] = {"const": FORMAT, "description": "Version of the format of saved runs."}
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(whole))
    return plain


def _encoded(record: Header | Line | Footer) -> bytes:
    """A record as JSON. Names of files that are no UTF-8, as a command line may have them, keep their odd bytes as escapes."""
    try:
        return msgspec.json.encode(record)
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(record), ensure_ascii=False, separators=(",", ":"))
        return _SURROGATE.sub(lambda found: f"\\\\u{ord(found[0]):04x}", text).encode()


class _Version(msgspec.Struct):
    """The part of a header that is looked at first, since another version may have other fields."""

    type: str
    format: int = 1
    """Format 1 did not say which one it is."""


def read(path: Path) -> Run:
    """Read a saved run back; UsageError if it is none, of another version, or cut off."""
    records: list[Header | Line | Footer] = []
    texts = contents(str(path), None).splitlines()
    _check_version(path, texts[0] if texts else b"")
    for text in texts:
        try:
            records.append(_record.decode(text))
        except (msgspec.MsgspecError, RecursionError) as error:
            if len(records) + 1 == len(texts):
                raise _cut_off(path) from None
            raise UsageError(f"{path}:{len(records) + 1}: {error}; is this a run saved by --json?") from None
    head, *lines, foot = records[0], *records[1:-1], records[-1]
    if not isinstance(foot, Footer):
        raise _cut_off(path)
    if not isinstance(head, Header) or not all(isinstance(line, Line) for line in lines):
        raise UsageError(f"{path}: a saved run is a header, a line for each case, and a footer; write one with --json.")
    return Run(head, [line for line in lines if isinstance(line, Line)], foot)


def _check_version(path: Path, first: bytes) -> None:
    try:
        version = _version.decode(first)
    except msgspec.MsgspecError:
        raise UsageError(f"{path}: this is no saved run; write one with --json.") from None
    if version.type != "header":
        raise UsageError(f"{path}: this is no saved run, as it does not begin with a header; write one with --json.")
    if version.format != FORMAT:
        raise UsageError(
            f"{path}: the run was saved in format {version.format}, and this epctx reads format {FORMAT}; run the check again."
        )


def _cut_off(path: Path) -> UsageError:
    return UsageError(f"{path}: the saved run has no footer, so it was cut off; run the check again.")


_SURROGATE = re.compile("[\ud800-\udfff]")
_record = msgspec.json.Decoder(Header | Line | Footer)
_version = msgspec.json.Decoder(_Version)
