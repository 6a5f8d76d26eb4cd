"""The pictures of the README and of these pages, made of real runs: ``tox -e pictures``.

What a terminal shows is drawn by rich, what a browser shows is taken in a headless Chromium: that of EPCTX_CHROMIUM, or one that
is installed.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from rich.console import Console

from epctx.report import terminal
from epctx.report.jsonl import read
from epctx.report.page import page
from epctx.report.record import Run

IMAGES = Path(__file__).parent / "images"
TERMINAL = ("weak:final-link-unchecked", "--only", "links/final-outside[read,relative]")
BROWSER = ("weak:S6",)
FINDING = "#safe.no-outside-write/links/dangling-leaf-write[outside,model]"
"""A finding of that target that shows well what a world, a mark and a timeline are."""


def checked(folder: Path, *arguments: str) -> Run:
    """What ``epctx check`` comes to."""
    saved = folder / "run.jsonl"
    command = [sys.executable, "-m", "epctx", "check", *arguments, "--json", str(saved)]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    return read(saved)


def draw_terminal(run: Run, file: Path) -> None:
    """What a terminal shows of a run."""
    console = Console(record=True, width=112, file=io.StringIO(), force_terminal=True, highlight=False)
    head, lines, foot = run
    console.print(f"[bold green]$[/] epctx check {' '.join(TERMINAL[:2])} '{TERMINAL[2].replace('[', chr(92) + '[')}'")
    terminal.header(console, head)
    terminal.findings(console, [(line.case, line.verdict) for line in lines], head)
    terminal.summary(console, head, foot)
    drawn = console.export_svg(title="epctx", unique_id="epctx")
    # The fonts would come from elsewhere; a reader's own are as good.
    file.write_text(re.sub(r"\s*@font-face \{.*?\}", "", drawn, flags=re.DOTALL), "utf-8")


def take(browser: Browser, report: Path, place: str, file: Path, *, height: int, dark: bool = False) -> None:
    """A picture of a place in a report."""
    context = browser.new_context(
        color_scheme="dark" if dark else "light", viewport={"width": 1200, "height": height}, device_scale_factor=1.5
    )
    shown = context.new_page()
    shown.goto(f"{report.as_uri()}{place}")
    shown.screenshot(path=file)
    context.close()


def main() -> int:
    """Make all pictures."""
    path = os.environ.get("EPCTX_CHROMIUM") or shutil.which("chromium")
    if path is None:
        print("no Chromium is installed; EPCTX_CHROMIUM says where one is", file=sys.stderr)
        return 1
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        draw_terminal(checked(folder, *TERMINAL), IMAGES / "check.svg")
        report = folder / "report.html"
        report.write_text(page(checked(folder, *BROWSER)), "utf-8")
        browser = playwright.chromium.launch(executable_path=path)
        take(browser, report, "", IMAGES / "report.png", height=1000)
        take(browser, report, FINDING, IMAGES / "finding.png", height=1120, dark=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
