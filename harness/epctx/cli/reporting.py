"""Options and steps of commands that write reports."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, NamedTuple

import click
from msgspec.structs import replace

from epctx.cli.options import F
from epctx.errors import UsageError
from epctx.report.formats import Format, Subject, named
from epctx.report.formats import comparisons as known_comparisons
from epctx.report.formats import reports as known_reports
from epctx.report.record import Header, Run

STANDARD_OUTPUT = "-"
STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable in which GitHub's CI names the file with the summary of a step."""
MOST = 1 << 20
"""Bytes that such a file may have; a longer one is not shown at all."""


class Wanted(NamedTuple, Generic[Subject]):
    """A report that was asked for; without a path it goes to standard output."""

    format: Format[Subject]
    path: Path | None


class Source(NamedTuple):
    """The place in code that a report points to."""

    file: str
    line: int


def wanted(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> tuple[Wanted[Run], ...]:
    """The reports that texts like ``FORMAT:FILE`` ask for; UsageError for a format that there is not, or one file for two."""
    return _wanted(texts, known_reports())


def _wanted(texts: tuple[str, ...], known: dict[str, Format[Subject]]) -> tuple[Wanted[Subject], ...]:
    found: list[Wanted[Subject]] = []
    for text in texts:
        name, colon, path = text.partition(":")
        if not colon or not name or not path:
            raise UsageError(
                f"{text!r} is no report; write FORMAT:FILE, for example markdown:summary.md (see `epctx list reports`)."
            )
        one = Wanted(named(name, known), None if path == STANDARD_OUTPUT else Path(path))
        if one.path in [other.path for other in found]:
            raise UsageError(f"{path} is the file of two reports; name another one for {name}.")
        found.append(one)
    return tuple(found)


def _to_files(reports: tuple[Wanted[Subject], ...]) -> tuple[Wanted[Subject], ...]:
    for report in reports:
        if report.path is None:
            raise UsageError(f"report {report.format.name}:-: standard output has the terminal report; name a file.")
    return reports


def reports(command: F) -> F:
    """--report, of a run."""
    return _option(lambda _, __, texts: _to_files(_wanted(texts, known_reports())))(command)


def comparisons(command: F) -> F:
    """--report, of a comparison."""
    return _option(lambda _, __, texts: _to_files(_wanted(texts, known_comparisons())))(command)


def _option(callback: Callable[[click.Context, click.Parameter, tuple[str, ...]], object]) -> Callable[[F], F]:
    return click.option(
        "--report",
        "reports",
        multiple=True,
        metavar="FORMAT:FILE",
        callback=callback,
        help="Also write a report in this format to this file; `epctx list reports` has the formats.",
    )


def source(command: F) -> F:
    """--source."""
    return click.option(
        "--source",
        metavar="FILE[:LINE]",
        callback=_source,
        help="The file that findings are about, for reports that point into code; by itself the header, or the adapter.",
    )(command)


def _source(_: click.Context, __: click.Parameter, text: str | None) -> Source | None:
    if text is None:
        return None
    file, colon, number = text.rpartition(":")
    place = Source(file, int(number)) if colon and number.isascii() and number.isdigit() and int(number) else Source(text, 1)
    if not os.path.isfile(place.file):
        raise UsageError(f"--source {text}: there is no such file; write FILE, or FILE:LINE.")
    return place


def with_source(head: Header, place: Source | None) -> Header:
    """A header that points to a place in code, if one is given."""
    return head if place is None else replace(head, source=in_repository(place.file), line=place.line)


def in_repository(file: str) -> str:
    """A file as code hosts name it: by its path from the root of the repository that it lies in, or else from here if it lies
    below, or else in full."""
    path = Path(os.path.abspath(file))
    roots = [root for root in path.parents if (root / ".git").exists()]
    for root in (*roots[:1], Path.cwd()):
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return path.as_posix()


def to_step_summary(text: str) -> None:
    """Append a text to the summary of the CI's step, where there is one that has room for it."""
    path = os.environ.get(STEP_SUMMARY)
    if not path:
        return
    data = text.encode("utf-8", "backslashreplace")
    try:
        with open(path, "ab") as file:
            if file.tell() + len(data) < MOST:
                file.write(data + b"\n")
            else:
                click.echo(f"epctx: the summary of this step ({path}) is full; write one of this run with --report.", err=True)
    except OSError as error:
        click.echo(f"epctx: the summary of this step ({path}) cannot be written: {error.strerror}", err=True)
