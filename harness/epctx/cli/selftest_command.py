"""``epctx selftest``: the suite proves its own power."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from epctx.cli import options
from epctx.errors import UsageError
from epctx.report.matrix import markdown
from epctx.run.runner import Runner
from epctx.run.select import matcher
from epctx.run.selftest import Matrix, selftest
from epctx.target import weaknesses


@click.command()
@options.jobs
@options.boxing
@click.option(
    "--only", metavar="GLOB", help="Only weak targets whose name matches; rules and cases are then not held to be complete."
)
@click.option("--repeat", default=1, show_default=True, type=click.IntRange(1, 1000), help="How often the reference helper runs.")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Write the matrix to this Markdown file.")
def command(jobs: int, unboxed: bool, only: str | None, repeat: int, save: Path | None) -> None:
    """Run every case on every weak target, and on the reference helper, and print what found what.

    Every weak target must be caught by each rule that it names and by no other of tier spec, every rule must have a case and a
    weak target, every case must catch some weak target, and the reference helper none. Exit code 1 where that is not so.
    """
    console = Console()
    weak = [w for w in weaknesses() if only is None or matcher(only).match(w.name)]
    if not weak:
        raise UsageError(f"--only {only!r} matches no weak target (see `epctx list weak`).")
    start = time.monotonic()
    with Runner(jobs=jobs, box="none" if unboxed else None) as runner, console.status("") as status:
        matrix = selftest(runner, options.listed_cases(), weak, repeats=repeat, progress=lambda name: status.update(name))
    _print(console, matrix, whole=only is None)
    if save:
        try:
            save.write_text(markdown(matrix), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"--save {save}: {error.strerror}; name a file that can be written.") from None
    proven = matrix.proven if only is None else not matrix.alarms and not any(r.missed or r.stray for r in matrix.rows)
    caught = sum(bool(r.broken) and not r.missed for r in matrix.rows)
    verdict = "the suite proves its power" if proven else "the suite does not prove its power"
    console.print(
        Text(
            f"{caught} of {len(matrix.rows)} weak targets caught by every rule that they name, "
            f"{time.monotonic() - start:.0f} s: {verdict}",
            style="bold green" if proven else "bold red",
        )
    )
    sys.exit(0 if proven else 1)


def _print(console: Console, matrix: Matrix, *, whole: bool) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("weak target", "caught by", "with it", "missed", "stray"):
        table.add_column(column, overflow="fold")
    for row in matrix.rows:
        named = [f"{r} {len(ids)}" for r, ids in row.broken.items() if r in row.weakness.breaks]
        others = [f"{r} {len(ids)}" for r, ids in row.broken.items() if r not in row.weakness.breaks and r not in row.stray]
        table.add_row(
            row.weakness.name,
            Text(", ".join(named)),
            Text(", ".join(others), style="dim"),
            Text(", ".join(row.missed), style="bold red"),
            Text(", ".join(row.stray), style="bold red"),
        )
    console.print(table)
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
