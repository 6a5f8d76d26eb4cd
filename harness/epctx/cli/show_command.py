"""``epctx show``: a case as a person reads it."""

from __future__ import annotations

import click
from rich.console import Console

from epctx.case import Platform
from epctx.case_file import dumps
from epctx.cli import options
from epctx.report.detail import case_detail
from epctx.spec import predict


@click.command()
@click.argument("case")
@click.option(
    "--platform", type=click.Choice(["posix", "windows"]), default="posix", show_default=True, help="The rules for names."
)
@click.option("--json", "as_json", is_flag=True, help="Print the case as its JSON instead.")
def command(case: str, platform: Platform, as_json: bool) -> None:
    """Show CASE (an id, or a file with one case): the world as a tree, the calls, what is expected, and why."""
    chosen = options.find_case(case)
    if as_json:
        click.echo(dumps(chosen))
        return
    expects = chosen.expect if chosen.expect and platform == "posix" else predict(chosen, platform)
    Console().print(case_detail(chosen, expects))
