"""What the page says of a run where no script runs: what it comes to, how it ran, families by rules, the findings in brief."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from epctx.oracle import SEVERITIES, STABLE, Finding, Result, contract_of
from epctx.report.conclusion import OPENS_ONLY, Conclusion, conclude
from epctx.report.console import plural
from epctx.report.page.index import RuleRow, rule_row, weight
from epctx.report.record import JUDGED, Header, Line, Run
from epctx.run.baseline import Entry

BRIEF = 50
"""How many findings of a rule are listed where no script runs."""

RESULTS: tuple[Result, ...] = ("crash", "hang", "fail", "note", "pass", "skip", "error")
"""The results in the order in which they are shown."""


class Cell(NamedTuple):
    """A family under a rule: how many of its cases break it, have a note on it, and, of those that were judged, aim at it."""

    family: str
    broken: int
    noted: int
    aimed: int


class MatrixRow(NamedTuple):
    """A rule with a cell for each family."""

    rule: RuleRow
    cells: tuple[Cell, ...]

    @property
    def broken(self) -> int:
        """How many cases break the rule."""
        return sum(cell.broken for cell in self.cells)

    @property
    def noted(self) -> int:
        """How many cases have a note on it."""
        return sum(cell.noted for cell in self.cells)


class Brief(NamedTuple):
    """The findings of a rule, in brief: the first of its cases with what happened in each, and how many more there are."""

    rule: RuleRow
    cases: int
    listed: tuple[tuple[str, str, str], ...]

    @property
    def more(self) -> int:
        """How many cases are not listed."""
        return self.cases - len(self.listed)


class Overview(NamedTuple):
    """All that is said of a run without a script."""

    head: Header
    conclusion: Conclusion
    proves: str
    counts: tuple[tuple[Result, int], ...]
    facts: tuple[tuple[str, str], ...]
    families: tuple[str, ...]
    matrix: tuple[MatrixRow, ...]
    findings: tuple[Brief, ...]
    skipped: tuple[tuple[str, int], ...]
    errors: tuple[tuple[str, str], ...]
    known: tuple[tuple[str, str, int], ...]
    stale: tuple[Entry, ...]
    expired: tuple[Entry, ...]


def overview(run: Run) -> Overview:
    """What is said of a run."""
    head, lines, foot = run
    families = tuple(dict.fromkeys(line.case.family for line in lines))
    skips = Counter([*head.skipped.values(), *(line.verdict.reason for line in lines if line.verdict.result == "skip")])
    known = Counter((rule, reason) for line in lines for rule, reason in line.known.items())
    return Overview(
        head,
        conclude(head, foot),
        proves(run),
        tuple((result, foot.counts[result]) for result in RESULTS if foot.counts.get(result)),
        tuple(facts(run)),
        tuple(sorted(families)),
        tuple(_matrix(lines, sorted(families))),
        tuple(_briefs(lines)),
        tuple(skips.most_common()),
        tuple((line.case.id, line.verdict.reason) for line in lines if line.verdict.result == "error"),
        tuple((rule, reason, number) for (rule, reason), number in sorted(known.items())),
        foot.stale,
        head.expired,
    )


def proves(run: Run) -> str:
    """What a run proves, and what not."""
    head, foot = run.header, run.footer
    cases = f"in {'the one case' if foot.judged == 1 else f'each of the {foot.judged:,} cases'} that ran"
    if foot.failing:
        text = (
            "Each finding is evidence from one case: what the target did there, which file it touched, and a command that shows "
            "it again. Rules without a finding held in the cases that ran, which does not mean that nothing else can break them."
        )
    elif foot.held:
        text = (
            f"That means: {cases}, the target did what every rule of the profile demands, or something that the rules leave "
            "open. It does not mean that there is no fault elsewhere."
        )
    else:
        text = "There is no verdict, so nothing is shown: neither that the target holds, nor that it does not."
    if head.scope == "effects":
        text += " Only files and bytes count here: which files are touched, and what is read or written."
    return text + (f" And {OPENS_ONLY}: good data cannot be loaded and run here." if head.opens_only else "")


def facts(run: Run) -> Iterator[tuple[str, str]]:
    """How the run was made, as labels and texts."""
    head, foot = run.header, run.footer
    met = f"ONNX Runtime {head.ort}"
    yield "target", head.target + (f" ({head.met})" if head.met else "")
    yield "profile", head.profile + ("" if head.by_itself else ", as was asked for")
    yield "judged by", head.contract if head.scope == "effects" else f"the contract of {head.contract}"
    yield "met", f"in real sessions of {met}" if head.sessions else met
    yield "isolation", head.box
    if head.policies:
        yield "policies", ", ".join(f"{rule}: {stance}" for rule, stance in sorted(head.policies.items()))
    if head.sanitizer:
        built = "the target is built for it" if head.instrumented else "only the driver is built for it"
        yield "sanitizer", f"{head.sanitizer}; {built}"
    if head.lent:
        wanted = "experimental names" if contract_of(head.ort) == "ort-1.31" else f"functions of {STABLE}"
        yield "lent", f"the target looks up {wanted}, which this ONNX Runtime does not have: epctx lends them"
    if head.chunking:
        yield "writing", "the target declares ordered chunking: its writes are judged by chunk.declared"
    for note in head.notes:
        yield "note", note
    if foot.races:
        race = foot.races
        rate = f"{race.outside:,} of {race.rounds:,} reads left the model directory"
        yield "races", f"{rate} while names were changed {race.turns:,} times"
    if head.files:
        yield "cases from", ", ".join(head.files)
    if head.baselines:
        yield "known by", ", ".join(head.baselines)
    yield "run", f"{plural(sum(foot.counts.values()), 'case')} in {foot.seconds:,.1f} s, {head.started}, epctx {head.epctx}"


def _matrix(lines: Sequence[Line], families: Sequence[str]) -> Iterator[MatrixRow]:
    """A row for each rule that something aims at, or breaks: those that are broken first, the severest of them before others."""
    counts: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0]))
    evidence: dict[str, Finding] = {}
    for line in lines:
        if line.verdict.result not in JUDGED:
            continue
        cells = {rule: counts[rule][line.case.family] for rule in (*line.case.rules, *(f.rule for f in line.verdict.findings))}
        found = {f.rule: f for f in reversed(line.verdict.findings)} | {f.rule: f for f in line.verdict.findings if f.fails}
        evidence |= found
        for rule, cell in cells.items():
            cell[0] += rule in found and found[rule].fails
            cell[1] += rule in found and not found[rule].fails
            cell[2] += rule in line.case.rules
    rows = [
        MatrixRow(rule_row(rule, evidence.get(rule)), tuple(Cell(f, *of[f]) if f in of else Cell(f, 0, 0, 0) for f in families))
        for rule, of in counts.items()
    ]
    yield from sorted(rows, key=lambda r: (not r.broken, not r.noted, SEVERITIES.index(r.rule.severity), r.rule.id))


def _briefs(lines: Sequence[Line]) -> Iterator[Brief]:
    listed: dict[str, dict[str, tuple[str, str, str]]] = defaultdict(dict)
    rules: dict[str, RuleRow] = {}
    for line in lines:
        for finding in line.verdict.findings:
            if weight(finding) == "fails":
                rules.setdefault(finding.rule, rule_row(finding.rule, finding))
                row = (line.case.id, finding.happened, line.known.get(finding.rule, ""))
                listed[finding.rule].setdefault(line.case.id, row)
    for rule in sorted(rules, key=lambda r: (SEVERITIES.index(rules[r].severity), r)):
        rows = tuple(listed[rule].values())
        yield Brief(rules[rule], len(rows), rows[:BRIEF])
