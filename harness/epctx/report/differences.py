"""A comparison on a terminal: what got worse in full, what got better by rule, what changed otherwise in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from epctx.report.comparison import WORDS, Change, Comparison, Kind, by_rule, statement
from epctx.report.conclusion import conclude_comparison
from epctx.report.console import indented, plural
from epctx.report.record import Header
from epctx.report.terminal import COLOURS, MOODS, NAMED, SHOWN, labelled, replay_command

STYLES: dict[Kind, str] = {"worse": "bold red", "better": "bold green"}
LUCK = "this case is a matter of luck: run both again before you believe it"


def differences(console: Console, compared: Comparison, *, everything: bool = False) -> None:
    """Print a comparison; with ``everything`` each change in full."""
    before, after = compared.before.header, compared.after.header
    console.print(Text.assemble(("epctx diff ", "bold"), f"{before.target} -> {after.target}"))
    for sentence in compared.conditions:
        console.print(Text(f"note: {sentence}", style="yellow"))
    for name, head, ids in (("first", before, compared.only_before), ("second", after, compared.only_after)):
        if ids:
            first = ", ".join(ids[:NAMED]) + (", …" if len(ids) > NAMED else "")
            console.print(
                Text(f"note: {plural(len(ids), 'case')} only in the {name} run ({head.target}): {first}", style="yellow")
            )
    for kind, style in (("worse", "bold red"), ("better", "bold green")):
        for rule, changes in by_rule(compared.of("worse" if kind == "worse" else "better")).items():
            _rule(console, Text(kind, style=style), rule, changes, after, everything or kind == "worse")
    _others(console, compared.of("other"), everything)
    console.print()
    console.print(conclusion(compared))


def _rule(console: Console, kind: Text, rule: str, changes: Sequence[Change], after: Header, everything: bool) -> None:
    severity = changes[0].severity or ""
    colour = COLOURS.get(severity, "")
    count = plural(len(changes), "case")
    console.print(Text.assemble("\n", kind, "  ", (severity, colour), "  ", (rule, "bold"), f"  {count}"))
    console.print(indented(Text(statement(rule), style="dim")))
    listed = changes if everything else changes[:SHOWN] if changes[0].kind == "worse" else ()
    for change in listed:
        _change(console, change)
        if change.kind == "worse":
            again = replay_command(change.case, after)
            console.print(Text.assemble("    ", ("again    ", "dim"), again), soft_wrap=True)
    if rest := [change.case for change in changes[len(listed) :]]:
        more = f"and {len(rest)} more: " if listed else ""
        console.print(indented(Text(f"{more}{_named(rest)} (--all shows each)", style="dim")))


def _named(ids: Sequence[str]) -> str:
    """The first of some ids."""
    return ", ".join(ids[:NAMED]) + (", …" if len(ids) > NAMED else "")


def _change(console: Console, change: Change) -> None:
    rows = [("before", change.before), ("after", change.after)]
    rows += [("file", change.file)] if change.file else []
    rows += [("note", LUCK)] if change.by_luck else []
    console.print(indented(Text(change.case, style="bold")))
    console.print(indented(labelled(rows), 4))


def _others(console: Console, changes: Sequence[Change], everything: bool) -> None:
    if not changes:
        return
    console.print(Text("\nchanged, and neither better nor worse", style="bold"))
    for what, number in Counter(change.what for change in changes).items():
        of = [change for change in changes if change.what == what]
        example = "" if everything else f"; for example {of[0].case}: {of[0].before} -> {of[0].after}"
        console.print(indented(Text(f"{WORDS[what]}  {plural(number, 'case')}{example}")))
        for change in of if everything else ():
            _change(console, change)


def conclusion(compared: Comparison) -> Text:
    """The sentence that a comparison comes to."""
    found = conclude_comparison(compared)
    return Text(str(found), style=f"bold {MOODS[found.mood]}")
