"""Where reports are printed: a terminal is filled to its width; in a pipe or a file each text is one line, as long as it is."""

from __future__ import annotations

import os
import re
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import IO, cast

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.status import Status

UNBOUNDED = 1 << 14
"""Columns of what is no terminal: wider than any text of a report, so that nothing is broken into lines."""


class Output(Console):
    """A console on standard output, as that is now. ``live`` is whether something on it may change while a person looks."""

    def __init__(self) -> None:
        self.live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        width = None if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit() else UNBOUNDED
        super().__init__(file=None if self.live else cast(IO[str], _Trimmed()), width=width, highlight=False)

    def busy(self, doing: str) -> AbstractContextManager[Status | None]:
        """Say what is being done, as long as it lasts and only to a person."""
        return self.status(doing) if self.live else nullcontext()

    def on_broken_pipe(self) -> None:
        """Leave it to the command line, which knows what to exit with."""
        error = sys.exception()
        if error is not None:
            raise error


class _Trimmed:
    """Standard output without the spaces that only fill lines."""

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return sys.stdout.isatty()

    @property
    def encoding(self) -> str:
        """What it can show; a console draws trees accordingly."""
        return sys.stdout.encoding

    def write(self, text: str) -> int:
        """Write ``text``, which consists of whole lines."""
        return sys.stdout.write(re.sub(r" +$", "", text, flags=re.MULTILINE))

    def flush(self) -> None:
        """Write what was kept back."""
        sys.stdout.flush()


def indented(text: RenderableType, by: int = 2) -> Padding:
    """``text`` further to the right."""
    return Padding.indent(text, by)


def plural(count: int, noun: str) -> str:
    """``1 case``, ``2 cases``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
