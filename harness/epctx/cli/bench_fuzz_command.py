"""``epctx bench fuzz``: how long campaigns search until they find something, and how much they execute."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.text import Text

from epctx.cli import options
from epctx.errors import INTERRUPTED, NothingRan, UsageError
from epctx.fuzz.bench import CALLS, CASES, CHOSEN, Pace, Searches, lacking, pace, reachable, searches
from epctx.fuzz.engine import ENGINES
from epctx.report.console import Output, plural
from epctx.report.searches import cells, markdown, table
from epctx.run.runner import Runner
from epctx.run.select import matcher
from epctx.target import Weakness

MEASURED = "weak:S7"
"""The target on which rates are measured: the helper of the design document."""


@click.command(short_help="Measure how soon campaigns find faults that are known.")
@click.option("--engine", "engines", multiple=True, type=click.Choice(list(ENGINES)), help="Only this engine; by default all.")
@click.option(
    "--targets",
    "globs",
    multiple=True,
    metavar="GLOB",
    help="Weak targets whose names match, '*' for all; by default some of each kind.",
)
@click.option(
    "--seeds", default=10, show_default=True, type=click.IntRange(1, 1000), metavar="N", help="Searches for each target."
)
@click.option(
    "--cases",
    "most",
    type=click.IntRange(1),
    metavar="N",
    help=f"Give a search up after N cases, or calls of an engine that goes by coverage; by default {CASES:,} and {CALLS:,}.",
)
@click.option(
    "--seconds",
    default=2.0,
    show_default=True,
    type=click.FloatRange(0, 60),
    metavar="N",
    help="How long rates are measured, for each engine; 0 to leave them out.",
)
@click.option("--save", type=click.Path(path_type=Path), metavar="FILE", help="Write the tables to this Markdown file.")
@options.boxing
def command(
    engines: tuple[str, ...],
    globs: tuple[str, ...],
    seeds: int,
    most: int | None,
    seconds: float,
    save: Path | None,
    unboxed: bool,
) -> None:
    """Run campaigns on weak targets with each engine and several seeds, on one worker, each until it sees a rule broken that its
    target must break: executions and seconds to that first finding, as the median and the worst of all seeds.

    What is known is printed and saved also if it is interrupted.
    """
    weak, console = _weak(globs), Output()
    if save:
        options.save("--save", save, "")  # better told now than in some minutes
    usable = []
    for name in engines or ENGINES:
        if why := lacking(name):
            console.print(Text(f"{name} is left out: {why}", style="bold yellow"), soft_wrap=True)
        else:
            usable.append(name)
    if not usable:
        raise NothingRan("None of the engines can be used here.")
    found, fast = dict[tuple[str, str], Searches](), list[Pace]()
    interrupted = False
    with Runner(jobs=1, box="none" if unboxed else None) as runner:
        try:
            if seconds:
                launch = options.prepared(MEASURED, console)
                for name in usable:
                    with console.busy(f"measuring the rate of {name}"):
                        fast.append(pace(runner, launch, name, seconds))
            for weakness, name in itertools.product(weak, usable):
                for searched in _shown(console, searches(runner, weakness, name, seeds, most), weakness, name, seeds):
                    found[weakness.name, name] = searched
        except KeyboardInterrupt:
            interrupted = True
    for one in table(list(found.values()), fast):
        console.print("", one)
    if save:
        options.save("--save", save, markdown(list(found.values()), fast))
    if interrupted:
        sys.exit(INTERRUPTED)


def _weak(globs: Sequence[str]) -> list[Weakness]:
    """The weak targets that are meant."""
    known = {weakness.name: weakness for weakness in reachable()}
    if not globs:
        return [known[name] for name in CHOSEN]
    patterns = [matcher(glob) for glob in globs]
    chosen = [weakness for name, weakness in known.items() if any(pattern.match(name) for pattern in patterns)]
    if not chosen:
        raise UsageError(f"--targets {' '.join(globs)} matches no weak helper that can be searched (see `epctx list weak`).")
    return chosen


def _shown(console: Output, searches: Iterator[Searches], weakness: Weakness, name: str, seeds: int) -> Iterator[Searches]:
    """The same, while it is said how far it is; and a line once all seeds were tried."""
    with console.busy(f"{weakness.target} with {name}") as status:
        for searched in searches:
            if status:
                status.update(f"{weakness.target} with {name}: {len(searched.firsts)} of {plural(seeds, 'search')}")
            yield searched
    console.print(Text("  ".join(filter(None, cells(searched))), style="dim"))
