"""What `epctx smoke` prints: a line for each step, what to mend below those that failed, and whether the target is usable."""

from __future__ import annotations

import shlex

from rich.console import Console
from rich.text import Text

from epctx.report.console import indented
from epctx.run.smoke import TRIALS, Came, Step, usable

STYLES: dict[Came, str] = {"ok": "green", "left out": "dim", "warning": "yellow", "failed": "bold red"}
MARK = max(map(len, STYLES)) + 2
WIDTH = max(len(trial.what) for trial in TRIALS) + 2


def step(console: Console, done: Step) -> None:
    """Print a step that is done."""
    line = Text.assemble((f"{done.came:<{MARK}}", STYLES[done.came]), f"{done.what:<{WIDTH}}", (done.seen, "dim"))
    line.rstrip()
    console.print(line)
    if done.mend:
        console.print(indented(Text(done.mend), MARK))


def conclusion(console: Console, target: str, steps: list[Step]) -> None:
    """Say what all steps come to."""
    number = sum(step.came == "failed" for step in steps)
    console.print()
    if not usable(steps):
        console.print(Text.assemble((f"{target} is not usable yet", "bold red"), f": {number} of {len(steps)} steps failed"))
        return
    console.print(Text.assemble((f"{target} is usable", "bold green"), ": now judge it with"))
    console.print(indented(Text(f"epctx check {shlex.quote(target)}")))
