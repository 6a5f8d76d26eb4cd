"""The rows that the page searches and filters, and the details, which are read when they are opened.

Rows are arrays, and texts in them are numbers, since most texts occur often: 20,000 findings are a few megabytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from epctx.case import Case, Struct
from epctx.oracle import CWE_NAMES, RULES, SEVERITIES, Finding, Severity
from epctx.report.comparison import WORDS, Change, Comparison, Kind
from epctx.report.page.finding import detail
from epctx.report.record import Header, Line
from epctx.target.example import example

SHOWS = {
    "fails": "findings",
    "over-strict": "over-strict",
    "note": "notes",
    "error": "errors of the harness",
    "skip": "skipped",
    "pass": "passed",
}
"""What of a run may be shown, in its order, with a word for each."""

KINDS: dict[Kind, str] = {"worse": "worse", "better": "better", "other": "changed otherwise"}
"""The same of a comparison."""


class RuleRow(NamedTuple):
    """A rule that something in the page is about."""

    id: str
    severity: Severity
    tier: str
    statement: str
    why: str
    source: str
    weaknesses: str
    """The weaknesses that break it, as the CWE has them."""
    forms: tuple[tuple[str, str, str], ...] = ()
    """A weak form and the right one, for rules that were broken: a title, the file, and the code of each part."""


class EntryRow(NamedTuple):
    """Something that is listed: a rule that a case breaks, a case that breaks none, or a change. -1 stands for none.

    ``group`` is what it is listed under, the id of a rule if it has one; with ``case`` it is the entry's name in links.
    """

    case: str
    show: int
    group: int
    rule: int
    summary: int
    before: int
    about: int
    known: int
    tags: tuple[int, ...]
    detail: int


class Index(Struct, frozen=True, omit_defaults=False):
    """What the page knows before anything is opened. ``default`` is what is shown unless something else is asked for."""

    severities: tuple[Severity, ...]
    shows: tuple[tuple[str, str], ...]
    default: str
    rules: tuple[RuleRow, ...]
    texts: tuple[str, ...]
    entries: tuple[EntryRow, ...]
    sides: tuple[str, ...] = ()
    """The names of the two runs of a comparison."""


class _Rows:
    """Rows as they come: gives texts and rules their numbers."""

    def __init__(self, shows: Mapping[str, str]) -> None:
        self._shows, self._order = shows, list(shows)
        self._texts: dict[str, int] = {}
        self._rules: dict[str, tuple[int, RuleRow]] = {}
        self._rows: list[EntryRow] = []

    def text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts)) if text else -1

    def rule(self, rule: RuleRow) -> int:
        return self._rules.setdefault(rule.id, (len(self._rules), rule))[0]

    def add(
        self,
        show: str,
        case: Case,
        group: str,
        rule: RuleRow | None,
        about: str,
        *,
        before: str = "",
        known: str = "",
        tags: Iterable[str] = (),
        detail: int,
    ) -> None:
        self._rows.append(
            EntryRow(
                case.id,
                self._order.index(show),
                self.text(group),
                -1 if rule is None else self.rule(rule),
                self.text(case.summary),
                self.text(before),
                self.text(about),
                self.text(known),
                tuple(map(self.text, tags)),
                detail,
            )
        )

    def index(self, default: str, sides: tuple[str, ...] = ()) -> Index:
        broken = {row.rule for row in self._rows if row.show == 0}
        rules = tuple(row._replace(forms=_forms(row.id)) if n in broken else row for n, row in self._rules.values())
        order = sorted(self._rows, key=lambda row: (row.show, _rank(rules[row.rule]) if row.rule >= 0 else (9, "")))
        return Index(SEVERITIES, tuple(self._shows.items()), default, rules, tuple(self._texts), tuple(order), sides)


def of_run(head: Header, lines: Sequence[Line]) -> tuple[Index, list[bytes]]:
    """The rows of a run, and the details as lines of JSON: of cases that say something only."""
    rows, details = _Rows(SHOWS), list[bytes]()
    for line in lines:
        found: dict[str, Finding] = {}
        for finding in line.verdict.findings:
            found.setdefault(finding.rule, finding)
        result = line.verdict.result
        if not found:
            number = len(details) if result == "error" else -1
            rows.add(result, line.case, result, None, line.verdict.reason, detail=number)
        for rule, finding in found.items():
            show = "fails" if finding.fails else "over-strict" if finding.over_strict else "note"
            tags = [result] if result in ("hang", "crash") and finding.fails else []
            known = line.known.get(rule, "")
            about, row = finding.happened, rule_row(rule, finding)
            rows.add(show, line.case, rule, row, about, known=known, tags=tags, detail=len(details))
        if found or result == "error":
            details.append(msgspec.json.encode(detail(line.case, (head, line))))
    return rows.index("fails"), details


def of_comparison(compared: Comparison) -> tuple[Index, list[bytes]]:
    """The rows of a comparison, and the details as lines of JSON, with both runs in each."""
    rows, details = _Rows({str(kind): words for kind, words in KINDS.items()}), list[bytes]()
    heads = compared.before.header, compared.after.header
    earlier, later = ({line.case.id: line for line in run.lines} for run in (compared.before, compared.after))
    numbers: dict[str, int] = {}
    names: set[tuple[str, str]] = set()
    for change in compared.changes:
        new = later[change.case]
        group = change.rule or change.what
        if (group, change.case) in names:  # another call of the case, which its detail shows as well
            continue
        names.add((group, change.case))
        if change.case not in numbers:
            numbers[change.case] = len(details)
            details.append(msgspec.json.encode(detail(new.case, (heads[0], earlier[change.case]), (heads[1], new))))
        rows.add(
            change.kind,
            new.case,
            group,
            _rule_of(change),
            change.after,
            before=change.before,
            tags=[*([] if change.what == "finding" else [WORDS[change.what]]), *(["a matter of luck"] if change.by_luck else [])],
            detail=numbers[change.case],
        )
    return rows.index("any", tuple(head.target for head in heads)), details


def rule_row(rule: str, finding: Finding | None = None) -> RuleRow:
    """A rule as the page shows it. One that this version does not have is known by what was found alone."""
    if rule in RULES:
        known = RULES[rule]
        statement, why = (" ".join(text.split()) for text in (known.statement, known.why))
        weaknesses = ", ".join(f"CWE-{number} {CWE_NAMES[number]}" for number in known.cwe)
        return RuleRow(rule, known.severity, known.tier, statement, why, known.source, weaknesses)
    return RuleRow(rule, finding.severity if finding else "low", finding.tier if finding else "", "", "", "", "")


def _forms(rule: str) -> tuple[tuple[str, str, str], ...]:
    """How a weak target breaks a rule, and how the reference keeps it."""
    shown = example(rule)
    if shown is None:
        return ()
    weak = f"A weak form: it {shown.weakness.summary}"
    parts = [*((weak, code) for code in shown.weak), *(("The right form", code) for code in shown.right)]
    return tuple((title, code.file, code.text) for title, code in parts)


def _rule_of(change: Change) -> RuleRow | None:
    if not change.rule:
        return None
    row = rule_row(change.rule)
    return row if change.severity is None else row._replace(severity=change.severity)


def _rank(rule: RuleRow) -> tuple[int, str]:
    return SEVERITIES.index(rule.severity), rule.id
