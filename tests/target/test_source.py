"""Where a target is written, for reports that point into code."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import FAKES

from epctx.target import prepare

PROGRAM = FAKES / "programs" / "misbehaving.py"


@pytest.mark.parametrize(
    ("target", "source"),
    [
        (f"exec:{shlex.join([sys.executable, str(PROGRAM), 'works'])}", str(PROGRAM)),
        (f"python:careful_loader?path={FAKES / 'adapters'}", str(FAKES / "adapters" / "careful_loader.py")),
        ("python:json:tool", ""),
    ],
    ids=["a program", "an object", "an object from elsewhere"],
)
def test_the_file_in_which_a_target_is_written_is_known(
    target: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert prepare(target).source == source
