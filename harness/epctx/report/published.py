"""Published faults beside what was found: a table for people, and the same as data."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from epctx.case import Struct
from epctx.report.console import indented, plural
from epctx.report.terminal import labelled
from epctx.run.published import Cell, Row

FORMAT = 1
NAMED = 3
"""How many failing cases of a rule are named."""
STYLES = {"right": "green", "wrong": "bold red", "skipped": "yellow", "unusable": "bold red"}


class Report(Struct, frozen=True, omit_defaults=False):
    """What ``epctx published --json`` writes: which epctx ran, with which Python, and a row for each fault."""

    epctx: str
    python: str
    rows: tuple[Row, ...]
    seconds: float
    interrupted: bool = False
    format: int = FORMAT


def table(console: Console, rows: Sequence[Row]) -> None:
    """A line for each fault: found in its vulnerable release, silent in its fixed one, or what there was instead."""
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("fault", "target", "vulnerable", "found there", "fixed", "silent there"):
        shown.add_column(column)
    for row in rows:
        beside = [text for cell in row.cells for text in (Text(cell.environment), Text(words(cell), style=STYLES[cell.outcome]))]
        shown.add_row(Text(row.fault.id, style="bold"), Text(row.fault.target), *beside)
    console.print(shown)


def words(cell: Cell) -> str:
    """What a cell comes to, in a word or two."""
    if cell.outcome == "skipped":
        return "skipped"
    if cell.outcome == "unusable":
        return "no verdict"
    count = plural(cell.ran, "case")
    if cell.outcome == "right":
        return f"{cell.wanted}, {count}"
    return f"not {cell.wanted}, {cell.failing} of {count}"


def details(console: Console, rows: Sequence[Row]) -> None:
    """What is special about targets here; and of each cell that is not right why, or which rules did what they should not, and
    how to see that again."""
    notes = dict.fromkeys((row.fault.target, note) for row in rows for cell in row.cells for note in cell.notes)
    if notes:
        console.print()
    for target, note in notes:
        console.print(Text(f"{target}: {note}", style="dim"))
    for row in rows:
        for cell in row.cells:
            if cell.outcome == "right":
                continue
            outcome = (words(cell), STYLES[cell.outcome])
            console.print(Text.assemble("\n", (row.fault.id, "bold"), f"  {cell.environment}: ", outcome))
            console.print(indented(labelled(_reasons(row, cell))))
            if cases := cell.blind or [id for ids in cell.broken.values() for id in ids]:
                # A line of its own, which no line break enters: it is there to be copied.
                console.print(Text.assemble("  ", ("again    ", "dim"), replay_command(row, cell, cases[0])), soft_wrap=True)


def _reasons(row: Row, cell: Cell) -> list[tuple[str, str]]:
    if cell.reason:
        return [("reason", cell.reason)]
    lines = [("missed", f"no case breaks {rule}") for rule in cell.missed]
    lines += [("missed", f"{_some(cell.blind)} should break {' or '.join(row.fault.rules)}")] if cell.blind else []
    if cell.wanted == "silent":
        lines += [("broken", f"{rule} by {_some(ids)}") for rule, ids in cell.broken.items()]
    return lines


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:NAMED]) + (f" and {len(ids) - NAMED} more" if len(ids) > NAMED else "")


def replay_command(row: Row, cell: Cell, case: str) -> str:
    """The command line that shows a case of a cell again."""
    options = ["--profile", row.fault.profile] if row.fault.profile else []
    for policy in row.fault.policies:
        options += ["--policy", policy]
    return shlex.join(["epctx", "replay", case, cell.target, *options])


def conclusion(console: Console, report: Report, wanted: int) -> None:
    """The last line: plainly whether each of the ``wanted`` faults was found where it is, and only there."""
    outcomes = [cell.outcome for row in report.rows for cell in row.cells]
    wrong, right = outcomes.count("wrong"), outcomes.count("right")
    if wrong:
        text, style = f"{wrong} of {plural(len(outcomes), 'cell')} wrong", "bold red"
    elif right == 2 * wanted:
        faults = plural(wanted, "published fault")
        text, style = f"{faults}: found in each vulnerable release, silent in each fixed one", "bold green"
    elif right:
        text, style = f"nothing is wrong, but only {right} of {2 * wanted} cells say something", "bold yellow"
    else:
        text, style = "no verdict on any published fault", "bold yellow"
    early = f"; interrupted after {len(report.rows)} of {wanted}" if report.interrupted else ""
    console.print(Text(f"\n{text}{early}; {report.seconds:.0f} s", style=style))
