"""``epctx report``: reports of a saved run."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from epctx.cli import reporting
from epctx.report import jsonl, terminal
from epctx.report.console import Output
from epctx.report.files import ReportFile, write_all
from epctx.report.record import Run


@click.command(short_help="Make reports of a saved run.")
@click.argument("saved", metavar="RUN", type=click.Path(path_type=Path))
@click.argument("reports", metavar="FORMAT:FILE...", nargs=-1, required=True, callback=reporting.wanted)
@reporting.source
def command(saved: Path, reports: tuple[reporting.Wanted[Run], ...], source: reporting.Source | None) -> None:
    """Make reports of RUN, which `epctx check --json RUN` saved. Nothing runs again.

    Each report is FORMAT:FILE, or FORMAT:- for standard output; `epctx list reports` has the formats.

    \b
    Exit codes: 0 the reports were written, whatever they say,
    2 bad input, 3 a report failed.
    """
    run = jsonl.read(saved)
    if source:
        run = run._replace(header=reporting.with_source(run.header, source))
    with ExitStack() as stack:
        files = [stack.enter_context(ReportFile(w.format, w.path)) for w in reports if w.path is not None]
        written, failure = write_all(files, run)
        for wanted in reports:
            if wanted.path is None:
                click.echo(wanted.format.make(run), nl=False)
        if all(w.path is not None for w in reports):
            terminal.reports_written(Output(), written)
    if failure:
        raise failure
