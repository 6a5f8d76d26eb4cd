"""The commands that the documentation shows, as they stand in its blocks of the language ``console``.

A block is lines of commands, or commands behind ``$`` with their output below, in which a line ``…`` stands for any lines. A
command ends with exit code 0 unless a comment says otherwise: ``# exit code 1``, or ``$ echo $?`` and the code below.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
GENERATED = ("attacks", "projects", "rules", "targets.md", "profiles.md")
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md"]
PAGES += sorted(p for p in (ROOT / "docs").rglob("*.md") if not {p.name, p.parent.name} & set(GENERATED))


@dataclass
class Shown:
    """A command as a page shows it: its words, the exit code that it ends with, and its output where that is shown."""

    line: str
    code: int = 0
    output: list[str] | None = field(default=None)

    @property
    def words(self) -> list[str]:
        """The words of the command, without comments."""
        return shlex.split(self.line, comments=True)


def blocks(page: Path, language: str) -> list[str]:
    """The blocks of a language on a page, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[Shown]:
    """All commands of a page, in their order."""
    return [command for block in blocks(page, "console") for command in _commands(block)]


def _commands(block: str) -> Iterator[Shown]:
    lines = block.replace("\\\n", "").splitlines()
    if not lines[0].startswith("$ "):
        for line in lines:
            code = re.search(r"# exit code (\d+)", line)
            yield Shown(line, int(code[1]) if code else 0)
        return
    shown: list[Shown] = []
    for line in lines:
        if line.startswith("$ "):
            shown.append(Shown(line.removeprefix("$ "), output=[]))
        elif (output := shown[-1].output) is not None:
            output.append(line)
    for command, after in zip(shown, [*shown[1:], Shown("")], strict=True):
        if command.line != "echo $?":
            command.code = int((after.output or ["0"])[0]) if after.line == "echo $?" else 0
            yield command
