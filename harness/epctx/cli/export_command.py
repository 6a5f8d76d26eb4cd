"""``epctx export``: cases as files, for use without epctx."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

from epctx.cli import options
from epctx.report.console import Output, plural
from epctx.run.export import SPECIAL, export
from epctx.run.select import select


@click.command(short_help="Write cases as files, for use without epctx.")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--only", multiple=True, metavar="GLOB", help="Only cases whose id matches.")
@click.option(
    "--links",
    is_flag=True,
    help="Also make symbolic and hard links: some lead out of the model directory, a few to devices or the working directory.",
)
@click.option("--fifos", is_flag=True, help="Also make FIFOs and sockets: programs that open them may hang.")
def command(directory: Path, only: tuple[str, ...], links: bool, fifos: bool) -> None:
    """Write cases to DIRECTORY, which must be new or empty: for each one a folder with case.json and its world, model included.

    What a file system only has on request, or only for root, is left out and named in the folder's LEFT-OUT.txt.
    """
    cases, _ = select(options.listed_cases(), only)
    wanted = (SPECIAL["links"] if links else ()) + (SPECIAL["fifos"] if fifos else ())
    left_out = export(directory, cases, wanted)
    console = Output()
    console.print(Text(f"{plural(len(cases), 'case')} in {directory}"))
    if left_out:
        hint = " (links and FIFOs are made on request: --links, --fifos)" if not (links and fifos) else ""
        entries = "1 entry" if left_out == 1 else f"{left_out:,} entries"
        console.print(Text(f"{entries} left out, named in LEFT-OUT.txt beside each case.json{hint}", style="dim"))
