"""The terminal report: findings grouped by rule, most severe first, and a last line that says whether the target held."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from epctx.case import Case
from epctx.oracle import PROFILES, RULES, SEVERITIES, STABLE, Finding, Verdict, contract_of
from epctx.report.conclusion import OPENS_ONLY, Mood, conclude
from epctx.report.console import indented, plural
from epctx.report.files import ReportFile
from epctx.report.formats import Subject
from epctx.report.record import Footer, Header
from epctx.report.words import call_words
from epctx.run.baseline import Entry

COLOURS = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "cyan"}
MOODS: dict[Mood, str] = {"good": "green", "open": "yellow", "bad": "red"}
SHOWN = 3
"""How many cases of a rule are shown in full unless all are asked for."""
NAMED = 6
"""How many more are named."""
COMPANY = "only in company: alone the case does not fail, so what ran before it may be the cause; run the whole check again"
"""What stands in place of the command that shows a finding again, where none shows it."""


def header(console: Console, head: Header) -> None:
    """Say what is about to run."""
    console.print(Text.assemble(("epctx ", "bold"), f"{head.target}, profile {head.profile}, {plural(head.cases, 'case')}"))
    console.print(Text(head.box, style="dim" if head.boxed else "bold yellow"))
    console.print(Text(measure(head), style="dim"))
    if head.scope == "effects":
        console.print(Text("only files and bytes count: which files are touched, and what is read or written", style="dim"))
    if head.opens_only:
        console.print(Text(f"{OPENS_ONLY}: good data cannot be loaded and run here", style="bold yellow"))
    for note in head.notes:
        console.print(Text(f"note: {note}", style="dim"))
    if head.lent:
        wanted = "experimental names" if contract_of(head.ort) == "ort-1.31" else f"functions of {STABLE}"
        console.print(Text(f"the target looks up {wanted}, which ONNX Runtime {head.ort} does not have: epctx lends them"))
    if head.sanitizer:
        built = "built for it" if head.instrumented else "as it was given: only the driver is built for it"
        console.print(
            Text(f"{head.sanitizer} sanitizer: the target is {built}", style="dim" if head.instrumented else "bold yellow")
        )
    if head.settings:
        console.print(Text(f"settings: {head.settings}", style="dim"))
    if head.patience:
        console.print(Text(f"each call may take {head.patience:g} s", style="dim"))
    if head.baselines:
        console.print(Text(f"known findings: {', '.join(head.baselines)}", style="dim"))
    if head.chunking:
        console.print(Text("the target declares ordered chunking: its writes are judged by chunk.declared", style="dim"))


def measure(head: Header) -> str:
    """What the target met, and what it is judged by."""
    met = f"in real sessions of ONNX Runtime {head.ort}" if head.sessions else f"ONNX Runtime {head.ort}"
    by = head.contract if head.scope == "effects" else f"the contract of {head.contract}"
    return f"{head.met or met}, judged by {by}"


def findings(
    console: Console,
    results: Sequence[tuple[Case, Verdict]],
    head: Header,
    known: Mapping[str, Mapping[str, str]] = {},
    *,
    everything: bool = False,
) -> None:
    """Print the findings that fail grouped by rule, then the notes, then what is known, skips and errors, each group once.

    ``known`` are, by the id of a case, the rules that are known to break, each with the reason.
    """
    found = [(case, f) for case, verdict in results for f in verdict.findings]
    failing = [(case, f) for case, f in found if f.fails and (everything or f.rule not in known.get(case.id, {}))]
    company = {verdict.case for _, verdict in results if not verdict.confirmed}
    for rule in sorted({f.rule for _, f in failing}, key=by_severity):
        _rule(console, rule, [(c, f) for c, f in failing if f.rule == rule], head, everything, company, known)
    notes(console, results)
    reasons = sorted((pair for rules in known.values() for pair in rules.items()), key=lambda pair: by_severity(pair[0]))
    knowns = [f"{rule}: {reason}" for rule, reason in reasons]
    skips = [*head.skipped.values(), *(v.reason for _, v in results if v.result == "skip")]
    errors = [f"{case.id}: {v.reason}" for case, v in results if v.result == "error"]
    for label, texts, style in (("known", knowns, "dim"), ("skipped", skips, "dim"), ("error", errors, "bold red")):
        if texts:
            console.print()
        for text in dict.fromkeys(texts):
            console.print(Text(f"{label} {texts.count(text)}: {text}", style=style))


def notes(console: Console, results: Sequence[tuple[Case, Verdict]]) -> None:
    """Print what was found and does not fail."""
    found = [(case, f) for case, verdict in results for f in verdict.findings if not f.fails]
    strict = [(case, f) for case, f in found if f.over_strict]
    if strict:
        _notes(console, "over-strict (safe, but refuses what the specification accepts)", strict)
    others = [(case, f) for case, f in found if not f.over_strict]
    if others:
        _notes(console, "notes (not failures in this profile)", others)


def by_severity(rule: str) -> tuple[int, str]:
    """A key that sorts rules: the most severe first, else by their ids."""
    return SEVERITIES.index(RULES[rule].severity) if rule in RULES else len(SEVERITIES), rule


def _rule(
    console: Console,
    rule: str,
    found: list[tuple[Case, Finding]],
    head: Header,
    everything: bool,
    company: Set[str],
    known: Mapping[str, Mapping[str, str]],
) -> None:
    severity = RULES[rule].severity
    cases = [list(group) for _, group in groupby(found, key=lambda pair: pair[0].id)]
    console.print(Text.assemble("\n", (severity, COLOURS[severity]), "  ", (rule, "bold"), f"  {plural(len(cases), 'case')}"))
    console.print(indented(Text(RULES[rule].statement, style="dim")))
    listed = cases if everything else cases[:SHOWN]
    for group in listed:
        case = group[0][0]
        _case(console, case, [finding for _, finding in group], head, company, known.get(case.id, {}).get(rule, ""))
    rest = [group[0][0].id for group in cases[len(listed) :]]
    if rest:
        ids = ", ".join(rest[:NAMED]) + (", …" if len(rest) > NAMED else "")
        console.print(indented(Text(f"and {len(rest)} more: {ids} (--all shows each)", style="dim")))


def _case(console: Console, case: Case, found: Sequence[Finding], head: Header, company: Set[str], known: str) -> None:
    """One case that breaks a rule: its first call that does in full, the numbers of the others."""
    console.print(indented(Text(case.id, style="bold")))
    console.print(indented(labelled(case_rows(case, found, known)), 4))
    if case.id in company:
        console.print(indented(labelled([("again", COMPANY)]), 4))
        return
    # A line of its own, which no line break enters: it is there to be copied. A terminal folds it, and still copies it whole.
    console.print(Text.assemble("    ", ("again    ", "dim"), replay_command(case.id, head)), soft_wrap=True)


def case_rows(case: Case, found: Sequence[Finding], known: str = "") -> list[tuple[str, str]]:
    """What is said of one case that breaks a rule, in all its ``found``: labels with their texts."""
    first = found[0]
    rows = [
        ("call", f"{call_words(case.calls[first.call])}{_numbers(case, found)}"),
        ("expected", first.expected),
        ("happened", first.happened),
    ]
    rows += [("file", first.file)] if first.file else []
    return rows + ([("known", known)] if known else [])


def labelled(rows: Iterable[tuple[str, str | Text]]) -> Table:
    """Texts with their labels beside them."""
    table = Table.grid(padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(style="dim", no_wrap=True, min_width=8)
    table.add_column(overflow="fold")
    for label, text in rows:
        table.add_row(label, text if isinstance(text, Text) else Text(text))
    return table


def _numbers(case: Case, found: Sequence[Finding]) -> str:
    """Which of a case's calls are meant, where it has several."""
    if len(case.calls) == 1:
        return ""
    others = sorted({f.call + 1 for f in found[1:]} - {found[0].call + 1})
    also = f"; calls {', '.join(map(str, others))} too" if len(others) > 1 else f"; call {others[0]} too" if others else ""
    return f" (call {found[0].call + 1} of {len(case.calls)}{also})"


def _notes(console: Console, title: str, notes: list[tuple[Case, Finding]]) -> None:
    console.print(Text(f"\n{title}", style="bold"))
    for rule in dict.fromkeys(f.rule for _, f in notes):
        cases = [(c, f) for c, f in notes if f.rule == rule]
        case, finding = cases[0]
        number = plural(len({c.id for c, _ in cases}), "case")
        console.print(indented(Text(f"{rule}  {number}; for example {case.id}: {finding.happened}")))


def replay_command(case: str, head: Header) -> str:
    """The command line that shows a finding again."""
    words = ["epctx", "replay", case, head.target]
    for file in head.files:
        words += ["--cases", file]
    if not head.by_itself or head.settings:
        words += ["--profile", head.profile]
    own = PROFILES[head.profile].policies
    for rule, stance in head.policies.items():
        words += ["--policy", f"{rule}={stance}"] if own.get(rule) != stance else []
    if head.sanitizer:
        words += ["--sanitize", head.sanitizer]
    if head.patience:
        words += ["--patience", f"{head.patience:g}"]
    if head.unboxed:
        words.append("--unboxed")
    return shlex.join(words)


def baselines(console: Console, head: Header, foot: Footer) -> None:
    """What is out of date in the baselines: entries that do not count any more, and such as no longer occur."""
    if head.expired or foot.stale:
        console.print()
    for entry in head.expired:
        console.print(Text(f"expired: {entry.where} ended on {entry.expires}, and what it names is not known any more", "yellow"))
    for entry in foot.stale:
        globs = f"{', '.join(entry.cases[:NAMED])}{', …' if len(entry.cases) > NAMED else ''}"
        what = "it no longer occurs" if len(entry.cases) == 1 else f"{len(entry.cases)} of its globs no longer occur"
        console.print(Text(f"stale: {entry.where}: {what}; take out {globs}", style="bold red"))
    if foot.stale:
        console.print(Text("--write-baseline FILE writes a baseline without what is stale", style="dim"))


def baseline_written(console: Console, path: Path, entries: Sequence[Entry] | None) -> None:
    """What was made of a run, None if it did not come to its end, and what is left to do."""
    if entries is None:
        console.print(Text("\nno baseline was written, since the run was interrupted", style="bold yellow"))
        return
    bare = sum(not e.reason for e in entries)
    left = f"; write a reason into {bare} of them" if bare else ""
    number = "1 entry" if len(entries) == 1 else f"{len(entries)} entries"
    console.print(Text(f"\nbaseline {path}: {number}{left}"))


def reports_written(console: Console, files: Sequence[ReportFile[Subject]]) -> None:
    """Which reports were written where."""
    if files:
        console.print()
    for file in files:
        console.print(Text(f"report {file.format.name}: {file.path}{' (replaced)' if file.replaced else ''}", style="dim"))


def summary(console: Console, head: Header, foot: Footer) -> None:
    """The last lines: what ran, and plainly whether the target held."""
    console.print(Text(f"\n{counts(head, foot)}", style="dim"))
    if foot.races:
        race = foot.races
        rate = f"{race.outside:,} of {race.rounds:,} reads left the model directory ({100 * race.outside / race.rounds:.1f} %)"
        console.print(Text(f"races: {rate} while names were changed {race.turns:,} times", style="dim"))
    console.print(conclusion(head, foot))


def counts(head: Header, foot: Footer) -> str:
    """How many cases ended how, and how long that took."""
    results = ", ".join(f"{n} {result}" for result, n in foot.counts.items()) or "nothing ran"
    known = f"; {foot.known} of {foot.failing} known" if head.baselines and foot.failing else ""
    return f"{results}{known}; {foot.seconds:.1f} s"


def conclusion(head: Header, foot: Footer) -> Text:
    """The sentence that a run comes to."""
    found = conclude(head, foot)
    return Text(str(found), style=f"bold {MOODS[found.mood]}")


def verdict(console: Console, case: Case, judged: Verdict) -> None:
    """What a single case comes to: its findings, then its result in a word."""
    for finding in judged.findings:
        style = COLOURS[finding.severity] if finding.fails else "dim"
        label = finding.severity if finding.fails else "over-strict" if finding.over_strict else "note"
        number = f"  call {finding.call + 1}" if len(case.calls) > 1 else ""
        console.print(Text.assemble("\n", (label, style), "  ", (finding.rule, "bold"), number))
        console.print(indented(labelled([("expected", finding.expected), ("happened", finding.happened)])))
    style = "bold red" if judged.fails or judged.result == "error" else "yellow" if judged.result == "skip" else "bold green"
    console.print(Text(f"\n{judged.case}: {judged.result}{f' ({judged.reason})' if judged.reason else ''}", style=style))
