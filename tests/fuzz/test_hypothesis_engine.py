"""The engine that draws its cases with Hypothesis."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

from epctx.case import Case
from epctx.case_check import validate
from epctx.cli import main
from epctx.fuzz.engine import ENGINES
from epctx.fuzz.store import Setting, Store

WEAK = "weak:absolute-allowed"
NOBODY = cast(Any, None)  # neither a keeper nor a target has a part in what is drawn


@pytest.fixture(autouse=True)
def own_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYPOTHESIS_STORAGE_DIRECTORY", str(tmp_path / "hypothesis"))


def batch(seed: int, number: int) -> list[Case]:
    return list(ENGINES["hypothesis"](Setting(WEAK, seed)).batch(number, NOBODY, NOBODY, ()).cases)


def fuzz(out: Path, jobs: int) -> Store:
    words = [
        "fuzz",
        WEAK,
        "--engine",
        "hypothesis",
        "--out",
        out,
        "--seed",
        7,
        "--cases",
        400,
        "--jobs",
        jobs,
        "--profile",
        "spec",
    ]
    result = CliRunner().invoke(main, list(map(str, words)), catch_exceptions=False)
    assert result.exit_code == 1, result.output
    return Store(out, None)


def test_a_batch_follows_from_the_seed_and_its_number() -> None:
    made = batch(5, 3)
    assert made == batch(5, 3)
    assert [case.calls for case in made] != [case.calls for case in batch(6, 3)]
    assert [case.calls for case in made] != [case.calls for case in batch(5, 4)]
    assert len({case.id for case in made}) == len(made) > 100
    for case in made:
        validate(case)


def test_a_planted_fault_is_found_by_two_workers_as_by_one(tmp_path: Path) -> None:
    one, two = fuzz(tmp_path / "one", 1), fuzz(tmp_path / "two", 2)
    assert {f.rule for f in one.found()} >= {"contain.absolute"}
    assert {f.fingerprint for f in one.found()} == {f.fingerprint for f in two.found()}


def test_without_hypothesis_one_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("epctx.strategies", "epctx.fuzz.hypothesis_engine"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    result = CliRunner().invoke(main, ["fuzz", "--engine", "hypothesis", "--out", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert "The engine hypothesis needs Hypothesis; install it with `pip install 'epctx[hypothesis]'`" in result.output
    assert not (tmp_path / "out").exists()
