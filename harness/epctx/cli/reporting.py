"""Options and steps of commands that write reports."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import click
from msgspec.structs import replace

from epctx.cli.options import F
from epctx.errors import UsageError
from epctx.report.formats import Format, format_named
from epctx.report.record import Header

STANDARD_OUTPUT = "-"


class Wanted(NamedTuple):
    """A report that was asked for; without a path it goes to standard output."""

    format: Format
    path: Path | None


class Source(NamedTuple):
    """The place in code that a report points to."""

    file: str
    line: int


def wanted(context: click.Context, _: click.Parameter, texts: tuple[str, ...]) -> tuple[Wanted, ...]:
    """The reports that texts like ``FORMAT:FILE`` ask for; UsageError for a format that there is not, or one file for two."""
    found: list[Wanted] = []
    for text in texts:
        name, colon, path = text.partition(":")
        if not colon or not name or not path:
            raise UsageError(
                f"{text!r} is no report; write FORMAT:FILE, for example markdown:summary.md (see `epctx list reports`)."
            )
        one = Wanted(format_named(name), None if path == STANDARD_OUTPUT else Path(path))
        if one.path in [other.path for other in found]:
            raise UsageError(f"{path} is the file of two reports; name another one for {name}.")
        found.append(one)
    return tuple(found)


def _files(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> tuple[Wanted, ...]:
    reports = wanted(context, parameter, texts)
    for report in reports:
        if report.path is None:
            raise UsageError(f"report {report.format.name}:-: standard output has the terminal report; name a file.")
    return reports


def reports(command: F) -> F:
    """--report."""
    return click.option(
        "--report",
        "reports",
        multiple=True,
        metavar="FORMAT:FILE",
        callback=_files,
        help="Also write a report in this format to this file; `epctx list reports` has the formats.",
    )(command)


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
    return head if place is None else replace(head, source=place.file, line=place.line)
