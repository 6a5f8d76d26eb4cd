"""``epctx check``: judge a target by every case."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from epctx import __version__
from epctx.case import Case, Sanitizer
from epctx.cli import INTERRUPTED, options
from epctx.oracle import Profile
from epctx.report import terminal
from epctx.report.console import Output
from epctx.report.jsonl import JsonLines
from epctx.report.record import Footer, Header, Line, footer
from epctx.run.check import Judged, check, judging
from epctx.run.runner import Runner
from epctx.run.select import select, skip
from epctx.target import Launch


@click.command(short_help="Judge a target by every case.")
@click.argument("target", default="reference")
@options.judging
@options.jobs
@options.boxing
@options.sanitizing
@click.option(
    "--only", multiple=True, metavar="GLOB", help="Run only cases whose id matches, for example 'links/*', and the controls."
)
@click.option("--skip", "skips", multiple=True, metavar="'GLOB: REASON'", help="Do not run cases whose id matches.")
@options.case_files("Run the cases of this .json or .jsonl file, and the controls.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first case that fails.")
@click.option("--all", "everything", is_flag=True, help="Show every finding in full.")
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write what was seen and what it means as JSON lines.",
)
def command(
    target: str,
    profile_name: str | None,
    policies: tuple[str, ...],
    jobs: int,
    unboxed: bool,
    sanitizer: Sanitizer | None,
    only: tuple[str, ...],
    skips: tuple[str, ...],
    files: tuple[Path, ...],
    fail_fast: bool,
    everything: bool,
    json_path: Path | None,
) -> None:
    """Judge TARGET, by default the bundled reference helper.

    \b
    reference    the bundled helper
                 ?platform=windows    with the name rules of Windows
                 ?chunking=ordered    writing in pieces, and declared so
    weak:NAME    the same with one fault; see `epctx list weak`
    header:PATH  a C++ header with the reference signatures
                 ?namespace=NS        where its functions are
                 &include=DIR         where its includes are
                 &chunking=ordered    if it writes payloads in pieces
    lib:PATH     a shared library with the ABI of epctx_target.h

    Cases with intent control run first: a target that refuses them is not usable, and nothing else is judged.

    \b
    Exit codes: 0 the target held, 1 findings, 2 bad input,
    3 target or harness unusable, 4 nothing ran, 130 interrupted.
    """
    console = Output()
    listed = options.with_controls(options.read_cases(files)) if files else options.listed_cases()
    cases, skipped = select(listed, only, [skip(text) for text in skips], controls=True)
    launch = options.prepared(target, console, sanitizer)
    with ExitStack() as stack:
        report = stack.enter_context(JsonLines(json_path)) if json_path else None
        runner = stack.enter_context(Runner(jobs=jobs, box="none" if unboxed else None))
        conditions = runner.conditions(launch)
        profile = judging(launch, conditions, profile_name, policies)
        head = Header(
            target,
            profile.name,
            len(cases),
            conditions.box,
            conditions.ort,
            __version__,
            datetime.now().astimezone().isoformat(timespec="seconds"),
            contract=profile.contract,
            scope=profile.scope,
            by_itself=profile.name == judging(launch, conditions).name,
            met=conditions.met,
            sessions=launch.sessions,
            lent=conditions.lent,
            policies=dict(profile.policies),
            boxed=conditions.strength != "none",
            unboxed=unboxed,
            sanitizer=sanitizer,
            instrumented=launch.instrumented,
            chunking=launch.chunking,
            files=tuple(map(str, files)),
            skipped=skipped,
        )
        terminal.header(console, head)
        if report:
            report.write(head)
        done, foot = _run(console, runner, launch, cases, profile, fail_fast)
        terminal.findings(console, [(j.case, j.verdict) for j in done], head, everything=everything)
        terminal.summary(console, head, foot)
        if report:
            for judged in done:
                report.write(Line(judged.index, judged.verdict, judged.observation))
            report.write(foot)
    sys.exit(_exit_code(foot))


def _run(
    console: Output, runner: Runner, launch: Launch, cases: list[Case], profile: Profile, fail_fast: bool
) -> tuple[list[Judged], Footer]:
    """Run with a progress bar; an interrupt ends it with what is known so far."""
    done: list[Judged] = []
    start, interrupted = time.monotonic(), False
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    with Progress(*columns, console=console, transient=True, disable=not console.live) as progress:
        task = progress.add_task("cases", total=len(cases), rate="")
        try:
            for judged in check(runner, launch, cases, profile, fail_fast=fail_fast):
                done.append(judged)
                rate = len(done) / (time.monotonic() - start)
                progress.update(task, advance=1, rate=f"{rate:,.0f} cases/s")
        except KeyboardInterrupt:
            interrupted = True
    done.sort(key=lambda j: j.index)
    verdicts, observations = [j.verdict for j in done], [j.observation for j in done]
    return done, footer(verdicts, observations, time.monotonic() - start, interrupted)


def _exit_code(foot: Footer) -> int:
    counts = foot.counts
    if foot.interrupted:
        return INTERRUPTED
    if any(counts.get(r) for r in ("fail", "hang", "crash")):
        return 1
    if counts.get("error"):
        return 3
    return 0 if foot.held else 4
