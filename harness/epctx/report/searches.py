"""What campaigns search, and how fast, in tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from epctx.fuzz.bench import Pace, Searches

COLUMNS = ("weak target", "engine", "found", "executions, median", "worst", "seconds, median", "worst")
PACES = ("target", "engine", "calls a second", "bare reads", "ratio", "plain libFuzzer", "ratio")


def table(searches: Sequence[Searches], paces: Sequence[Pace]) -> list[Table]:
    """The tables for a terminal, those that have rows."""
    return [_rich(head, rows) for head, rows in ((COLUMNS, list(map(cells, searches))), (PACES, list(map(_pace, paces)))) if rows]


def markdown(searches: Sequence[Searches], paces: Sequence[Pace]) -> str:
    """The same for a page."""
    parts = [_markdown(PACES, list(map(_pace, paces)))] if paces else []
    return "\n".join([*parts, _markdown(COLUMNS, list(map(cells, searches)))])


def cells(one: Searches) -> tuple[str, ...]:
    """A row: where more than half of the searches found nothing, the median is above the cap; where one did, the worst is."""
    capped = f"> {one.most:,}"
    executions = [one.middle(lambda first: first.executions), one.worst(lambda first: first.executions)]
    seconds = [one.middle(lambda first: first.seconds), one.worst(lambda first: first.seconds)]
    return (
        one.target,
        one.engine,
        f"{one.found} of {len(one.firsts)}",
        *(capped if value is None else f"{value:,.0f}" for value in executions),
        *("" if value is None else f"{value:.2f}" for value in seconds),
    )


def _pace(one: Pace) -> tuple[str, ...]:
    beside = [(f"{rate:,.0f}", f"{one.calls / rate:.2f}") if rate else ("", "") for rate in (one.bare, one.plain)]
    return one.target, one.engine, f"{one.calls:,.0f}", *beside[0], *beside[1]


def _rich(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for index, column in enumerate(head):
        table.add_column(column, justify="left" if index < 2 else "right")
    for row in rows:
        table.add_row(*row)
    return table


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---" if index < 2 else "---:" for index in range(len(head))]
    lines = [head, rule, *((f"`{target}`", *others) for target, *others in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
