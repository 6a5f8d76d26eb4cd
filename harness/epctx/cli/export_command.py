"""``epctx export``: cases as files, for use without epctx."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from epctx.cli import options
from epctx.run.export import SPECIAL, export
from epctx.run.select import select


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--only", multiple=True, metavar="GLOB", help="Only cases whose id matches.")
@click.option(
    "--links",
    is_flag=True,
    help="Also make symbolic and hard links: some lead out of the model directory, none out of DIRECTORY.",
)
@click.option("--fifos", is_flag=True, help="Also make FIFOs and sockets: programs that open them may hang.")
def command(directory: Path, only: tuple[str, ...], links: bool, fifos: bool) -> None:
    """Write cases to DIRECTORY, which must be new or empty: for each one a folder with case.json and its world, model included.

    What a file system only has on request, or only for root, is left out and named in the folder's LEFT-OUT.txt.
    """
    cases, _ = select(options.listed_cases(), only)
    wanted = (SPECIAL["links"] if links else ()) + (SPECIAL["fifos"] if fifos else ())
    left_out = export(directory, cases, wanted)
    console = Console()
    console.print(f"{len(cases)} cases in {directory}", markup=False)
    if left_out:
        console.print(
            f"{left_out} entries left out (links and FIFOs are made on request: --links, --fifos)", style="dim", markup=False
        )
