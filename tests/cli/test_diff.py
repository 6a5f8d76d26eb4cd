"""``epctx diff``: what is worse, what is better, and with what it exits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.cli.conftest import Epctx

from epctx.cli import main

WORSE = "links/inside[read,relative]"
FEW = ("--only", "links/inside[*", "--only", "links/final-outside[read*")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with saved runs of the reference and of two weak targets."""
    folder = tmp_path_factory.mktemp("runs")
    for target in ("reference", "weak:inner-link-refused", "weak:final-link-unchecked"):
        saved = folder / f"{target.removeprefix('weak:')}.jsonl"
        arguments = ["check", target, *FEW, "--json", str(saved)]
        CliRunner().invoke(main, arguments, catch_exceptions=False)
    return folder


def test_what_got_worse_is_shown_with_its_command(epctx: Epctx, runs: Path) -> None:
    result = epctx("diff", runs / "reference.jsonl", runs / "inner-link-refused.jsonl")
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert lines[0] == "epctx diff reference -> weak:inner-link-refused"
    worse = lines.index(next(line for line in lines if line.startswith("worse")))
    assert lines[worse].startswith("worse  medium  contain.accept-inner-link  ")
    assert "  links/inside[read,relative]" in lines
    assert f"    again    epctx replay '{WORSE}' weak:inner-link-refused" in lines
    assert lines[-1].startswith("reference -> weak:inner-link-refused: ")
    assert "\nbetter" not in result.output


def test_what_got_better_is_no_failure(epctx: Epctx, runs: Path) -> None:
    result = epctx("diff", runs / "inner-link-refused.jsonl", runs / "reference.jsonl")
    assert result.exit_code == 0
    assert "\nbetter  medium  contain.accept-inner-link  " in result.output
    assert ": 0 findings worse, " in result.output.splitlines()[-1]


def test_a_run_is_like_itself(epctx: Epctx, runs: Path) -> None:
    result = epctx("diff", runs / "reference.jsonl", runs / "reference.jsonl")
    assert result.exit_code == 0
    assert ": 0 findings worse, 0 findings better, 0 changed otherwise, in " in result.output.splitlines()[-1]


def test_a_target_is_run_on_the_cases_of_the_saved_run(epctx: Epctx, runs: Path) -> None:
    result = epctx("diff", runs / "final-link-unchecked.jsonl", "weak:final-link-unchecked")
    assert (result.exit_code, "note: " in result.output) == (0, False), result.output
    assert ": 0 findings worse, 0 findings better, 0 changed otherwise, in " in result.output.splitlines()[-1]


def test_the_comparison_as_data(epctx: Epctx, runs: Path, tmp_path: Path) -> None:
    data, page = tmp_path / "diff.json", tmp_path / "diff.md"
    arguments = ("--json", data, "--report", f"markdown:{page}", "--only", "links/inside*")
    result = epctx("diff", runs / "reference.jsonl", runs / "inner-link-refused.jsonl", *arguments)
    assert result.exit_code == 1
    found = json.loads(data.read_text())
    assert (found["format"], found["before"]["target"], found["after"]["target"]) == (1, "reference", "weak:inner-link-refused")
    change = next(one for one in found["changes"] if one["case"] == WORSE and one["rule"] == "contain.accept-inner-link")
    assert (change["kind"], change["what"], change["severity"]) == ("worse", "finding", "medium")
    assert change["before"] == "it was accepted with 96 bytes, the content of model/good.bin"
    assert change["after"].startswith("it was refused with code 2: ")
    assert all(one["case"].startswith(("links/inside", "control/")) for one in found["changes"])
    assert page.read_text().startswith("### ❌ `reference` → `weak:inner-link-refused`: ")


@pytest.mark.slow
def test_the_seventh_state_of_the_documents_helper_is_better_than_the_sixth_and_nowhere_worse(
    epctx: Epctx, tmp_path: Path
) -> None:
    result = epctx("diff", "weak:S6", "weak:S7", "--json", tmp_path / "diff.json")
    assert result.exit_code == 0, result.output
    changes = json.loads((tmp_path / "diff.json").read_text())["changes"]
    better = {one["rule"] for one in changes if one["kind"] == "better"}
    # what S6 has and S7 has not: types are not looked at, names of callbacks are taken for paths, the file's bytes are copied,
    # the caller's allocator is not used, and one early return leaves the output
    assert better >= {
        *("type.read-directory", "type.read-regular", "type.write-regular", "type.write-symlink-leaf", "trusted.type-gates"),
        *("name.logical-not-a-path", "mem.single-copy", "own.caller-allocator", "out.empty-on-error"),
    }
    assert [one for one in changes if one["kind"] == "worse"] == []
