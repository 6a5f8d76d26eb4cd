"""What the page says where no script runs: what it comes to, families by rules, the findings in brief, how it was run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from epctx.oracle import STABLE, Result, contract_of
from epctx.report.comparison import WORDS, Comparison
from epctx.report.conclusion import OPENS_ONLY, Mood, conclude, conclude_comparison
from epctx.report.console import plural
from epctx.report.failing import broken
from epctx.report.page.index import KINDS, RuleRow, rule_row
from epctx.report.page.matrix import Matrix, matrix_of_comparison, matrix_of_run
from epctx.report.record import Run

BRIEF = 50
"""How many findings of a rule are listed where no script runs."""
NAMED = 20
"""How many cases are named that only one of two runs has."""
RESULTS: tuple[tuple[Result, str], ...] = (
    ("crash", "fails"),
    ("hang", "fails"),
    ("fail", "fails"),
    ("note", "note"),
    ("pass", "pass"),
    ("skip", "skip"),
    ("error", "error"),
)
"""The results in their order, each with what to show to see them."""


class Count(NamedTuple):
    """How many there are of something, and what to show to see them."""

    kind: str
    number: int
    show: str


class Brief(NamedTuple):
    """The findings of a rule, or the changes of a kind, in brief: the first cases with what happened in each."""

    chip: str
    rule: RuleRow | None
    title: str
    cases: int
    listed: tuple[tuple[str, str, str], ...]

    @property
    def more(self) -> int:
        """How many cases are not listed."""
        return self.cases - len(self.listed)


class Sums(NamedTuple):
    """How a run was made, and what came of it besides findings."""

    title: str
    facts: tuple[tuple[str, str], ...]
    skipped: tuple[tuple[str, int], ...]
    known: tuple[tuple[str, str, int], ...]
    errors: tuple[tuple[str, str], ...]


class Overview(NamedTuple):
    """All that is said without a script. ``remarks`` are lists of sentences, each with a title."""

    subject: str
    epctx: str
    mood: Mood
    above: str
    claim: str
    grounds: str
    proves: str
    counts: tuple[Count, ...]
    remarks: tuple[tuple[str, tuple[str, ...]], ...]
    matrix: Matrix
    briefs: tuple[Brief, ...]
    runs: tuple[Sums, ...]
    compares: bool = False


def of_run(run: Run) -> Overview:
    """What is said of a run."""
    head, lines, foot = run
    claim, grounds, mood = conclude(head, foot)
    stale = tuple(f"{entry.where}: take out {', '.join(entry.cases)}" for entry in foot.stale)
    expired = tuple(f"{entry.where} ended on {entry.expires}" for entry in head.expired)
    remarks = (("Known, but no longer there", stale), ("No longer taken for known", expired))
    return Overview(
        head.target,
        head.epctx,
        mood,
        f"Profile {head.profile}, {head.contract if head.scope == 'effects' else f'the contract of {head.contract}'}",
        claim,
        grounds,
        _proves(run),
        tuple(Count(result, foot.counts[result], show) for result, show in RESULTS if foot.counts.get(result)),
        tuple(remark for remark in remarks if remark[1]),
        matrix_of_run(lines),
        tuple(_found(run)),
        (_sums("The run", run),),
    )


def of_comparison(compared: Comparison) -> Overview:
    """What is said of a comparison."""
    before, after = compared.before.header, compared.after.header
    mood = conclude_comparison(compared).mood
    worse = len(compared.of("worse"))
    only = (
        (f"Cases that only {head.target} has", (_named(ids),) if ids else ())
        for head, ids in ((before, compared.only_before), (after, compared.only_after))
    )
    remarks = (("What makes the runs unlike", tuple(compared.conditions)), *only)
    return Overview(
        f"{before.target} → {after.target}",
        after.epctx,
        mood,
        f"From {before.target} to {after.target}",
        f"It got worse: {plural(worse, 'new finding')}"
        if worse
        else "Nothing got worse"
        if compared.compared
        else "Nothing to compare",
        f"{plural(compared.compared, 'case')} {'was' if compared.compared == 1 else 'were'} judged in both runs",
        "Worse is a rule that breaks after and did not before; better one that broke and holds now. What changed otherwise is "
        "not judged. A case that one of the runs did not judge, or does not have, is neither better nor worse.",
        tuple(Count(kind, number, kind) for kind in KINDS if (number := len(compared.of(kind)))),
        tuple(remark for remark in remarks if remark[1]),
        matrix_of_comparison(compared),
        tuple(_changed(compared)),
        (_sums(f"Before: {before.target}", compared.before), _sums(f"After: {after.target}", compared.after)),
        compares=True,
    )


def _found(run: Run) -> Iterator[Brief]:
    for rule, cases in broken(run).items():
        row = rule_row(rule, cases[0].first)
        listed = tuple((one.case.id, one.first.happened, one.known) for one in cases[:BRIEF])
        yield Brief(row.severity, row, rule, len(cases), listed)


def _changed(compared: Comparison) -> Iterator[Brief]:
    for kind in KINDS:
        changes = compared.of(kind)
        groups = dict.fromkeys((change.rule, change.what) if kind == "other" else (change.rule, "finding") for change in changes)
        for rule, what in groups:
            cases = [c for c in changes if c.rule == rule and (kind != "other" or c.what == what)]
            listed = tuple((c.case, f"{c.before} → {c.after}", "") for c in cases[:BRIEF])
            yield Brief(kind, rule_row(rule) if rule else None, rule or WORDS[what], len(cases), listed)


def _sums(title: str, run: Run) -> Sums:
    head, lines, _ = run
    skips = Counter([*head.skipped.values(), *(line.verdict.reason for line in lines if line.verdict.result == "skip")])
    known = Counter((rule, reason) for line in lines for rule, reason in line.known.items())
    return Sums(
        title,
        tuple(_facts(run)),
        tuple(skips.most_common()),
        tuple((rule, reason, number) for (rule, reason), number in sorted(known.items())),
        tuple((line.case.id, line.verdict.reason) for line in lines if line.verdict.result == "error"),
    )


def _named(ids: Sequence[str]) -> str:
    return ", ".join(ids[:NAMED]) + (f" and {len(ids) - NAMED} more" if len(ids) > NAMED else "")


def _proves(run: Run) -> str:
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


def _facts(run: Run) -> Iterator[tuple[str, str]]:
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
