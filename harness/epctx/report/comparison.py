"""Two runs beside each other: what got better, what got worse, and what changed without a verdict on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from epctx.case import Call, Case, Struct, shown
from epctx.observation import Observation, Seen
from epctx.oracle import RULES, SEVERITIES, Finding, Severity
from epctx.report.console import plural
from epctx.report.record import JUDGED, Footer, Header, Line, Run

FORMAT = 1
"""Version of a comparison as data."""

Kind: TypeAlias = Literal["worse", "better", "other"]
What: TypeAlias = Literal["finding", "evidence", "note", "result", "outcome", "code", "text", "bytes", "file"]

WORDS: dict[What, str] = {
    "finding": "a rule that broke or held",
    "evidence": "the same rule breaks in another way",
    "note": "a note",
    "result": "judged in one run alone",
    "outcome": "accepted or refused, where either may be",
    "code": "another code, where the profile leaves it open",
    "text": "another text",
    "bytes": "other bytes, where the profile leaves them open",
    "file": "another file, where the profile leaves it open",
}
"""What may change, in words."""


class Change(Struct, frozen=True):
    """What is different at one case: for one rule, or, without one, for one call."""

    kind: Kind
    what: What
    case: str
    rule: str = ""
    severity: Severity | None = None
    call: int = 0
    """Index of the call in the case."""
    before: str = ""
    after: str = ""
    """What happened in the first run and in the second, in words."""
    file: str = ""
    by_luck: bool = False
    """Whether it need not come again: threads, races, reports of sanitizers, and what was seen only in company."""


class Comparison(NamedTuple):
    """Two runs, the second held against the first."""

    before: Run
    after: Run
    changes: Sequence[Change]
    """Worse ones first, then better ones, then all others; rules by their severity, cases in their order."""
    conditions: Sequence[str]
    """What makes the runs unlike besides their target, a sentence each."""
    only_before: Sequence[str]
    only_after: Sequence[str]
    """The cases that only one of the runs has. Nothing follows from them."""
    compared: int
    """How many cases both runs judged."""

    def of(self, kind: Kind) -> list[Change]:
        """The changes of one kind."""
        return [change for change in self.changes if change.kind == kind]


class Document(Struct, frozen=True, omit_defaults=False):
    """A comparison as data, without the two runs: what ``epctx diff --json`` writes."""

    before: Header
    after: Header
    before_footer: Footer
    after_footer: Footer
    compared: int
    changes: tuple[Change, ...]
    conditions: tuple[str, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    format: int = FORMAT


def document(comparison: Comparison) -> Document:
    """A comparison as data."""
    before, after, changes, conditions, only_before, only_after, compared = comparison
    ends = (before.header, after.header, before.footer, after.footer)
    return Document(*ends, compared, tuple(changes), tuple(conditions), tuple(only_before), tuple(only_after))


def compare(before: Run, after: Run) -> Comparison:
    """Hold a run against an earlier one, case by case.

    *Worse* is a rule of the profile that breaks in ``after`` and not in ``before``, whether or not the case was judged there;
    *better* one that broke and holds now. A case that ``after`` did not judge is neither. All else is told as it is.
    """
    earlier = {line.verdict.case: line for line in before.lines}
    later = {line.verdict.case: line for line in after.lines}
    both = [(earlier[id], line) for id, line in later.items() if id in earlier]
    changes = [change for old, new in both for change in _changes(old, new)]
    order: Sequence[Kind] = ("worse", "better", "other")
    changes.sort(key=lambda c: (order.index(c.kind), SEVERITIES.index(c.severity) if c.severity else len(SEVERITIES), c.rule))
    return Comparison(
        before,
        after,
        changes,
        list(_conditions(before, after)),
        [id for id in earlier if id not in later],
        [id for id in later if id not in earlier],
        sum(old.verdict.result in JUDGED and new.verdict.result in JUDGED for old, new in both),
    )


def _changes(old: Line, new: Line) -> Iterator[Change]:
    case = new.case
    luck = any(call.threads or call.race for call in case.calls) or not (old.verdict.confirmed and new.verdict.confirmed)
    luck = luck or any(seen.reports for line in (old, new) for seen in line.observation.calls)
    broke, breaks = _findings(old, fails=True), _findings(new, fails=True)
    if new.verdict.result not in JUDGED or old.verdict.result not in JUDGED:
        for rule, finding in breaks.items():
            yield _finding("worse", case.id, rule, _result(old), finding.happened, finding, luck)
        if not breaks and (old.verdict.result, old.verdict.reason) != (new.verdict.result, new.verdict.reason):
            yield Change("other", "result", case.id, before=_result(old), after=_result(new))
        return
    noted, notes = _findings(old, fails=False), _findings(new, fails=False)
    for rule, finding in breaks.items():
        if rule not in broke:
            yield _finding("worse", case.id, rule, _held(rule, old, finding.call, noted), finding.happened, finding, luck)
        elif _plain(broke[rule].happened, old.observation) != _plain(finding.happened, new.observation):
            before = broke[rule].happened
            yield _finding("other", case.id, rule, before, finding.happened, finding, luck, "evidence")
    for rule, finding in broke.items():
        if rule not in breaks:
            yield _finding("better", case.id, rule, finding.happened, _held(rule, new, finding.call, notes), finding, luck)
    for rule in dict.fromkeys((*noted, *notes)):
        if (rule in noted) != (rule in notes) and rule not in broke and rule not in breaks:
            note = noted.get(rule) or notes[rule]
            words = (note.happened, "not noted") if rule in noted else ("not noted", note.happened)
            yield _finding("other", case.id, rule, *words, note, luck, "note")
    if not broke and not breaks and not luck:
        for index, (first, second) in enumerate(zip(old.observation.calls, new.observation.calls, strict=False)):
            if what := _differs(case.calls[index], (first, old.observation), (second, new.observation)):
                before, after = _seen(first, old.observation), _seen(second, new.observation)
                yield Change("other", what, case.id, call=index, before=before, after=after)


def _finding(
    kind: Kind, case: str, rule: str, before: str, after: str, finding: Finding, luck: bool, what: What = "finding"
) -> Change:
    return Change(kind, what, case, rule, finding.severity, finding.call, before, after, finding.file, luck)


def _findings(line: Line, *, fails: bool) -> dict[str, Finding]:
    """The first finding, or note, of each rule."""
    found: dict[str, Finding] = {}
    for finding in line.verdict.findings:
        if finding.fails is fails:
            found.setdefault(finding.rule, finding)
    return found


def _result(line: Line) -> str:
    verdict = line.verdict
    return f"{verdict.result}: {verdict.reason}" if verdict.reason else verdict.result


def _held(rule: str, line: Line, call: int, notes: Mapping[str, Finding]) -> str:
    """What is said of a rule that does not break: what is noted, or how the call ended."""
    if rule in notes:
        return f"noted: {notes[rule].happened}"
    calls = line.observation.calls
    return _seen(calls[call], line.observation) if call < len(calls) else "the call was not made"


def _plain(text: str, observation: Observation) -> str:
    """A text without what differs from one world to the next."""
    return text.replace(observation.root, "{root}") if observation.root else text


def _seen(seen: Seen, observation: Observation) -> str:
    """How a call ended, in words."""
    if seen.ended != "returned":
        return {"hang": "it did not return", "crash": "it crashed", "exception": "it threw"}[seen.ended]
    if seen.code:
        return f"it was refused with code {seen.code}: {shown(_plain(seen.message, observation), 160)}"
    size = "" if seen.output is None else f" with {seen.output.size} bytes"
    return f"it was accepted{size}{', the content of ' + ', '.join(seen.reads) if seen.reads else ''}"


def _differs(call: Call, old: tuple[Seen, Observation], new: tuple[Seen, Observation]) -> What | None:
    """In what two calls differ most, of which no rule says anything."""
    first, second = old[0], new[0]
    if (first.ended, bool(first.code)) != (second.ended, bool(second.code)):
        return "outcome"
    if first.code != second.code:
        return "code"
    if _plain(first.message, old[1]) != _plain(second.message, new[1]):
        return "text"
    if first.output != second.output:
        return "bytes"
    places = [{(c.path, c.after.kind, c.after.digest) for c in seen.changes} for seen in (first, second)]
    return "file" if first.reads != second.reads or places[0] != places[1] else None


def _conditions(before: Run, after: Run) -> Iterator[str]:
    """What makes two runs unlike, in sentences."""
    one, two = before.header, after.header
    for what, first, second in (
        ("profile", one.profile, two.profile),
        ("contract", one.contract, two.contract),
        ("policies", _policies(one), _policies(two)),
        ("epctx", one.epctx, two.epctx),
        ("ONNX Runtime", one.ort, two.ort),
        ("sanitizer", one.sanitizer or "none", two.sanitizer or "none"),
        ("scope", one.scope, two.scope),
        ("box", one.box, two.box),
    ):
        if first != second:
            yield f"{what}: {first} in the first run, {second} in the second"
    for name, run in (("first", before), ("second", after)):
        if run.footer.interrupted:
            yield f"the {name} run was interrupted after {sum(run.footer.counts.values())} of {run.header.cases} cases"
    earlier = {line.case.id: _posed(line.case) for line in before.lines}
    if other := sum(earlier.get(line.case.id, posed) != posed for line in after.lines for posed in (_posed(line.case),)):
        yield f"{plural(other, 'case')} with one name asked something else in the second run"


def _posed(case: Case) -> tuple[object, ...]:
    """What a case asks, whatever is expected of it."""
    return case.world, case.calls, case.model, case.limits


def _policies(head: Header) -> str:
    return ", ".join(f"{rule}={stance}" for rule, stance in sorted(head.policies.items())) or "none"


def by_rule(changes: Sequence[Change]) -> dict[str, list[Change]]:
    """Changes by their rule, in their order."""
    found: dict[str, list[Change]] = {}
    for change in changes:
        found.setdefault(change.rule, []).append(change)
    return found


def statement(rule: str) -> str:
    """What a rule says, for one that this epctx knows."""
    return RULES[rule].statement if rule in RULES else ""
