"""``epctx replay``: run one case again, alone, and show everything that was seen."""

from __future__ import annotations

import sys

import click
from rich.console import Console

from epctx.cli import options
from epctx.oracle import expectations, judge, profile
from epctx.report import terminal
from epctx.report.detail import case_detail, observation_detail
from epctx.run.runner import Runner


@click.command()
@click.argument("case")
@click.argument("target", default="reference")
@options.judging
@options.boxing
def command(case: str, target: str, profile_name: str, policies: tuple[str, ...], unboxed: bool) -> None:
    """Run CASE (an id, or a file with one case) on TARGET alone, and show the world, the calls, and all that was seen.

    Exit code 0 if every rule of the profile held, 1 if one broke.
    """
    console = Console()
    chosen = options.find_case(case)
    launch = options.prepared(target, console)
    judging = profile(profile_name, policies, launch.platform)
    with Runner(jobs=1, box="none" if unboxed else None) as runner:
        _, observation = next(runner.run(launch, [chosen]))
    verdict = judge(chosen, observation, judging)
    console.print(case_detail(chosen, expectations(chosen, judging)))
    console.print(observation_detail(observation))
    terminal.verdict(console, verdict)
    sys.exit(1 if verdict.fails else 3 if verdict.result == "error" else 4 if verdict.result == "skip" else 0)
