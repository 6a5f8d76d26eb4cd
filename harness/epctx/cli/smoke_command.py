"""``epctx smoke``: prove that a target can be judged, step by step."""

from __future__ import annotations

import sys

import click

from epctx.cli import options
from epctx.report import smoke as report
from epctx.report.console import Output
from epctx.run.runner import Runner
from epctx.run.smoke import Step, smoke, usable


@click.command(short_help="Prove that a target can be judged, step by step.")
@click.argument("target", default="reference")
@options.boxing
@options.patience
@options.settings()
def command(target: str, unboxed: bool, patience: float | None) -> None:
    """Try what every usable TARGET does, one thing after the other, and say what to mend where it does not.

    TARGET is as in `epctx check`. It is made ready, comes up, reads a good file, refuses a missing one, writes one, reads it
    back, and ends by itself. What it does with callbacks, and with a name that leads outside, is told and not demanded: whether
    it is safe is for `epctx check` to say.

    \b
    Exit codes: 0 the target is usable, 2 bad input,
    3 it is not usable, 130 interrupted.
    """
    console = Output()
    steps: list[Step] = []
    with Runner(jobs=1, box="none" if unboxed else None) as runner:
        for step in smoke(runner, lambda: options.prepared(target, console, patience=patience)):
            steps.append(step)
            report.step(console, step)
    report.conclusion(console, target, steps)
    sys.exit(0 if usable(steps) else 3)
