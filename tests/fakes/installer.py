"""A fake uv, first on the path."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest


class FakeUv:
    """What the fake was called with, line by line."""

    def __init__(self, log: Path) -> None:
        self.log = log

    @property
    def calls(self) -> list[str]:
        """Its calls so far, each the words of a command line."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    @property
    def installed(self) -> list[str]:
        """The last word of each installation: the last requirement."""
        return [call.split()[-1] for call in self.calls if call.startswith("pip install")]


def install_fake_uv(monkeypatch: pytest.MonkeyPatch, directory: Path) -> FakeUv:
    """Put the fake first on the path, and the cache of environments into ``directory``."""
    (directory / "bin").mkdir(parents=True)
    shutil.copy(Path(__file__).parent / "uv", directory / "bin" / "uv")
    monkeypatch.setenv("PATH", f"{directory / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_UV_LOG", str(directory / "log"))
    return FakeUv(directory / "log")
