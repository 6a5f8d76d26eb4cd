"""Baselines: findings of a target that are known, each with a reason.

A layer after judging: verdicts stay as they are, and so does whether the target held. What is known does not fail a run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import date

from msgspec.structs import replace

from epctx.case import Struct
from epctx.oracle import RULES, SEVERITIES, Verdict
from epctx.run.select import matcher


class Entry(Struct, frozen=True):
    """That cases whose id matches one of the globs ``cases`` break ``rule`` is known, and ``reason`` says why that may be so."""

    file: str
    number: int
    """Which entry of the file it is, from 1."""
    rule: str
    cases: tuple[str, ...]
    reason: str
    expires: date | None = None
    """The last day on which it counts."""
    sometimes: bool = False
    """Whether it does not occur in each run, so that it is never stale."""

    @property
    def where(self) -> str:
        """The entry, for people who look for it in its file."""
        return f"{self.file}: entry {self.number} ({self.rule})"


class Baseline:
    """What is known on the day ``today``; ``expired`` are the entries that do not count any more."""

    def __init__(self, entries: Sequence[Entry], today: date) -> None:
        self.entries = [e for e in entries if e.expires is None or today <= e.expires]
        self.expired = tuple(e for e in entries if e.expires is not None and e.expires < today)
        self._reasons: dict[str, list[tuple[re.Pattern[str], str]]] = {}
        for entry in self.entries:
            self._reasons.setdefault(entry.rule, []).extend((matcher(glob), entry.reason) for glob in entry.cases)

    def known(self, verdict: Verdict) -> dict[str, str]:
        """The rules that a case breaks and that are known of it, each with the reason."""
        broken = dict.fromkeys(f.rule for f in verdict.findings if f.fails)
        reasons = {rule: [r for glob, r in self._reasons.get(rule, ()) if glob.match(verdict.case)] for rule in broken}
        return {rule: found[0] for rule, found in reasons.items() if found}

    def new(self, verdict: Verdict) -> bool:
        """Whether a case fails, and breaks a rule that is not known of it."""
        known = self.known(verdict)
        return verdict.fails and any(f.fails and f.rule not in known for f in verdict.findings)

    def stale(self, ids: Iterable[str], verdicts: Iterable[Verdict]) -> tuple[Entry, ...]:
        """The entries that no longer occur, each with the globs of which that is so.

        ``ids`` are those of all cases that there are: of a glob it is only known once each case that it matches was judged. What
        is found outside the profile, and reported as a note, still occurs. An entry that expired is stale like any other.
        """
        broken = {v.case: {f.rule for f in v.findings} for v in verdicts if v.result not in ("skip", "error")}
        every = dict.fromkeys(ids)
        found = []
        for entry in (*self.entries, *self.expired):
            gone = () if entry.sometimes else tuple(g for g in entry.cases if _gone(g, entry.rule, every, broken))
            if gone:
                found.append(replace(entry, cases=gone))
        return tuple(sorted(found, key=lambda e: (e.file, e.number)))


def _gone(glob: str, rule: str, ids: Mapping[str, None], broken: Mapping[str, set[str]]) -> bool:
    """Whether all cases that a glob matches were judged, and none broke the rule."""
    pattern = matcher(glob)
    matching = [glob] if glob in ids else [i for i in ids if pattern.match(i)]
    return all(i in broken and rule not in broken[i] for i in matching)


def brought_up_to_date(baseline: Baseline, verdicts: Iterable[Verdict], stale: Sequence[Entry], by_luck: Set[str]) -> list[Entry]:
    """What a run makes of a baseline: without what is stale or expired, and with an entry for each rule that was newly broken,
    its reason left to be written. The most severe rules come first.

    ``by_luck`` are the cases whose findings need not come again; they get entries of their own, which are never stale.
    """
    gone = {(e.file, e.number): e.cases for e in stale}
    kept = [replace(e, cases=tuple(g for g in e.cases if g not in gone.get((e.file, e.number), ()))) for e in baseline.entries]
    new: dict[tuple[str, bool], set[str]] = {}
    for verdict in verdicts:
        for rule in {f.rule for f in verdict.findings if f.fails} - baseline.known(verdict).keys():
            new.setdefault((rule, verdict.case in by_luck), set()).add(verdict.case)
    added = [Entry("", 0, rule, tuple(sorted(ids)), "", sometimes=sometimes) for (rule, sometimes), ids in new.items()]
    order = [e for e in kept if e.cases] + added
    return sorted(order, key=lambda e: (SEVERITIES.index(RULES[e.rule].severity), e.rule, e.sometimes))
