"""The terminal report: findings grouped by rule, most severe first, and a last line that says whether the target held."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from epctx.case import Case, shown
from epctx.oracle import RULES, SEVERITIES, Finding, Verdict
from epctx.report.record import Footer, Header

COLOURS = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "cyan"}
SHOWN = 3
"""How many cases of a rule are shown in full unless all are asked for."""


def header(console: Console, head: Header) -> None:
    """Say what is about to run."""
    console.print(Text.assemble(("epctx ", "bold"), f"{head.target}, profile {head.profile}, {head.cases} cases"))
    console.print(Text(head.box, style="dim" if head.boxed else "bold yellow"))
    console.print(Text(f"ONNX Runtime {head.ort}", style="dim"))


def findings(console: Console, results: Sequence[tuple[Case, Verdict]], head: Header, *, everything: bool = False) -> None:
    """Print the findings that fail grouped by rule, then the notes, then skips and errors, each group once."""
    found = [(case, f) for case, verdict in results for f in verdict.findings]
    failing = [(case, f) for case, f in found if f.fails]
    for rule in sorted({f.rule for _, f in failing}, key=lambda r: (SEVERITIES.index(RULES[r].severity), r)):
        _rule(console, rule, [(c, f) for c, f in failing if f.rule == rule], head, everything)
    notes = [(case, f) for case, f in found if not f.fails]
    if notes:
        _notes(console, notes)
    for result, style in (("skip", "dim"), ("error", "bold red")):
        reasons = [v.reason for _, v in results if v.result == result]
        for reason in dict.fromkeys(reasons):
            label = "skipped" if result == "skip" else "error"
            console.print(Text(f"{label} {reasons.count(reason)}: {reason}", style=style))


def _rule(console: Console, rule: str, found: list[tuple[Case, Finding]], head: Header, everything: bool) -> None:
    severity = RULES[rule].severity
    title = Text.assemble("\n", (severity, COLOURS[severity]), "  ", (rule, "bold"), f"  {_count(found)}")
    console.print(title)
    console.print(Padding(Text(RULES[rule].statement, style="dim"), (0, 0, 0, 2)))
    listed = found if everything else found[:SHOWN]
    for case, finding in listed:
        console.print(Padding(_finding(case, finding, head), (0, 0, 0, 2)))
    rest = found[len(listed) :]
    if rest:
        ids = ", ".join(case.id for case, _ in rest[:6]) + (", …" if len(rest) > 6 else "")
        console.print(Padding(Text(f"and {len(rest)} more: {ids} (--all shows each)", style="dim"), (0, 0, 0, 2)))


def _finding(case: Case, finding: Finding, head: Header) -> Group:
    call = case.calls[finding.call]
    table = Table.grid(padding=(0, 1))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    number = f" (call {finding.call + 1} of {len(case.calls)})" if len(case.calls) > 1 else ""
    table.add_row("call", Text(f"{call.op} {shown(call.name)}{number}"))
    table.add_row("expected", Text(finding.expected))
    table.add_row("happened", Text(finding.happened))
    if finding.file:
        table.add_row("file", Text(finding.file))
    table.add_row("again", Text(replay_command(case.id, head)))
    return Group(Text(case.id, style="bold"), Padding(table, (0, 0, 0, 2)))


def _notes(console: Console, notes: list[tuple[Case, Finding]]) -> None:
    console.print(Text("\nnotes (not failures in this profile)", style="bold"))
    for rule in dict.fromkeys(f.rule for _, f in notes):
        cases = [(c, f) for c, f in notes if f.rule == rule]
        case, finding = cases[0]
        console.print(Padding(Text(f"{rule}  {_count(cases)}; for example {case.id}: {finding.happened}"), (0, 0, 0, 2)))


def _count(found: Sequence[tuple[Case, Finding]]) -> str:
    number = len({case.id for case, _ in found})
    return f"{number} case{'s' if number != 1 else ''}"


def replay_command(case: str, head: Header) -> str:
    """The command line that shows a finding again."""
    words = ["epctx", "replay", case, head.target]
    if head.profile != "spec":
        words += ["--profile", head.profile]
    for rule, stance in head.policies.items():
        words += ["--policy", f"{rule}={stance}"]
    return shlex.join(words)


def summary(console: Console, head: Header, foot: Footer) -> None:
    """The last lines: what ran, and plainly whether the target held."""
    counts = ", ".join(f"{n} {result}" for result, n in foot.counts.items()) or "nothing"
    console.print(Text(f"\n{counts}; {foot.seconds:.1f} s", style="dim"))
    failing = sum(foot.counts.get(r, 0) for r in ("fail", "hang", "crash"))
    known = " so far: the run was interrupted" if foot.interrupted else ""
    if failing:
        console.print(
            Text(
                f"{head.target} does not hold: {failing} of {head.cases} cases break rules of profile {head.profile}{known}",
                style="bold red",
            )
        )
    elif foot.held:
        console.print(
            Text(
                f"{head.target} holds: every rule of profile {head.profile} held in {foot.judged} cases",
                style="bold green",
            )
        )
    elif foot.counts.get("error"):
        console.print(Text(f"no verdict on {head.target}: the harness failed at {foot.counts['error']} cases", style="bold red"))
    else:
        console.print(Text(f"no verdict on {head.target}{known or ': nothing ran'}", style="bold yellow"))


def verdict(console: Console, judged: Verdict) -> None:
    """What a single case comes to: its findings, then its result in a word."""
    for finding in judged.findings:
        style = COLOURS[finding.severity] if finding.fails else "dim"
        label = finding.severity if finding.fails else "note"
        console.print(Text.assemble("\n", (label, style), "  ", (finding.rule, "bold"), f"  call {finding.call + 1}"))
        console.print(Padding(Text(f"expected {finding.expected}; {finding.happened}"), (0, 0, 0, 2)))
    style = "bold red" if judged.fails or judged.result == "error" else "bold green"
    console.print(Text(f"\n{judged.case}: {judged.result}{f' ({judged.reason})' if judged.reason else ''}", style=style))
