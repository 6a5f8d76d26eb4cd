"""The frozen cases are those that the attacks yield now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import epctx_corpora
from epctx.case import FORMAT, Case
from epctx.case_file import dumps, loads, validate
from epctx.errors import UsageError
from epctx.fuzz.corpus import same
from epctx_attacks import bundled
from epctx_corpora.__main__ import main
from epctx_corpora.finds import family

AGAIN = "if that is meant, run `python -m epctx_corpora freeze` and commit the files"


def test_corpora_are_up_to_date(tmp_path: Path) -> None:
    fresh = {str(path.relative_to(tmp_path)): path.read_bytes() for path in epctx_corpora.freeze(tmp_path)}
    here, folders = epctx_corpora.HERE, (epctx_corpora.CASES, epctx_corpora.REGRESSIONS)
    paths = [epctx_corpora.DICTIONARY, *(path for folder in folders for path in folder.iterdir())]
    kept = {str(path.relative_to(here)): path.read_bytes() for path in paths}
    assert sorted(kept) == sorted(fresh), f"the corpus has other files than what is frozen now; {AGAIN}, or remove the file"
    stale = [name for name in fresh if fresh[name] != kept[name]]
    assert not stale, f"{', '.join(stale)} differ from what the attacks and the specification yield; {AGAIN}"


def test_frozen_cases_are_the_cases(cases: list[Case]) -> None:
    assert epctx_corpora.names() == sorted(bundled())
    assert [case for name in epctx_corpora.names() for case in epctx_corpora.load(name)] == cases


@pytest.mark.parametrize("name", sorted(bundled()))
def test_header(name: str) -> None:
    first = (epctx_corpora.CASES / f"{name}.jsonl").read_text().partition("\n")[0]
    assert json.loads(first) == {"epctx": FORMAT, "family": name}


def test_regressions_are_cases_like_those_of_attacks(cases: list[Case]) -> None:
    kept = family.cases()
    listed = {same(case): case.id for case in cases}
    assert {same(case) for case in kept} & listed.keys() == set()
    assert len({same(case) for case in kept}) == len(kept) > 0
    for case in kept:
        validate(case)
        assert case.family == family.name
        assert case.summary.endswith(".")
        assert loads(dumps(case)) == case


def test_unknown_family() -> None:
    with pytest.raises(UsageError, match="the corpus has no family 'absent'; it has absolute, "):
        epctx_corpora.load("absent")


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["freeze", str(tmp_path / "new")]) == 0
    written = capsys.readouterr().out.split()
    assert written[: len(epctx_corpora.names())] == [
        str(tmp_path / "new" / "cases" / f"{name}.jsonl") for name in epctx_corpora.names()
    ]
    assert written[-1] == str(tmp_path / "new" / "tokens.dict")
    assert main(["thaw"]) == 2
    assert "usage" in capsys.readouterr().err
