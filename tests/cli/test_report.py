"""``--report`` and ``epctx report``: reports of a run that ends, and of one that was saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Epctx

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


def test_formats_are_listed(epctx: Epctx) -> None:
    rows = {tuple(line.split("\t")[:2]): line.split("\t")[2] for line in epctx("list", "reports").output.splitlines()}
    assert rows["markdown", "of a run"].startswith("A summary in Markdown")
    assert rows["markdown", "of a comparison"].startswith("A comparison in Markdown")
