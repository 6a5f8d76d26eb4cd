"""What ends a campaign, or a worker of it, loses nothing that was reported, and no case."""

from __future__ import annotations

import errno
import multiprocessing
import os
import random
import re
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.conftest import BATCHES, SEED, WEAK, campaign, go_on, outcome, run, words

from epctx import syscalls
from epctx.case_file import read
from epctx.errors import HarnessError, UsageError
from epctx.fuzz.store import Setting, Store
from epctx.fuzz.tasks import TRIES, Tasks
from epctx.observation import Observation
from epctx.run.runner import Runner

# --- killed -----------------------------------------------------------------------------------------------------------------


def killed(seconds: float, from_the_start: bool, *arguments: str | Path) -> list[Path]:
    """A campaign that is killed some time after it began, or else after it was started; the findings that it reported."""
    with subprocess.Popen(words(*arguments), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        lines: list[str] = []
        if from_the_start:
            lines += [process.stdout.readline()]
        rest = threading.Thread(target=lambda: lines.extend(process.stdout or ()))
        rest.start()
        time.sleep(seconds)
        process.kill()
        rest.join()
    return [Path(shlex.split(line)[2]) for line in lines if re.match(r"  again    cd .*\n", line)]


def kill_again_and_again(times: int, tmp_path: Path, found: Store) -> None:
    """Kill a campaign at random moments; in the end it came to the same as one that nobody disturbed."""
    out, dice = tmp_path / "out", random.Random()
    reported: set[Path] = set()
    for turn in range(times):
        begun = (out / "setting.json").exists()
        arguments = ("--resume", out) if begun else (WEAK, "--out", out, "--seed", str(SEED), "--profile", "spec")
        reported.update(killed(dice.random() * (1.5 if turn else 3.0), turn % 2 == 1, *arguments, "-j", "2"))
        for folder in reported:
            assert {path.name for path in folder.iterdir()} == {"case.json", "finding.json", "observation.json"}
    if not (out / "setting.json").exists():
        Store(out, found.setting)
    store = Store(out, None)
    assert {store.folder(f) for f in store.found()} >= reported
    with Runner(jobs=2) as runner:
        go_on(store, runner, max(BATCHES, store.state.batch))
    undisturbed = found if store.state.batch == BATCHES else campaign(tmp_path / "undisturbed", batches=store.state.batch, jobs=2)
    assert outcome(store) == outcome(undisturbed)


def test_a_campaign_that_is_killed_loses_nothing(tmp_path: Path, found: Store) -> None:
    kill_again_and_again(3, tmp_path, found)


@pytest.mark.slow
def test_a_campaign_that_is_killed_at_twenty_moments_loses_nothing(tmp_path: Path, found: Store) -> None:
    kill_again_and_again(20, tmp_path, found)


@pytest.mark.parametrize("writes", range(6))
def test_what_is_killed_while_its_directory_is_made_can_be_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    class Killed(BaseException):
        pass

    left = iter(range(writes))

    def until_killed(function: Callable[..., None]) -> Callable[..., None]:
        def called(*arguments: Any) -> None:
            if next(left, None) is None:
                raise Killed
            function(*arguments)

        return called

    out, setting = tmp_path / "out", Setting(WEAK, SEED)
    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, until_killed(getattr(os, name)))
    try:
        Store(out, setting)
    except Killed:
        monkeypatch.undo()
        with pytest.raises(UsageError, match="begin it again with --out"):
            Store(out, None)
        assert Store(out, setting).setting == setting
    monkeypatch.undo()
    assert Store(out, None).setting == setting
    with pytest.raises(UsageError, match="is not empty"):
        Store(out, setting)


# --- no room ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for little."""
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        syscalls.mount(b"epctx-test", os.fsencode(disk), b"tmpfs", 0, b"size=256k")
    except OSError as error:
        pytest.skip(f"no small file system can be mounted: {error.strerror}")
    yield disk
    syscalls.umount(os.fsencode(disk))


def test_a_full_disk_ends_it_and_with_room_it_goes_on(small_disk: Path, found: Store) -> None:
    out, filler = small_disk / "out", small_disk / "filler"
    store = Store(out, found.setting)
    filler.write_bytes(bytes(256 * 1024 - 40 * 1024))
    with Runner(jobs=1) as runner, pytest.raises(HarnessError, match=r"No space left on device.*--resume"):
        go_on(store, runner, BATCHES)
    kept = Store(out, None).found()
    assert 0 < len(kept) < len(found.found())
    assert {path.name for path in (out / "findings").iterdir()} == {store.folder(f).name for f in kept}
    filler.unlink()
    with Runner(jobs=1) as runner:
        go_on(Store(out, None), runner, BATCHES)
    assert outcome(Store(out, None)) == outcome(found)


def test_what_cannot_be_written_is_told_and_harms_nothing(tmp_path: Path, found: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "out", Setting(WEAK, SEED))
    finding = found.found()[0]
    (case,) = read(found.folder(finding) / "case.json")

    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(HarnessError, match=r"No space left on device.*--resume"):
        store.keep(finding, case, Observation(case.id, WEAK))
    monkeypatch.undo()
    assert store.found() == []
    assert os.listdir(tmp_path / "out" / "findings") == []


# --- lost workers -----------------------------------------------------------------------------------------------------------


class Killing(Runner):
    """A runner one of whose workers is killed at some of the calls that are handed over, by their number."""

    def __init__(self, *, jobs: int, at: Container[int]) -> None:
        super().__init__(jobs=jobs)
        self._at, self._calls = at, 0

    def submit(self, function, *args, **kwargs):  # type: ignore[no-untyped-def]  # as it is there
        future = super().submit(function, *args, **kwargs)
        self._calls += 1
        if self._calls in self._at:
            os.kill(min(process.pid or 0 for process in multiprocessing.active_children()), signal.SIGKILL)
        return future


def test_lost_workers_cost_no_case_and_no_finding(tmp_path: Path, found: Store) -> None:
    store = Store(tmp_path / "out", found.setting)
    with Killing(jobs=2, at=(5, 11)) as workers:
        lost = go_on(store, workers, BATCHES)
    assert lost
    assert outcome(store) == outcome(found)


def test_a_task_that_kills_every_worker_ends_it() -> None:
    with Runner(jobs=1) as runner:
        tasks: Tasks[str] = Tasks(runner)
        tasks.add("batch", signal.raise_signal, signal.SIGKILL)  # type: ignore[arg-type]  # it never gives anything
        for _ in range(TRIES - 1):
            assert list(tasks.done(30.0)) == []
        with pytest.raises(HarnessError, match=rf"died {TRIES} times at the same task \(batch\)"):
            list(tasks.done(30.0))


def test_it_goes_on_in_a_pipe_and_says_where_it_is(tmp_path: Path, found: Store) -> None:
    out = tmp_path / "out"
    arguments = ("-j", "1", "--cases", "1")
    assert run(WEAK, "--out", out, "--seed", str(SEED), "--profile", "spec", *arguments)[2] == ""
    code, text, errors = run("--resume", out, *arguments)
    assert (code, errors) == (1, "")
    assert Store(out, None).state.batch == 2
    assert re.search(r"\d cases, ", text)
    assert f"in {out / 'findings'}" in text
