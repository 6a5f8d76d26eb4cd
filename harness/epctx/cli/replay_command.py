"""``epctx replay``: run one case again, alone, and show everything that was seen."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from epctx.case import Sanitizer
from epctx.cli import options
from epctx.oracle import expectations, judge
from epctx.report import terminal
from epctx.report.console import Output
from epctx.report.detail import case_detail, observation_detail
from epctx.run.check import judging
from epctx.run.runner import Runner


@click.command(short_help="Run one case alone, and show all that was seen.")
@click.argument("case")
@click.argument("target", default="reference")
@options.judging
@options.boxing
@options.sanitizing
@options.patience
@options.settings("cases")
@options.case_files("Look for CASE, an id, in this .json or .jsonl file, or in all of this folder.")
def command(
    case: str,
    target: str,
    profile_name: str | None,
    policies: tuple[str, ...],
    unboxed: bool,
    sanitizer: Sanitizer | None,
    patience: float | None,
    files: tuple[Path, ...],
) -> None:
    """Run CASE (an id, or a file with one case) on TARGET alone, and show the world, the calls, and all that was seen.

    TARGET is as in `epctx check`, by default the bundled reference helper.

    \b
    Exit codes: 0 every rule of the profile held, 1 one broke,
    2 bad input, 3 target or harness unusable,
    4 the case cannot run here, 130 interrupted.
    """
    console = Output()
    chosen = options.find_case(case, files)
    launch = options.prepared(target, console, sanitizer, patience)
    with Runner(jobs=1, box="none" if unboxed else None) as runner, console.busy(f"running {chosen.id}"):
        profile = judging(launch, runner.conditions(launch), profile_name, policies)
        _, observation = next(runner.run(launch, [chosen]))
    verdict = judge(chosen, observation, profile)
    console.print(case_detail(chosen, expectations(chosen, profile)))
    console.print(observation_detail(observation))
    terminal.verdict(console, chosen, verdict)
    sys.exit(1 if verdict.fails else 3 if verdict.result == "error" else 4 if verdict.result == "skip" else 0)
