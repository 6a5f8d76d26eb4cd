"""The command line, called in this process where that will do, in one of its own where the process matters."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from epctx.cli import main
from epctx.target import build

Epctx = Callable[..., Result]
Process = Callable[..., "subprocess.CompletedProcess[str]"]

FOUND = importlib.metadata.version("onnxruntime") if importlib.util.find_spec("onnxruntime") else "stand-in"
"""The ONNX Runtime that a target meets here."""

FAKES = Path(__file__).parent.parent / "fakes"


@pytest.fixture(autouse=True)
def plain_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the developer's terminal decides what is printed, and nothing of these runs goes into the summary of a CI."""
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def epctx() -> Epctx:
    """Runs ``epctx ARGUMENTS``; what it raises beside an exit is a failure of the test."""

    def run(*arguments: str | Path) -> Result:
        return CliRunner().invoke(main, list(map(str, arguments)), catch_exceptions=False)

    return run


@pytest.fixture
def epctx_process() -> Process:
    """Runs ``epctx ARGUMENTS`` as a program of its own, its output in pipes."""

    def run(*arguments: str | Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "epctx", *map(str, arguments)]
        return subprocess.run(words, capture_output=True, text=True, env={**os.environ, **(env or {})}, timeout=120, check=False)

    return run


@pytest.fixture(scope="session")
def misbehaving() -> Path:
    """A target that does what it is set to as soon as it is called with trigger.bin."""
    source = FAKES / "misbehaving.cc"
    return build.build(build.Part("misbehaving", (source,), (source,), (f"-I{build.NATIVE}", f"-I{build.NATIVE / 'ort'}")))
