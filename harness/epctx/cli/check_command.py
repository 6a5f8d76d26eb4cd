"""``epctx check``: judge a target by every case."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

import click
from msgspec.structs import replace

from epctx.case import Sanitizer
from epctx.cli import options, reporting, running
from epctx.cli.plan import header, plan
from epctx.errors import UsageError
from epctx.report import terminal
from epctx.report.console import Output
from epctx.report.files import ReportFile, write_all
from epctx.report.jsonl import JsonLines
from epctx.report.markdown import markdown
from epctx.report.record import Footer, Header, Line, Run, footer
from epctx.run.baseline import Baseline, brought_up_to_date
from epctx.run.baseline_file import NewFile, dumps
from epctx.run.check import Judged, by_luck, judging
from epctx.run.runner import Runner


@click.command(short_help="Judge a target by every case.")
@click.argument("target", default="reference")
@options.judging
@options.jobs
@options.boxing
@options.sanitizing
@options.platforms
@options.patience
@click.option(
    "--only", multiple=True, metavar="GLOB", help="Run only cases whose id matches, for example 'links/*', and the controls."
)
@click.option("--skip", "skips", multiple=True, metavar="'GLOB: REASON'", help="Do not run cases whose id matches.")
@options.case_files("Run the cases of this .json or .jsonl file, or of all in this folder, and the controls.")
@options.baselines
@options.settings()
@click.option("--fail-fast", is_flag=True, help="Stop at the first case that fails, and not only in ways that are known.")
@click.option("--all", "everything", is_flag=True, help="Show every finding in full, also those that are known.")
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Save the run, all that was seen and what it means, as JSON lines.",
)
@reporting.reports
@reporting.source
def command(
    target: str,
    profile_name: str | None,
    policies: tuple[str, ...],
    jobs: int,
    unboxed: bool,
    sanitizer: Sanitizer | None,
    platform: str | None,
    patience: float | None,
    only: tuple[str, ...],
    skips: tuple[str, ...],
    files: tuple[Path, ...],
    baseline_paths: tuple[Path, ...],
    new_baseline: Path | None,
    fail_fast: bool,
    everything: bool,
    json_path: Path | None,
    reports: tuple[reporting.Wanted[Run], ...],
    source: reporting.Source | None,
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
    ep:NAME      an execution provider in real sessions: bundled, or
                 qnn, openvino, openvino-builtin, FILE.toml
    ep:lib=PATH&name=NAME  one in a library of its own
    loader:NAME  a loader of external data: onnx, ort, onnx-hub
                 ?python=PATH         the interpreter that has the release
    python:MODULE:OBJECT   an object in Python with read and write
                 ?path=DIR            where the module is
                 &python=PATH         the interpreter that has it
                 &platform=windows    on an emulated file system, or macos
    exec:COMMAND a program that speaks JSON in lines
                 ?path=DIR            what else it needs to read
                 &env=NAME=VALUE      a variable of its environment

    Cases with intent control run first: a target that refuses them is not usable, and nothing else is judged. `epctx smoke
    TARGET` says what to mend then, step by step.

    \b
    Exit codes: 0 the target held, or all findings are known,
    1 findings, or known ones that no longer occur, 2 bad input,
    3 target or harness unusable, 4 nothing ran, 130 interrupted.
    """
    console, target = Output(), options.on_platform(target, platform)
    if new_baseline and fail_fast:
        raise UsageError("--write-baseline takes a whole run; leave out --fail-fast.")
    planned = plan(files, only, skips, baseline_paths)
    with ExitStack() as stack:
        fresh = stack.enter_context(NewFile(new_baseline)) if new_baseline else None
        report_files = [stack.enter_context(ReportFile(w.format, w.path)) for w in reports if w.path]
        launch = options.prepared(target, console, sanitizer, patience)
        saved = stack.enter_context(JsonLines(json_path)) if json_path else None
        runner = stack.enter_context(Runner(jobs=jobs, box="none" if unboxed else None))
        conditions = runner.conditions(launch)
        profile = judging(launch, conditions, profile_name, policies)
        known = planned.known(target, profile)
        head = replace(header(planned, launch, conditions, profile, known, unboxed=unboxed), settings=options.settings_in_force())
        head = reporting.with_source(head, source)
        terminal.header(console, head)
        if saved:
            saved.write(head)
        done, seconds, interrupted = running.run(
            console, runner, launch, planned.cases, profile, known.new if fail_fast else None
        )
        verdicts = [j.verdict for j in done]
        stale = known.stale((case.id for case in planned.every), verdicts)
        number = sum(v.fails and not known.new(v) for v in verdicts)
        foot = footer(verdicts, [j.observation for j in done], seconds, interrupted, number, stale)
        lines = [Line(j.index, j.case, j.verdict, j.observation, known.known(j.verdict)) for j in done]
        reasons = {line.verdict.case: line.known for line in lines}
        terminal.findings(console, [(j.case, j.verdict) for j in done], head, reasons, everything=everything)
        terminal.baselines(console, head, foot)
        if fresh:
            _write_baseline(console, fresh, known, done, head, foot)
        whole = Run(head, lines, foot)
        written, failure = write_all(report_files, whole)
        terminal.reports_written(console, written)
        reporting.to_step_summary(markdown(whole))
        terminal.summary(console, head, foot)
        if saved:
            for line in lines:
                saved.write(line)
            saved.write(foot)
    if failure:
        raise failure
    sys.exit(foot.exit_code)


def _write_baseline(console: Output, fresh: NewFile, known: Baseline, done: list[Judged], head: Header, foot: Footer) -> None:
    """Bring what is known up to date, unless an interrupt left too much open."""
    lucky = {j.case.id for j in done if by_luck(j) or not j.verdict.confirmed}
    entries = None if foot.interrupted else brought_up_to_date(known, [j.verdict for j in done], foot.stale, lucky)
    if entries is not None:
        fresh.write_text(dumps(entries, head.target, head.profile))
    terminal.baseline_written(console, fresh.path, entries)
