"""``epctx list``: what there is."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from epctx.attack import families
from epctx.cli import options
from epctx.errors import UsageError
from epctx.oracle import POLICIES, PROFILES, RULES
from epctx.report.terminal import COLOURS
from epctx.run.select import matcher
from epctx.target import kinds, weaknesses


@click.command()
@click.argument("what", type=click.Choice(["attacks", "cases", "rules", "targets", "weak", "profiles"]))
@click.option("--only", metavar="GLOB", help="Only entries whose name matches.")
def command(what: str, only: str | None) -> None:
    """List the attacks (families of cases), cases, rules, kinds of targets, weak targets, or profiles."""
    rows = {"attacks": _attacks, "cases": _cases, "rules": _rules, "targets": _targets, "weak": _weak, "profiles": _profiles}[
        what
    ]()
    if only:
        pattern = matcher(only)
        rows = [row for row in rows if pattern.match(str(row[0]))]
        if not rows:
            raise UsageError(f"--only {only!r} matches none of the {what}.")
    console = Console()
    if not console.is_terminal:
        for row in rows:
            click.echo("\t".join(str(cell) for cell in row))
        return
    table = Table.grid(padding=(0, 2))
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    console.print(table)


def _attacks() -> Sequence[tuple[str | Text, ...]]:
    return [(name, f"{sum(1 for _ in family.cases())} cases", family.summary) for name, family in families().items()]


def _cases() -> Sequence[tuple[str | Text, ...]]:
    return [(case.id, case.intent, case.summary) for case in options.listed_cases()]


def _rules() -> Sequence[tuple[str | Text, ...]]:
    return [(r.id, Text(r.severity, style=COLOURS[r.severity]), r.tier, " ".join(r.statement.split())) for r in RULES.values()]


def _targets() -> Sequence[tuple[str | Text, ...]]:
    return [(name, kind.summary) for name, kind in kinds().items()]


def _weak() -> Sequence[tuple[str | Text, ...]]:
    return [(w.name, w.summary, ", ".join(w.breaks)) for w in weaknesses()]


def _profiles() -> Sequence[tuple[str | Text, ...]]:
    policies = ", ".join(POLICIES)
    return [(p.name, p.summary, f"tiers {', '.join(p.tiers)}; left to --policy: {policies}") for p in PROFILES.values()]
