"""Campaigns on real targets, and what is kept of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from epctx.case_file import read
from epctx.cli import fuzz_command, main
from epctx.errors import HarnessError
from epctx.fuzz.campaign import Campaign
from epctx.fuzz.store import Setting, Store
from epctx.observation import Observation
from epctx.run.check import judging
from epctx.run.runner import Runner
from epctx.target import prepare

WEAK = "weak:final-link-unchecked"


def campaign(directory: Path, target: str, cases: int, jobs: int = 1, seed: int = 7) -> Store:
    store = Store(directory, Setting(target, seed, profile="spec"))
    launch = prepare(target)
    with Runner(jobs=jobs) as runner:
        conditions = runner.conditions(launch)
        profile = judging(launch, conditions, "spec")
        for reached in Campaign(runner, launch, profile, store, conditions.ort, ["--profile", "spec"]).run():
            if reached.state.cases >= cases:
                break
    return store


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return campaign(tmp_path_factory.mktemp("weak") / "out", WEAK, 800)


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
    again = campaign(tmp_path / "two", WEAK, 800, jobs=2)
    assert [f.fingerprint for f in again.found()] == [f.fingerprint for f in found.found()]
    assert (again.state.cases, again.state.failing) == (found.state.cases, found.state.failing)


@pytest.mark.slow
def test_other_cases_lead_to_the_same_findings(tmp_path: Path) -> None:
    one, other = (campaign(tmp_path / str(seed), "weak:S7", 3000, jobs=2, seed=seed) for seed in (1, 2))
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
    assert campaign(tmp_path / "out", "reference", 1000).found() == []


@pytest.mark.slow
def test_the_reference_holds_in_many_random_cases(tmp_path: Path) -> None:
    assert [f.happened for f in campaign(tmp_path / "out", "reference", 10_000, jobs=2, seed=1).found()] == []


# --- the directory ----------------------------------------------------------------------------------------------------------


def words(*more: str | Path) -> list[str]:
    return [sys.executable, "-u", "-m", "epctx", "fuzz", *map(str, more)]


def run(*more: str | Path) -> tuple[int, str, str]:
    done = subprocess.run(words(*more), capture_output=True, text=True, timeout=200, check=False)
    return done.returncode, done.stdout, done.stderr


def test_a_campaign_that_is_killed_keeps_what_it_reported_and_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with subprocess.Popen(words(WEAK, "--out", out, "--seed", "7", "-j", "1"), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        while " from fuzz/7-" not in (line := process.stdout.readline()):
            assert line, "it ended"
        process.send_signal(signal.SIGKILL)
    reported = line.split()[1]
    kept = Store(out, None).found()
    assert reported in {f.rule for f in kept}
    code, text, _ = run("--resume", out, "--cases", "300", "-j", "1")
    assert code == 1
    assert {f.fingerprint for f in kept} <= {f.fingerprint for f in Store(out, None).found()}
    assert f"in {out / 'findings'}" in text


def test_a_directory_may_be_named_from_where_one_is(tmp_path: Path, found: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(found.directory.parent)
    assert Store(Path(found.directory.name), None).found() == found.found()


def test_an_interrupt_ends_with_what_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words, asked = fuzz_command._words, count()

    def interrupted(reached: Any, *more: Any) -> str:
        if reached.state.batch and next(asked) == 0:  # while a batch is reported, and not again at the end
            raise KeyboardInterrupt
        return words(reached, *more)

    monkeypatch.setattr(fuzz_command, "_words", interrupted)
    arguments = ("fuzz", "reference", "--out", str(tmp_path / "out"), "--seed", "1", "-j", "1")
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 130
    assert "nothing was found; go on with --resume" in result.output
    assert Store(tmp_path / "out", None).state.batch >= 1


def test_what_cannot_be_written_is_told_and_harms_nothing(tmp_path: Path, found: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "out", Setting(WEAK, 7))
    finding = found.found()[0]
    (case,) = read(found.folder(finding) / "case.json")
    assert json.loads((found.folder(finding) / "observation.json").read_text())["case"] == case.id

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(HarnessError, match=r"No space left on device.*--resume"):
        store.keep(finding, case, Observation(case.id, WEAK))
    monkeypatch.undo()
    assert store.found() == []
    assert os.listdir(tmp_path / "out" / "findings") == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "Say with --out DIR"),
        (("--out", "{new}", "--for", "soon"), "--for 'soon' is no time"),
        (("--out", "{new}", "--for", "0m"), "--for '0m' is no time"),
        (("--out", "{used}"), "is not empty; name a new directory"),
        (("--resume", "{used}"), "is not the directory of a campaign"),
        (("--resume", "{used}", "--seed", "1"), "leave the others out"),
        (("--out", "{new}", "--dictionary", "{new}"), "name a text file in UTF-8"),
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
