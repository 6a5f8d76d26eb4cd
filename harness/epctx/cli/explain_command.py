"""``epctx explain``: what a rule demands, and why."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

import click
from rich.syntax import Syntax
from rich.text import Text

from epctx.cli import options
from epctx.errors import UsageError
from epctx.oracle import RULES
from epctx.report.console import Output, indented
from epctx.report.terminal import COLOURS, NAMED, labelled
from epctx.target import weaknesses
from epctx.target.example import Code, example


@click.command(short_help="Say what a rule demands, and why.")
@click.argument("rule")
def command(rule: str) -> None:
    """Explain RULE: its statement, why it matters, its source, the cases that aim at it, the weak targets that break it, and
    how one of these does so, beside the right form: both as code.
    """
    if rule not in RULES:
        near = get_close_matches(rule, RULES, 1)
        raise UsageError(f"There is no rule {rule!r}; " + (f"did you mean {near[0]!r}?" if near else "see `epctx list rules`."))
    found, console = RULES[rule], Output()
    console.print(Text.assemble((found.id, "bold"), "  ", (found.severity, COLOURS[found.severity]), f"  tier {found.tier}"))
    for text in (found.statement, found.why):
        console.print()
        console.print(indented(Text(" ".join(text.split()))))
    cases = [c.id for c in options.listed_cases() if rule in c.rules]
    more = f", and {len(cases) - NAMED} more" if len(cases) > NAMED else ""
    weak = [w.target for w in weaknesses() if rule in w.breaks]
    rows = [
        ("source", found.source),
        ("cases", f"{', '.join(cases[:NAMED])}{more}" if cases else "none that aims at it; it is judged on every case"),
        ("broken by", ", ".join(weak) or "no weak target"),
    ]
    console.print()
    console.print(indented(labelled(rows)))
    if shown := example(rule):
        console.print()
        console.print(indented(Text.assemble(("weak form", "bold"), f"  {shown.weakness.target}: {shown.weakness.summary}")))
        _code(console, shown.weak)
        if shown.right:
            console.print(indented(Text("right form", style="bold")))
            _code(console, shown.right)
        else:
            console.print(indented(Text.assemble(("right form", "bold"), "  the same without what depends on the fault")))


def _code(console: Output, codes: Sequence[Code]) -> None:
    for code in codes:
        console.print(indented(Text(f"// {code.file}" if code.language == "cpp" else f"# {code.file}", style="dim"), 4))
        console.print(
            indented(Syntax(code.text, code.language, theme="ansi_dark", background_color="default", word_wrap=True), 4)
        )
        console.print()
