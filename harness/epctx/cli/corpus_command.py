"""``epctx corpus``: keep what was found, so that it runs again."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import click
from rich.text import Text

from epctx.case import Case, Sanitizer, shown
from epctx.cli import options
from epctx.errors import UsageError
from epctx.fuzz import corpus
from epctx.fuzz.corpus import Became, Change
from epctx.report.console import Output, plural
from epctx.report.rows import show
from epctx.run.check import judging
from epctx.run.runner import Runner

into = click.option(
    "--into",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder that they go to; by default that of the source tree.",
)
STYLES: dict[Became, str] = {"added": "green", "shrunk": "green", "dropped": "yellow", "in company": "yellow"}


@click.group(short_help="Keep what was found, so that it runs again.")
def command() -> None:
    """Keep what was found in a folder of cases, one in each file.

    What lies in the regressions of epctx's source tree runs in every check; a folder of your own with `epctx check --cases DIR`.
    """


@command.command("add")
@click.argument("finds", nargs=-1, required=True, type=click.Path(path_type=Path))
@into
def add(finds: tuple[Path, ...], into: Path | None) -> None:
    """Add FINDS: directories of campaigns, folders of findings, case files, or folders of such files.

    What is there already, by what it does or by its fingerprint, is not added again; neither is what fails only in company.
    """
    given = list(chain.from_iterable(map(corpus.finds, finds)))
    _tell(corpus.add(into or options.regressions(), given))


@command.command("merge")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path, file_okay=False))
@into
def merge(folders: tuple[Path, ...], into: Path | None) -> None:
    """Add all cases of FOLDERS, which `epctx corpus` made; of two with the same fingerprint the shorter one is kept."""
    given = [(case, None) for folder in folders for case in _cases(folder)]
    _tell(corpus.add(into or options.regressions(), given))


@command.command("minimise")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.argument("target", default="reference")
@options.judging
@options.jobs
@options.boxing
@options.sanitizing
def minimise(
    folder: Path,
    target: str,
    profile_name: str | None,
    policies: tuple[str, ...],
    jobs: int,
    unboxed: bool,
    sanitizer: Sanitizer | None,
) -> None:
    """Drop the cases of FOLDER that fail on TARGET only in ways in which others do, and shrink the others.

    A case that passes there is left as it is. Cases keep their names.
    """
    console = Output()
    _cases(folder)
    launch = options.prepared(target, console, sanitizer)
    with Runner(jobs=jobs, box="none" if unboxed else None) as runner:
        profile = judging(launch, runner.conditions(launch), profile_name, policies)
        _tell(corpus.minimise(folder, runner, launch, profile))


@command.command("list")
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False))
def list_(folder: Path | None) -> None:
    """List the cases of FOLDER, by default the regressions of the source tree: id, intent, calls, and what it is about."""
    cases = _cases(folder or options.regressions())
    calls = [", ".join(f"{call.op} {shown(next(iter(call.names), None), 40)}" for call in case.calls) for case in cases]
    show([(case.id, case.intent, calls[n], case.summary) for n, case in enumerate(cases)])


@command.command("encode")
@click.argument("finds", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--into", required=True, type=click.Path(path_type=Path), metavar="DIR", help="The folder of inputs.")
def encode(finds: tuple[Path, ...], into: Path) -> None:
    """Write FINDS, as `add` takes them, as inputs of native fuzzers: a file for each.

    Such an input has one call in a world of a few; what is no such case becomes the cases nearest to it, by its names.
    """
    cases = [case for path in finds for case, _ in corpus.finds(path)]
    inputs, exact = corpus.as_inputs(cases)
    corpus.write_inputs(into, inputs)
    told = f"{plural(len(inputs), 'input')} in {into}, of {plural(len(cases), 'case')}, {exact:,} of them exactly"
    Output().print(Text(told), soft_wrap=True)


@command.command("decode")
@click.argument("inputs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--into", required=True, type=click.Path(path_type=Path), metavar="DIR", help="The folder of cases.")
def decode(inputs: tuple[Path, ...], into: Path) -> None:
    """Write INPUTS of native fuzzers, files or folders of them, as cases: a file for each."""
    files = [file for path in inputs for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
    cases, none = corpus.of_inputs(files)
    for case in cases:
        corpus.write(into, case)
    told = f"{plural(len(cases), 'case')} in {into}, of {plural(len(files), 'input')}, {none:,} of which are no case"
    Output().print(Text(told), soft_wrap=True)


def _cases(folder: Path) -> list[Case]:
    found = list(corpus.read(folder).values())
    if not found:
        raise UsageError(f"{folder}: there is no case in this folder.")
    return found


def _tell(changes: Iterable[Change]) -> None:
    """Print what becomes of each case, and of how many what."""
    console, counts = Output(), dict[Became, int]()
    for change in changes:
        counts[change.became] = counts.get(change.became, 0) + 1
        style = STYLES.get(change.became, "dim")
        words = (f"{change.became:10}", style), "  ", (change.id, "bold"), ("  " + change.why if change.why else "", "dim")
        console.print(Text.assemble(*words), soft_wrap=True)
    console.print(Text("; ".join(f"{plural(count, 'case')} {became}" for became, count in counts.items()) or "there was no case"))
