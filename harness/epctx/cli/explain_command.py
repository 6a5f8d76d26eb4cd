"""``epctx explain``: what a rule demands, and why."""

from __future__ import annotations

from difflib import get_close_matches

import click
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from epctx.cli import options
from epctx.errors import UsageError
from epctx.oracle import RULES
from epctx.report.terminal import COLOURS
from epctx.target import weaknesses


@click.command()
@click.argument("rule")
def command(rule: str) -> None:
    """Explain RULE: its statement, why it matters, its source, the cases that aim at it, and the weak targets that break it."""
    if rule not in RULES:
        near = get_close_matches(rule, RULES, 1, 0.4)
        raise UsageError(f"There is no rule {rule!r}" + (f"; did you mean {near[0]!r}?" if near else "; see `epctx list rules`."))
    found, console = RULES[rule], Console()
    console.print(Text.assemble((found.id, "bold"), "  ", (found.severity, COLOURS[found.severity]), f"  tier {found.tier}"))
    for text in (found.statement, found.why):
        console.print(Padding(Text(" ".join(text.split())), (1, 0, 0, 2)))
    console.print(Padding(Text(f"source: {found.source}", style="dim"), (1, 0, 0, 2)))
    cases = [c.id for c in options.listed_cases() if rule in c.rules]
    weak = [w.name for w in weaknesses() if rule in w.breaks]
    shown = ", ".join(cases[:6]) + (f", and {len(cases) - 6} more" if len(cases) > 6 else "")
    console.print(Padding(Text(f"cases: {shown or 'none; it is judged on every case'}", style="dim"), (0, 0, 0, 2)))
    console.print(Padding(Text(f"broken by: {', '.join(f'weak:{n}' for n in weak)}", style="dim"), (0, 0, 0, 2)))
