"""``epctx diff``: two targets, or two saved runs, beside each other."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import click
import msgspec
from msgspec.structs import replace

from epctx.case import Case, Sanitizer
from epctx.cli import options, reporting, running
from epctx.errors import INTERRUPTED, UsageError
from epctx.report import jsonl, terminal
from epctx.report.comparison import Comparison, compare, document
from epctx.report.console import Output
from epctx.report.differences import differences
from epctx.report.files import ReportFile, write_all
from epctx.report.record import Line, Run, footer
from epctx.run.check import judging
from epctx.run.runner import Runner
from epctx.run.select import select, skip


class How(NamedTuple):
    """How targets are run that are no saved runs."""

    profile: str | None
    policies: tuple[str, ...]
    jobs: int
    unboxed: bool
    sanitizer: Sanitizer | None
    files: tuple[Path, ...]


@click.command(short_help="Hold two targets, or two saved runs, against each other.")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@options.judging
@options.jobs
@options.boxing
@options.sanitizing
@click.option("--only", multiple=True, metavar="GLOB", help="Compare only cases whose id matches, for example 'links/*'.")
@click.option("--skip", "skips", multiple=True, metavar="'GLOB: REASON'", help="Do not run cases whose id matches.")
@options.case_files("Run the cases of this .json or .jsonl file, or of all in this folder, and the controls.")
@click.option("--all", "everything", is_flag=True, help="Show every change in full.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), metavar="FILE", help="Write the comparison as JSON.")
@reporting.comparisons
def command(
    first: str,
    second: str,
    profile_name: str | None,
    policies: tuple[str, ...],
    jobs: int,
    unboxed: bool,
    sanitizer: Sanitizer | None,
    only: tuple[str, ...],
    skips: tuple[str, ...],
    files: tuple[Path, ...],
    everything: bool,
    json_path: Path | None,
    reports: tuple[reporting.Wanted[Comparison], ...],
) -> None:
    """Hold B against A: what got worse, what got better, and what changed without a verdict on it.

    Each is a target as in `epctx check`, which is run, or a file that `epctx check --json` saved. A target beside a saved run is
    run on its cases and judged by its profile, unless told otherwise.

    Worse is a rule that breaks in B and does not in A. A case that one of them did not judge or does not have is told, and
    neither better nor worse.

    \b
    Exit codes: 0 nothing is worse, 1 something is, 2 bad input,
    3 target or harness unusable, or B has errors of the harness,
    4 no case was judged in both, 130 interrupted.
    """
    console = Output()
    saved = {text: jsonl.read(Path(text)) for text in dict.fromkeys((first, second)) if _is_saved(text)}
    how = How(profile_name, policies, jobs, unboxed, sanitizer, files)
    _check(how, skips, saved, len({first, second}))
    beside = next(iter(saved.values()), None)
    cases, skipped = _cases(beside, files, only, skips)
    with ExitStack() as stack:
        report_files = [stack.enter_context(ReportFile(w.format, w.path)) for w in reports if w.path]
        data = stack.enter_context(_Data(json_path)) if json_path else None
        chosen = {case.id for case in cases}
        runs = [
            _restricted(saved[text], chosen) if text in saved else _run(console, text, cases, skipped, how, beside)
            for text in (first, second)
        ]
        compared = compare(*runs)
        differences(console, compared, everything=everything)
        written, failure = write_all(report_files, compared)
        terminal.reports_written(console, written)
        if data:
            data.write(compared)
    if failure:
        raise failure
    sys.exit(_exit_code(compared))


def _is_saved(text: str) -> bool:
    return text.endswith((".jsonl", ".json")) or Path(text).is_file()


def _check(how: How, skips: Sequence[str], saved: dict[str, Run], sides: int) -> None:
    """UsageError for options that would do nothing."""
    if saved and how.files:
        raise UsageError("The cases are those of the saved run; leave out --cases.")
    given = (("--profile", how.profile), ("--policy", how.policies), ("--sanitize", how.sanitizer), ("--unboxed", how.unboxed))
    for name, value in given if len(saved) == sides else ():
        if value:
            raise UsageError(f"{name} is for targets that run, and both sides are saved runs; leave it out.")


def _cases(
    beside: Run | None, files: Sequence[Path], only: Sequence[str], skips: Sequence[str]
) -> tuple[list[Case], dict[str, str]]:
    if beside:
        listed = [line.case for line in beside.lines]
    else:
        listed = options.with_controls(options.read_cases(files)) if files else options.listed_cases()
    return select(listed, only, [skip(text) for text in skips], controls=True)


def _restricted(run: Run, ids: set[str]) -> Run:
    """A saved run, as if only these cases had run."""
    lines = [line for line in run.lines if line.case.id in ids]
    old = run.footer
    foot = footer([line.verdict for line in lines], [line.observation for line in lines], old.seconds, old.interrupted)
    return Run(replace(run.header, cases=min(run.header.cases, len(ids))), lines, foot)


def _run(console: Output, target: str, cases: list[Case], skipped: dict[str, str], how: How, beside: Run | None) -> Run:
    """Run a target, in the way in which the saved run beside it was run."""
    profile_name, policies, sanitizer, unboxed = how.profile, how.policies, how.sanitizer, how.unboxed
    if beside:
        head = beside.header
        profile_name = profile_name or (None if head.by_itself else head.profile)
        policies = policies or tuple(f"{rule}={stance}" for rule, stance in head.policies.items())
        sanitizer, unboxed = sanitizer or head.sanitizer, unboxed or head.unboxed
    launch = options.prepared(target, console, sanitizer)
    with Runner(jobs=how.jobs, box="none" if unboxed else None) as runner:
        conditions = runner.conditions(launch)
        profile = judging(launch, conditions, profile_name, policies)
        head = running.header(target, launch, conditions, profile, len(cases), skipped, unboxed=unboxed)
        head = replace(head, files=beside.header.files if beside else tuple(map(str, how.files)))
        done, seconds, interrupted = running.run(console, runner, launch, cases, profile)
    if interrupted:
        sys.exit(INTERRUPTED)
    lines = [Line(j.index, j.case, j.verdict, j.observation) for j in done]
    return Run(head, lines, footer([j.verdict for j in done], [j.observation for j in done], seconds))


class _Data:
    """The file of --json, opened before anything runs. A context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> _Data:
        try:
            self._file = self._path.open("wb")
        except OSError as error:
            raise self._failed(error) from None
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()

    def write(self, compared: Comparison) -> None:
        try:
            self._file.write(msgspec.json.format(msgspec.json.encode(document(compared)), indent=2) + b"\n")
            self._file.flush()
        except OSError as error:
            raise self._failed(error) from None

    def _failed(self, error: OSError) -> UsageError:
        return UsageError(f"--json {self._path}: {error.strerror}; name a file that can be written.")


def _exit_code(compared: Comparison) -> int:
    if compared.of("worse"):
        return 1
    if compared.after.footer.counts.get("error"):
        return 3
    return 0 if compared.compared else 4
