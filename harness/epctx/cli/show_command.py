"""``epctx show``: a case as a person reads it."""

from __future__ import annotations

from pathlib import Path

import click

from epctx.case import Platform
from epctx.case_file import dumps
from epctx.cli import options
from epctx.report.console import Output
from epctx.report.detail import case_detail
from epctx.spec import predict


@click.command(short_help="Show a case: its world, its calls, what is expected, and why.")
@click.argument("case")
@click.option(
    "--platform",
    type=click.Choice(["posix", "windows"]),
    default="posix",
    show_default=True,
    help="Whose rules for names the expectation is by.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the case as its JSON instead.")
@options.case_files("Look for CASE, an id, in this .json or .jsonl file, or in all of this folder.")
def command(case: str, platform: Platform, as_json: bool, files: tuple[Path, ...]) -> None:
    """Show CASE (an id, or a file with one case): the world as a tree, the calls, what is expected, and why."""
    chosen = options.find_case(case, files)
    if as_json:
        click.echo(dumps(chosen))
        return
    expects = chosen.expect if chosen.expect and platform == "posix" else predict(chosen, platform)
    Output().print(case_detail(chosen, expects))
