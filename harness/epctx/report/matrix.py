"""The matrix of the self-test as Markdown."""

from __future__ import annotations

from epctx.run.selftest import Matrix


def markdown(matrix: Matrix) -> str:
    """One row for each weak target: the rules that caught it, with the number of cases, and what broke with them."""
    lines = [
        "# What finds what",
        "",
        "Made by `epctx selftest --save`: each weak target, the rules that it names with the number of cases that saw each",
        "broken, and the rules that broke with them.",
        "",
        "| weak target | what is wrong with it | caught by | with it |",
        "|---|---|---|---|",
    ]
    for row in matrix.rows:
        named = ", ".join(f"`{r}` {len(ids)}" for r, ids in row.broken.items() if r in row.weakness.breaks)
        others = ", ".join(f"`{r}` {len(ids)}" for r, ids in row.broken.items() if r not in row.weakness.breaks)
        lines.append(f"| `{row.weakness.name}` | {row.weakness.summary} | {named} | {others} |")
    return "\n".join(lines) + "\n"
