"""The frozen cases are those that the attacks yield now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import epctx_corpora
from epctx.case import FORMAT, Case
from epctx.errors import UsageError
from epctx_attacks import bundled
from epctx_corpora.__main__ import main

AGAIN = "if that is meant, run `python -m epctx_corpora freeze` and commit the files"


def test_corpus_is_up_to_date(tmp_path: Path) -> None:
    fresh = {path.name: path.read_bytes() for path in epctx_corpora.freeze(tmp_path)}
    kept = {path.name: path.read_bytes() for path in epctx_corpora.CASES.iterdir()}
    assert sorted(kept) == sorted(fresh), f"the corpus has other families than the attacks; {AGAIN}, or remove the file"
    stale = [name for name in fresh if fresh[name] != kept[name]]
    assert not stale, f"the frozen cases of {', '.join(stale)} differ from what the attacks yield; {AGAIN}"


def test_frozen_cases_are_the_cases(cases: list[Case]) -> None:
    assert epctx_corpora.names() == sorted(bundled())
    assert [case for family in epctx_corpora.names() for case in epctx_corpora.load(family)] == cases


@pytest.mark.parametrize("family", sorted(bundled()))
def test_header(family: str) -> None:
    first = (epctx_corpora.CASES / f"{family}.jsonl").read_text().partition("\n")[0]
    assert json.loads(first) == {"epctx": FORMAT, "family": family}


def test_unknown_family() -> None:
    with pytest.raises(UsageError, match="the corpus has no family 'absent'; it has absolute, "):
        epctx_corpora.load("absent")


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["freeze", str(tmp_path / "new")]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path / "new" / f"{name}.jsonl") for name in epctx_corpora.names()]
    assert main(["thaw"]) == 2
    assert "usage" in capsys.readouterr().err
