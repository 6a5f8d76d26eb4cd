"""The Markdown summary: the verdict first, then what was found, short enough for the summary of a CI step."""

from __future__ import annotations

from epctx.report.record import Run
from epctx.report.terminal import conclusion


def markdown(run: Run) -> str:
    """A summary in Markdown, made for the step summaries and comments of a CI."""
    return f"## epctx\n\n{conclusion(run.header, run.footer).plain}\n"
