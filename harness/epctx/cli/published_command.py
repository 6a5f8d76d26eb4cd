"""``epctx published``: find published faults in the releases that have them, and nothing in those that fixed them."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec
from rich.text import Text

from epctx import __version__
from epctx.cli import options
from epctx.errors import INTERRUPTED
from epctx.faults import Environment, Faults, read
from epctx.report import published as report
from epctx.report.console import Output, plural
from epctx.run.published import Row, chosen, published, settle
from epctx.run.runner import Runner
from epctx.target import environment


@click.command(short_help="Find published faults where they were, and none where they are fixed.")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@options.jobs
@options.boxing
@click.option(
    "--faults",
    "path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Take the faults from this TOML file instead of the bundled one.",
)
@click.option("--fresh", is_flag=True, help="Make the environments anew, also those that are there.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), metavar="FILE", help="Write the table as JSON, too.")
def command(ids: tuple[str, ...], jobs: int, unboxed: bool, path: Path | None, fresh: bool, json_path: Path | None) -> None:
    """Look for the published faults whose ID matches (globs; by default all) in two releases each: the cases that show a fault
    must find it in the vulnerable release, and nothing in the fixed one.

    Each release is installed in a virtual environment of its own, by uv where that is at hand, else by pip, and kept for the
    next time. `epctx list published` names the faults and where they are described.

    \b
    Exit codes: 0 every cell is right, 1 a cell is wrong, 2 bad input,
    3 an environment cannot be made or a release not be judged,
    4 nothing ran, 130 interrupted.
    """
    console, start = Output(), time.monotonic()
    faults = read(path or options.bundled_faults())
    picked = chosen(faults, ids)
    cases = options.listed_cases()
    settle(picked, cases)
    if json_path:
        options.save("--json", json_path, "")  # better told now than in some minutes
    wanted = list(dict.fromkeys(name for fault in picked for name in (fault.vulnerable, fault.fixed)))
    missing = {name: why for name in wanted if (why := environment.obstacle(faults.environment(name)))}
    pythons = _make(console, faults, [name for name in wanted if name not in missing], fresh)
    rows: list[Row] = []
    interrupted = False
    with Runner(jobs=jobs, box="none" if unboxed else None) as runner, console.busy("") as status:
        try:
            for row in published(runner, picked, pythons, missing, cases, status.update if status else lambda words: None):
                rows.append(row)
        except KeyboardInterrupt:
            interrupted = True
    done = report.Report(__version__, platform.python_version(), tuple(rows), round(time.monotonic() - start, 3), interrupted)
    report.table(console, rows)
    report.details(console, rows)
    report.conclusion(console, done, len(picked))
    if json_path:
        options.save("--json", json_path, msgspec.json.format(msgspec.json.encode(done), indent=2).decode() + "\n")
    sys.exit(_exit_code(done))


def _make(console: Output, faults: Faults, names: Sequence[str], fresh: bool) -> dict[str, str]:
    """The interpreters of the environments of these names, made where they are not there yet."""
    wanted = [faults.environment(name) for name in names]
    count = plural(len(names), "environment")
    ready: list[str] = []
    with console.busy(f"making {count}") as status:

        def tell(one: Environment, _: environment.Made) -> None:
            ready.append(one.name)
            if status:
                status.update(f"making {count}: {len(ready)} ready, the last was {one.name}")

        made = environment.make_all(wanted, fresh=fresh, progress=tell)
    new = sum(one.seconds > 0 for one in made)
    console.print(Text(f"{count} in {environment.directory()}, {new} of them made now", style="dim"))
    return {name: one.python for name, one in zip(names, made, strict=True)}


def _exit_code(done: report.Report) -> int:
    outcomes = {cell.outcome for row in done.rows for cell in row.cells}
    if done.interrupted:
        return INTERRUPTED
    if "wrong" in outcomes:
        return 1
    if "unusable" in outcomes:
        return 3
    return 0 if "right" in outcomes else 4
