"""Families by rules: how many cases of each family break which rule, or changed under it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from epctx.oracle import SEVERITIES
from epctx.report.comparison import Comparison
from epctx.report.page.index import RuleRow, rule_row
from epctx.report.record import JUDGED, Line

SHAPES = {"critical": "◆", "high": "▲", "medium": "■", "low": "●"}
"""What marks a severity for who sees no colours."""


class Mark(NamedTuple):
    """A number in a cell: its kind, its shape, what it says in words, and what to show to see the cases ("": nothing)."""

    kind: str
    shape: str
    number: int
    words: str
    show: str


class Row(NamedTuple):
    """A rule with what each family has under it; ``rest`` is whether nothing stands out there."""

    rule: RuleRow
    cells: tuple[tuple[Mark, ...], ...]
    rest: bool


class Matrix(NamedTuple):
    """All rules that a case aims at or that something is said of, by the families of the cases."""

    families: tuple[str, ...]
    rows: tuple[Row, ...]


class _Counts:
    """Numbers by rule, family and kind."""

    def __init__(self) -> None:
        self._cells: Counter[tuple[str, str, str]] = Counter()
        self._rows: Counter[tuple[str, str]] = Counter()

    def add(self, rule: str, family: str, kind: str) -> None:
        self._cells[rule, family, kind] += 1
        self._rows[rule, kind] += 1

    def of(self, rule: str, family: str, kind: str) -> int:
        return self._cells[rule, family, kind]

    def sum(self, rule: str, kind: str) -> int:
        return self._rows[rule, kind]


def matrix_of_run(lines: Sequence[Line]) -> Matrix:
    """The matrix of a run: rules that break first, the most severe of them before others, then those with notes."""
    counts, rules = _Counts(), dict[str, RuleRow]()
    for line in lines:
        if line.verdict.result not in JUDGED:
            continue
        found = {f.rule: "noted" for f in line.verdict.findings if not f.fails}
        found |= {f.rule: "broken" for f in line.verdict.findings if f.fails}
        for finding in line.verdict.findings:
            rules.setdefault(finding.rule, rule_row(finding.rule, finding))
        for rule in dict.fromkeys((*line.case.rules, *found)):
            rules.setdefault(rule, rule_row(rule))
            counts.add(rule, line.case.family, found.get(rule, "held"))

    def marks(rule: RuleRow, family: str) -> Iterable[Mark]:
        if number := counts.of(rule.id, family, "broken"):
            yield Mark(rule.severity, SHAPES[rule.severity], number, f"break it ({rule.severity})", "fails")
        elif number := counts.of(rule.id, family, "noted"):
            yield Mark("noted", "○", number, "with a note", "any")
        elif number := counts.of(rule.id, family, "held"):
            yield Mark("held", "✓", number, "aim at it and show nothing", "")

    order = sorted(rules.values(), key=lambda r: (not counts.sum(r.id, "broken"), not counts.sum(r.id, "noted"), *_rank(r)))
    return _matrix((line.case.family for line in lines), order, marks, {r.id for r in order if counts.sum(r.id, "broken")})


def matrix_of_comparison(compared: Comparison) -> Matrix:
    """The matrix of a comparison: what got worse and what got better."""
    counts, rules = _Counts(), dict[str, RuleRow]()
    for change in compared.changes:
        if change.rule and change.kind != "other":
            rules.setdefault(change.rule, rule_row(change.rule))
            counts.add(change.rule, change.case.partition("/")[0], change.kind)

    def marks(rule: RuleRow, family: str) -> Iterable[Mark]:
        for kind, shape in (("worse", "▼"), ("better", "▲")):
            if number := counts.of(rule.id, family, kind):
                yield Mark(kind, shape, number, kind, kind)

    order = sorted(rules.values(), key=lambda r: (not counts.sum(r.id, "worse"), *_rank(r)))
    return _matrix((line.case.family for line in compared.after.lines), order, marks, set(rules))


def _matrix(
    families: Iterable[str],
    rules: Sequence[RuleRow],
    marks: Callable[[RuleRow, str], Iterable[Mark]],
    outstanding: set[str],
) -> Matrix:
    names = tuple(sorted(set(families)))
    rows = (Row(rule, tuple(tuple(marks(rule, name)) for name in names), rule.id not in outstanding) for rule in rules)
    return Matrix(names, tuple(rows))


def _rank(rule: RuleRow) -> tuple[int, str]:
    return SEVERITIES.index(rule.severity), rule.id
