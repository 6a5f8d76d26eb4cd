"""``epctx list``: what there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click
from rich.text import Text

from epctx.attack import families
from epctx.cli import options
from epctx.errors import UsageError
from epctx.faults import read
from epctx.oracle import POLICIES, PROFILES, RULES, Profile
from epctx.report.formats import comparisons, reports
from epctx.report.rows import Row, show
from epctx.report.terminal import COLOURS
from epctx.run.select import matcher
from epctx.target import kinds, weaknesses

WHAT = ("attacks", "cases", "rules", "targets", "weak", "profiles", "published", "reports")


@click.command(short_help="List attacks, cases, rules, targets, weak targets, profiles, published faults or reports.")
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
    reports   the formats of --report, of a run or a comparison
    """
    listed: dict[str, Callable[[], Sequence[Row]]] = {
        "attacks": _attacks,
        "cases": _cases,
        "rules": _rules,
        "targets": _targets,
        "weak": _weak,
        "profiles": _profiles,
        "published": _published,
        "reports": _reports,
    }
    rows = listed[what]()
    if only:
        pattern = matcher(only)
        rows = [row for row in rows if pattern.match(str(row[0]))]
        if not rows:
            raise UsageError(f"--only {only!r} matches none of the {what}.")
    show(rows)


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


def _reports() -> Sequence[Row]:
    of_runs = [(name, "of a run", format.summary) for name, format in reports().items()]
    return of_runs + [(name, "of a comparison", format.summary) for name, format in comparisons().items()]
