"""``epctx list``: what there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from epctx.attack import families
from epctx.cli import options
from epctx.errors import UsageError
from epctx.faults import read
from epctx.oracle import POLICIES, PROFILES, RULES, Profile
from epctx.report.console import Output, indented
from epctx.report.terminal import COLOURS
from epctx.run.select import matcher
from epctx.target import kinds, weaknesses

Row = tuple[str | Text, ...]
WHAT = ("attacks", "cases", "rules", "targets", "weak", "profiles", "published")
ROOM = 44
"""Columns that the last cell of an entry needs to stand beside the others."""


@click.command(short_help="List attacks, cases, rules, targets, weak targets, profiles or published faults.")
@click.argument("what", type=click.Choice(WHAT), metavar="WHAT")
@click.option("--only", metavar="GLOB", help="Only entries whose name matches.")
def command(what: str, only: str | None) -> None:
    """List WHAT, one entry a line; in a pipe the columns are separated by tabs.

    \b
    attacks   the families of cases
    cases     every case: id, intent, what it is
    rules     what a target must do: id, severity, tier, statement
    targets   the kinds of targets
    weak      the bundled targets with one fault each
    profiles  which rules must hold
    published the published faults, and where they are described
    """
    listed: dict[str, Callable[[], Sequence[Row]]] = {
        "attacks": _attacks,
        "cases": _cases,
        "rules": _rules,
        "targets": _targets,
        "weak": _weak,
        "profiles": _profiles,
        "published": _published,
    }
    rows = listed[what]()
    if only:
        pattern = matcher(only)
        rows = [row for row in rows if pattern.match(str(row[0]))]
        if not rows:
            raise UsageError(f"--only {only!r} matches none of the {what}.")
    console = Output()
    if not console.live:
        for row in rows:
            click.echo("\t".join(str(cell) for cell in row))
        return
    _print(console, [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows])


def _print(console: Console, rows: Sequence[Sequence[Text]]) -> None:
    """A table where its last column has room for some words on a line, else each last cell below the others."""
    before = sum(2 + max(cell.cell_len for cell in column) for column in list(zip(*rows, strict=True))[:-1])
    if before + ROOM <= console.width:
        table = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
        for row in rows:
            table.add_row(*row)
        console.print(table)
        return
    for name, *others, last in rows:
        name.stylize("bold")
        console.print(Text("  ").join((name, *others)))
        console.print(indented(last))


def _attacks() -> Sequence[Row]:
    return [(name, f"{sum(1 for _ in family.cases())} cases", family.summary) for name, family in families().items()]


def _cases() -> Sequence[Row]:
    return [(case.id, case.intent, case.summary) for case in options.listed_cases()]


def _rules() -> Sequence[Row]:
    return [(r.id, Text(r.severity, style=COLOURS[r.severity]), r.tier, " ".join(r.statement.split())) for r in RULES.values()]


def _targets() -> Sequence[Row]:
    return [(name, kind.summary) for name, kind in kinds().items()]


def _weak() -> Sequence[Row]:
    return [(w.name, w.summary, ", ".join(w.breaks)) for w in weaknesses()]


def _profiles() -> Sequence[Row]:
    return [(p.name, p.summary, _terms(p)) for p in PROFILES.values()]


def _terms(profile: Profile) -> str:
    """What a profile demands, on which side of each policy it is, what its loader does otherwise, and where that is published."""
    left = [rule for rule in POLICIES if rule not in profile.policies]
    words = [f"tiers {', '.join(profile.tiers)}"]
    words += ["judged by effects"] if profile.scope == "effects" else []
    words += [f"{rule}: {stance}" for rule, stance in profile.policies.items()]
    words += [f"left to --policy: {', '.join(left)}"] if left else []
    words += [f"{rule} only noted: {what}" for rule, what in profile.departures.items()]
    words += [f"sources: {' '.join(profile.sources)}"] if profile.sources else []
    return "; ".join(words)


def _published() -> Sequence[Row]:
    return [
        (f.id, f.target, f"{f.vulnerable}, fixed in {f.fixed}", f"{f.title}: {' '.join(f.sources)}")
        for f in read(options.bundled_faults()).faults
    ]
