"""Campaigns for tests: short ones, with a seed that is known to find."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from epctx.fuzz.campaign import Campaign
from epctx.fuzz.store import Setting, Store
from epctx.fuzz.tasks import Workers
from epctx.run.check import judging
from epctx.run.runner import Runner
from epctx.target import prepare

WEAK, SEED, BATCHES = "weak:final-link-unchecked", 7, 3


def go_on(store: Store, workers: Workers, batches: int) -> int:
    """Go on with a campaign until it has so many batches; how often workers were lost."""
    launch, lost = prepare(store.setting.target), 0
    with Runner(jobs=1) as runner:
        conditions = runner.conditions(launch)
    profile = judging(launch, conditions, store.setting.profile)
    for reached in Campaign(workers, launch, profile, store, conditions.ort, ["--profile", "spec"]).run():
        lost = reached.lost
        if reached.state.batch >= batches:
            break
    return lost


def campaign(
    directory: Path, target: str = WEAK, batches: int = BATCHES, jobs: int = 1, seed: int = SEED, engine: str = "grammar"
) -> Store:
    """A campaign of so many batches."""
    store = Store(directory, Setting(target, seed, engine, "spec"))
    with Runner(jobs=jobs) as runner:
        go_on(store, runner, batches)
    return store


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """What the campaign finds that nothing disturbs."""
    return campaign(tmp_path_factory.mktemp("weak") / "out")


def outcome(store: Store) -> tuple[list[str], int, int]:
    """What must be the same however a campaign came to it."""
    return [f.fingerprint for f in store.found()], store.state.cases, store.state.failing


def words(*more: str | Path) -> list[str]:
    """The command line of a campaign."""
    return [sys.executable, "-u", "-m", "epctx", "fuzz", *map(str, more)]


def run(*more: str | Path) -> tuple[int, str, str]:
    """Run a campaign as a program: its exit code, what it printed, and what it said of errors."""
    done = subprocess.run(words(*more), capture_output=True, text=True, timeout=200, check=False)
    return done.returncode, done.stdout, done.stderr
