"""Campaigns on real targets, and what is kept of them."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.fuzz.conftest import WEAK, campaign, run

from epctx.case_file import read
from epctx.cli import main
from epctx.fuzz.campaign import Progress
from epctx.fuzz.store import Store
from epctx.report.campaign import Course


def test_a_planted_fault_is_found_confirmed_and_shrunk(found: Store) -> None:
    findings = found.found()
    assert {f.rule for f in findings} >= {"contain.symlink-file", "safe.no-outside-read"}
    assert all(f.confirmed for f in findings)
    for finding in findings:
        (case,) = read(found.folder(finding) / "case.json")
        assert len(case.world.entries) <= 3, case
        assert len(case.calls) <= 2


def test_what_is_kept_shows_the_finding_again(found: Store) -> None:
    finding = found.found()[0]
    words = finding.again.split()
    assert words[:4] == ["epctx", "replay", "case.json", WEAK]
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=found.folder(finding), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1, done.stderr
    assert finding.rule in done.stdout


def test_two_workers_find_the_same_as_one(found: Store, tmp_path: Path) -> None:
    again = campaign(tmp_path / "two", jobs=2)
    assert [f.fingerprint for f in again.found()] == [f.fingerprint for f in found.found()]
    assert (again.state.cases, again.state.failing) == (found.state.cases, found.state.failing)


@pytest.mark.slow
def test_other_cases_lead_to_the_same_findings(tmp_path: Path) -> None:
    one, other = (campaign(tmp_path / str(seed), "weak:S7", 4, jobs=2, seed=seed) for seed in (1, 2))
    for store in (one, other):
        assert {"contain.model-path-forms", "contain.symlink-file", "size.short-write-reported"} <= {
            found.rule for found in store.found()
        }
        for found in store.found():
            (case,) = read(store.folder(found) / "case.json")
            assert len(case.world.entries) <= 3, case
    marks = [{found.fingerprint for found in store.found()} for store in (one, other)]
    assert 2 * len(marks[0] & marks[1]) > min(map(len, marks))


def test_the_reference_holds_in_random_cases(tmp_path: Path) -> None:
    assert campaign(tmp_path / "out", "reference", 2).found() == []


@pytest.mark.slow
def test_the_reference_holds_in_many_random_cases(tmp_path: Path) -> None:
    assert [f.happened for f in campaign(tmp_path / "out", "reference", 20, jobs=2, seed=1).found()] == []


# --- the directory ----------------------------------------------------------------------------------------------------------


def test_a_directory_may_be_named_from_where_one_is(tmp_path: Path, found: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(found.directory.parent)
    assert Store(Path(found.directory.name), None).found() == found.found()


def test_an_interrupt_ends_with_what_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    see, asked = Course.see, count()

    def interrupted(course: Course, progress: Progress, now: float) -> None:
        see(course, progress, now)
        if progress.state.batch and next(asked) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(Course, "see", interrupted)
    arguments = ("fuzz", "reference", "--out", str(tmp_path / "out"), "--seed", "1", "-j", "1")
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 130
    assert "nothing was found; go on with --resume" in result.output
    assert Store(tmp_path / "out", None).state.batch


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "Say with --out DIR"),
        (("--out", "{new}", "--for", "soon"), "--for 'soon' is no time"),
        (("--out", "{new}", "--for", "0m"), "--for '0m' is no time"),
        (("--out", "{used}"), "is not empty; name a new directory"),
        (("--resume", "{used}"), "is not the directory of a campaign"),
        (("--resume", "{used}", "--seed", "1"), "leave the others out"),
        (("--out", "{new}", "--dictionary", "{new}"), "name a dictionary in"),
        (("weak:nobody", "--out", "{new}"), "There is no weak target"),
    ],
)
def test_a_mistake_is_told(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    used = tmp_path / "used"
    used.mkdir()
    (used / "file").write_text("something")
    code, out, errors = run(*(a.format(new=tmp_path / "new", used=used) for a in arguments))
    assert (code, out) == (2, "")
    assert sentence in errors
    assert errors.count("\n") == 1
    assert os.listdir(used) == ["file"]
