"""Lists for people and for pipes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import click
from rich.table import Table
from rich.text import Text

from epctx.report.console import Output, indented

Row: TypeAlias = tuple[str | Text, ...]

ROOM = 44
"""Columns that the last cell of an entry needs to stand beside the others."""


def show(rows: Sequence[Row]) -> None:
    """Print rows: in a pipe a line each, its cells separated by tabs; else a table where the last column has room for some words
    on a line, or each last cell below the others."""
    console = Output()
    if not console.live:
        for row in rows:
            click.echo("\t".join(str(cell) for cell in row))
        return
    _print(console, [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows])


def _print(console: Output, rows: Sequence[Sequence[Text]]) -> None:
    before = sum(2 + max(cell.cell_len for cell in column) for column in list(zip(*rows, strict=True))[:-1])
    if before + ROOM <= console.width:
        table = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
        for row in rows:
            table.add_row(*row)
        console.print(table)
        return
    for name, *others, last in rows:
        name.stylize("bold")
        console.print(Text("  ").join((name, *others)))
        console.print(indented(last))
