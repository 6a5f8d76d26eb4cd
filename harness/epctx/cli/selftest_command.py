"""``epctx selftest``: the suite proves its own power."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from epctx.cli import options
from epctx.errors import UsageError
from epctx.report.console import Output, indented, plural
from epctx.report.matrix import markdown
from epctx.report.terminal import labelled
from epctx.run.runner import Runner
from epctx.run.select import matcher
from epctx.run.selftest import Matrix, selftest
from epctx.target import weaknesses


@click.command(short_help="Prove on weak targets that the cases find what they claim to.")
@options.jobs
@options.boxing
@click.option(
    "--only", metavar="GLOB", help="Only weak targets whose name matches; rules and cases are then not held to be complete."
)
@click.option(
    "--repeat",
    default=1,
    show_default=True,
    type=click.IntRange(1, 1000),
    metavar="N",
    help="How often the reference helper runs.",
)
@click.option("--save", type=click.Path(path_type=Path), metavar="FILE", help="Write the matrix to this Markdown file.")
def command(jobs: int, unboxed: bool, only: str | None, repeat: int, save: Path | None) -> None:
    """Run every case on every weak target, and on the reference helper, and print what found what.

    Every weak target must be caught by each rule that it names and by no other of tier spec, every rule must have a case and a
    weak target, every case must catch some weak target, and the reference helper none.

    \b
    Exit codes: 0 all that is so, 1 it is not, 2 bad input,
    3 harness unusable, 130 interrupted.
    """
    console = Output()
    weak = [w for w in weaknesses() if only is None or matcher(only).match(w.name)]
    if not weak:
        raise UsageError(f"--only {only!r} matches no weak target (see `epctx list weak`).")
    if save:
        options.save("--save", save, "")  # better told now than in some minutes
    start = time.monotonic()
    with Runner(jobs=jobs, box="none" if unboxed else None) as runner, console.busy("") as status:
        matrix = selftest(
            runner, options.listed_cases(), weak, repeats=repeat, progress=lambda name: status.update(name) if status else None
        )
    proven = matrix.proven if only is None else not matrix.alarms and not any(r.missed or r.stray for r in matrix.rows)
    _print(console, matrix, whole=only is None)
    if save:
        options.save("--save", save, markdown(matrix))
    caught = sum(bool(r.broken) and not r.missed for r in matrix.rows)
    seconds = f"{time.monotonic() - start:.0f} s"
    text = f"\n{caught} of {plural(len(matrix.rows), 'weak target')} caught by every rule that they name, {seconds}"
    console.print(Text(text, style="dim"))
    verdict = "the suite proves its power" if proven else "the suite does not prove its power: see missed, stray and faults above"
    console.print(Text(verdict, style="bold green" if proven else "bold red"))
    sys.exit(0 if proven else 1)


def _print(console: Console, matrix: Matrix, *, whole: bool) -> None:
    for row in matrix.rows:
        named = {r: ids for r, ids in row.broken.items() if r in row.weakness.breaks}
        others = {r: ids for r, ids in row.broken.items() if r not in named and r not in row.stray}
        stray = {r: row.broken[r] for r in row.stray}
        rows: list[tuple[str, str | Text]] = [("caught by", _counted(named) or Text("nothing", style="bold red"))]
        rows += [("with it", Text(_counted(others), style="dim"))] if others else []
        rows += [("missed", Text(", ".join(row.missed), style="bold red"))] if row.missed else []
        rows += [("stray", Text(_counted(stray), style="bold red"))] if stray else []
        console.print(Text.assemble((row.weakness.target, "bold"), f"  {row.weakness.summary}"))
        console.print(indented(labelled(rows)))
    faults = [("false alarm on the reference helper", matrix.alarms)]
    if whole:
        faults += [
            ("rule without a case", matrix.untested),
            ("rule that no weak target breaks", matrix.unbroken),
            ("case that proves nothing: no weak target fails it", matrix.powerless),
        ]
    for label, names in faults:
        for name in names:
            console.print(Text(f"{label}: {name}", style="bold red"))


def _counted(broken: dict[str, tuple[str, ...]]) -> str:
    """Rules, each with the number of cases that saw it broken."""
    return ", ".join(f"{rule}({len(ids)})" for rule, ids in broken.items())
