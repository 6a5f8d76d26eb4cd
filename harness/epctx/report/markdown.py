"""Markdown: the verdict first, then what was found, short enough for the summary of a CI step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from epctx.case import visible
from epctx.report.comparison import WORDS, Change, Comparison, by_rule, statement
from epctx.report.console import plural
from epctx.report.escape import clipped
from epctx.report.escape import markdown as escaped
from epctx.report.escape import markdown_code as code
from epctx.report.failing import Broken, broken
from epctx.report.record import Header, Run
from epctx.report.terminal import NAMED, SHOWN, conclusion, counts, measure

MOST = 256 << 10
"""Bytes of a summary; the summaries of all steps of a job have a limit of 1 MiB each in GitHub's CI."""
REASONS = 20
"""How many reasons of skips, errors and known findings are listed."""


def markdown(run: Run) -> str:
    """A summary in Markdown, made for the step summaries and comments of a CI."""
    head, lines, foot = run
    found = broken(run)
    new = {rule: kept for rule, cases in found.items() if (kept := [b for b in cases if not b.known])}
    icon = "✅" if foot.held else "❌" if foot.failing > foot.known or foot.stale else "⚠️"
    parts = [
        f"### {icon} {escaped(conclusion(head, foot).plain)}",
        f"{escaped(counts(head, foot))}. {escaped(measure(head))}; epctx {escaped(head.epctx)}, "
        f"{'boxed' if head.boxed else '**not boxed**'}.",
    ]
    if new:
        parts.append(_table(("rule", "severity", "cases", "what it demands"), [_row(rule, cases) for rule, cases in new.items()]))
    parts += [_section(rule, cases, head) for rule, cases in new.items()]
    known = [reason for line in lines for reason in line.known.values()]
    skips = [*head.skipped.values(), *(line.verdict.reason for line in lines if line.verdict.result == "skip")]
    errors = [f"{line.case.id}: {line.verdict.reason}" for line in lines if line.verdict.result == "error"]
    notes = [
        f"{rule}, for example {cases[0].case.id}: {cases[0].first.happened}"
        for rule, cases in broken(run, fails=False).items()
        for _ in cases
    ]
    listed = (("errors of the harness", errors), ("known findings", known), ("skipped cases", skips), ("notes", notes))
    parts += [_reasons(title, reasons) for title, reasons in listed if reasons]
    parts += [_stale(entry.where) for entry in foot.stale]
    return _within(parts)


def comparison(compared: Comparison) -> str:
    """A comparison in Markdown, made for comments on a change."""
    worse, better, other = (compared.of(kind) for kind in ("worse", "better", "other"))
    before, after = compared.before.header.target, compared.after.header.target
    icon = "❌" if worse else "✅"
    parts = [
        f"### {icon} {code(before)} → {code(after)}: {len(worse)} worse, {len(better)} better, {len(other)} changed otherwise",
        f"{plural(compared.compared, 'case')} judged in both runs.",
    ]
    parts += [escaped(sentence) for sentence in compared.conditions]
    for title, changes in (("worse", worse), ("better", better)):
        if changes:
            rows = [(code(rule), of[0].severity or "", str(len(of))) for rule, of in by_rule(changes).items()]
            parts.append(_table((title, "severity", "cases"), rows))
    parts += [_changes(rule, changes) for rule, changes in by_rule(worse).items()]
    if other:
        kinds = Counter(change.what for change in other)
        parts.append(_table(("changed otherwise", "cases"), [(WORDS[what], str(number)) for what, number in kinds.items()]))
    return _within(parts)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def _row(rule: str, cases: Sequence[Broken]) -> tuple[str, ...]:
    return code(rule), cases[0].first.severity, str(len(cases)), escaped(" ".join(statement(rule).split()))


def _section(rule: str, cases: Sequence[Broken], head: Header) -> str:
    """The first cases of a rule, folded, each with the command that shows it again."""
    blocks = [f"<details><summary><code>{escaped(rule)}</code>, {plural(len(cases), 'case')}</summary>"]
    for found in cases[:SHOWN]:
        rows = [*found.rows, ("again", found.again(head))]
        lines = [f"{label:9}{visible(text) if label == 'again' else clipped(text)}" for label, text in rows]
        blocks += [code(found.case.id), _block(lines)]
    if rest := [code(b.case.id) for b in cases[SHOWN:]]:
        blocks.append(f"and {len(rest)} more: {', '.join(rest[:NAMED])}{', …' if len(rest) > NAMED else ''}")
    return "\n\n".join([*blocks, "</details>"])


def _changes(rule: str, changes: Sequence[Change]) -> str:
    blocks = [f"<details><summary><code>{escaped(rule)}</code>, {plural(len(changes), 'case')} worse</summary>"]
    for change in changes[:SHOWN]:
        blocks += [code(change.case), _block([f"before   {clipped(change.before)}", f"after    {clipped(change.after)}"])]
    if len(changes) > SHOWN:
        blocks.append(f"and {len(changes) - SHOWN} more")
    return "\n\n".join([*blocks, "</details>"])


def _block(lines: Sequence[str]) -> str:
    """Lines as they are: none begins with what ends the block, as each has a label."""
    return "\n".join(("```text", *lines, "```"))


def _reasons(title: str, reasons: Sequence[str]) -> str:
    count = Counter(reasons)
    lines = [f"- {number} × {escaped(reason)}" for reason, number in count.most_common(REASONS)]
    more = [f"- and {len(count) - REASONS} more reasons"] if len(count) > REASONS else []
    return "\n".join([f"<details><summary>{len(reasons)} {title}</summary>", "", *lines, *more, "", "</details>"])


def _stale(where: str) -> str:
    return f"stale: {escaped(where)} no longer occurs"


def _within(parts: Sequence[str]) -> str:
    """All parts that there is room for, and how many there is none for."""
    kept: list[str] = []
    size = 200
    for part in parts:
        size += len(part.encode("utf-8", "backslashreplace")) + 2
        if size > MOST:
            kept.append(f"{len(parts) - len(kept)} more sections are left out, as this summary would be too long.")
            break
        kept.append(part)
    return "\n\n".join(kept) + "\n"
