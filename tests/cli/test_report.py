"""``--report`` and ``epctx report``: reports of a run that ends, and of one that was saved."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import FAKES, Epctx

from epctx.report import jsonl

FINAL = ("--only", "links/final-outside*")


@pytest.fixture
def saved(epctx: Epctx, tmp_path: Path) -> Path:
    assert epctx("check", "weak:final-link-unchecked", *FINAL, "--json", tmp_path / "run.jsonl").exit_code == 1
    return tmp_path / "run.jsonl"


def test_a_report_of_a_saved_run_is_that_of_the_run(epctx: Epctx, tmp_path: Path) -> None:
    saved, first, second = tmp_path / "run.jsonl", tmp_path / "first.md", tmp_path / "second.md"
    ran = epctx("check", "weak:final-link-unchecked", *FINAL, "--json", saved, "--report", f"markdown:{first}")
    assert ran.exit_code == 1
    assert f"report markdown: {first}\n" in ran.output
    made = epctx("report", saved, f"markdown:{second}")
    assert (made.exit_code, made.output) == (0, f"\nreport markdown: {second}\n")
    assert first.read_text() == second.read_text()
    assert epctx("report", saved, "markdown:-").output == first.read_text()
    assert ran.output.splitlines()[-1] in first.read_text()


def test_a_report_that_replaces_another_says_so(epctx: Epctx, saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_text("x" * 100_000)
    result = epctx("report", saved, f"markdown:{path}")
    assert f"report markdown: {path} (replaced)\n" in result.output
    assert "xxx" not in path.read_text()


def test_a_report_of_an_earlier_run_does_not_pass_for_that_of_one_that_failed(epctx: Epctx, tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_text("holds")
    assert epctx("check", "weak:refuses-everything", *FINAL, "--report", f"markdown:{path}").exit_code == 3
    assert not path.exists()


def test_a_full_disk_takes_one_report_and_not_the_others(epctx: Epctx, saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    result = epctx("report", saved, "markdown:/dev/full", f"markdown:{path}")
    assert result.exit_code == 2
    assert "report markdown:/dev/full: No space left on device; name a file that can be written" in result.output
    assert path.read_text().startswith("### ")


def test_the_summary_of_a_ci_step_is_appended_to(epctx: Epctx, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "step.md"
    path.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    report = tmp_path / "summary.md"
    assert epctx("check", "weak:final-link-unchecked", *FINAL, "--report", f"markdown:{report}").exit_code == 1
    assert path.read_text() == f"before\n{report.read_text()}\n"


@pytest.mark.parametrize("full", [True, False], ids=["full", "missing"])
def test_a_summary_that_cannot_be_written_changes_nothing(
    epctx: Epctx, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    path = tmp_path / "step.md" if full else tmp_path / "missing" / "step.md"
    if full:
        path.write_text("x" * (1 << 20))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    result = epctx("check", "--only", "links/final-outside[read,relative]")
    assert result.exit_code == 0
    assert f"the summary of this step ({path}) " in result.stderr
    assert result.stdout.splitlines()[-1].startswith("reference holds")
    assert not full or path.stat().st_size == 1 << 20


@pytest.mark.parametrize(("given", "place"), [((), ("src/my.h", 1)), (("--source", "src/my.h:3"), ("src/my.h", 3))])
def test_findings_have_a_place_in_the_repository(
    epctx: Epctx, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...], place: tuple[str, int]
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "build").mkdir()
    shutil.copy(FAKES / "headers" / "plain.h", tmp_path / "src" / "my.h")
    monkeypatch.chdir(tmp_path / "build")
    options = tuple(option.replace("src/", "../src/") for option in given)
    found = epctx("check", "header:../src/my.h", "--only", "traversal/*", "--fail-fast", "--json", "run.jsonl", *options)
    assert found.exit_code == 1
    head = jsonl.read(Path("run.jsonl")).header
    assert (head.source, head.line) == place


def test_formats_are_listed(epctx: Epctx) -> None:
    rows = {tuple(line.split("\t")[:2]): line.split("\t")[2] for line in epctx("list", "reports").output.splitlines()}
    assert rows["markdown", "of a run"].startswith("A summary in Markdown")
    assert rows["markdown", "of a comparison"].startswith("A comparison in Markdown")
