"""The rows that the page searches and filters, one for each case, and the details, which are read when they are opened.

Everything is an array, and a text that occurs often is a number: 20,000 findings are a few megabytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from epctx.case import Struct
from epctx.oracle import RULES, SEVERITIES, Finding, Severity
from epctx.report.page.finding import detail
from epctx.report.record import Header, Line

Weight: TypeAlias = Literal["fails", "over-strict", "note"]
WEIGHTS: tuple[Weight, ...] = ("fails", "over-strict", "note")


class RuleRow(NamedTuple):
    """A rule that some case breaks, or aims at."""

    id: str
    severity: Severity
    tier: str
    statement: str
    why: str
    source: str


class FoundRow(NamedTuple):
    """A rule that a case breaks: numbers of the rule and of texts, -1 for none."""

    rule: int
    weight: int
    known: int
    happened: int


class CaseRow(NamedTuple):
    """A case: its result, its summary and the reason of that result as numbers of texts, and in which line its detail is."""

    id: str
    result: str
    summary: int
    reason: int
    detail: int
    found: tuple[FoundRow, ...]


class Index(Struct, frozen=True):
    """What the page knows before anything is opened."""

    severities: tuple[str, ...]
    weights: tuple[str, ...]
    rules: tuple[RuleRow, ...]
    texts: tuple[str, ...]
    cases: tuple[CaseRow, ...]


class _Texts(dict[str, int]):
    """Texts by their numbers, which are given in order."""

    def number(self, text: str) -> int:
        return self.setdefault(text, len(self)) if text else -1


def index(head: Header, lines: Sequence[Line]) -> tuple[Index, list[bytes]]:
    """The rows of a run, and the details as lines of JSON."""
    texts, details, rows = _Texts(), list[bytes](), list[CaseRow]()
    broken = {f.rule: f for line in lines for f in line.verdict.findings}
    aimed = dict.fromkeys(rule for line in lines for rule in line.case.rules if rule in RULES)
    rules = sorted({*broken, *aimed}, key=lambda rule: _rank(rule, broken.get(rule)))
    numbers = {rule: n for n, rule in enumerate(rules)}
    for line in lines:
        found: dict[str, Finding] = {}
        for finding in line.verdict.findings:
            found.setdefault(finding.rule, finding)
        number = -1
        if found or line.verdict.result == "error":
            number = len(details)
            details.append(msgspec.json.encode(detail(head, line)))
        rows.append(
            CaseRow(
                line.case.id,
                line.verdict.result,
                texts.number(line.case.summary),
                texts.number(line.verdict.reason),
                number,
                tuple(
                    FoundRow(
                        numbers[rule],
                        WEIGHTS.index(weight(finding)),
                        texts.number(line.known.get(rule, "")),
                        texts.number(finding.happened),
                    )
                    for rule, finding in found.items()
                ),
            )
        )
    found_rules = tuple(rule_row(rule, broken.get(rule)) for rule in rules)
    return Index(SEVERITIES, WEIGHTS, found_rules, tuple(texts), tuple(rows)), details


def weight(finding: Finding) -> Weight:
    """What a finding counts: it fails its case, tells that something good was refused, or is a note."""
    return "fails" if finding.fails else "over-strict" if finding.over_strict else "note"


def rule_row(rule: str, finding: Finding | None = None) -> RuleRow:
    """A rule as the page shows it. One that this version does not have is known from what was found alone."""
    if rule in RULES:
        known = RULES[rule]
        why = " ".join(known.why.split())
        return RuleRow(rule, known.severity, known.tier, " ".join(known.statement.split()), why, known.source)
    return RuleRow(rule, finding.severity if finding else "low", finding.tier if finding else "", "", "", "")


def _rank(rule: str, finding: Finding | None) -> tuple[int, str]:
    severity = RULES[rule].severity if rule in RULES else finding.severity if finding else "low"
    return SEVERITIES.index(severity), rule
