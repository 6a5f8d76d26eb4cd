"""Campaigns on clusters; skipped where Dask is not installed."""

from __future__ import annotations

import importlib.metadata
import os
import re
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.fuzz.conftest import BATCHES, SEED, WEAK, go_on, outcome, words

from epctx.errors import HarnessError, UsageError
from epctx.fuzz.store import Setting, Store
from epctx.run.runner import Runner
from epctx.target import prepare

pytest.importorskip("distributed", reason="Dask is not installed (extra epctx[cluster])")

import psutil
from distributed import LocalCluster

from epctx.fuzz import cluster
from epctx.fuzz.cluster import LOCAL, Cluster

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # Dask's own


def below(pid: int | None = None, but: Sequence[psutil.Process] = ()) -> list[psutil.Process]:
    """What runs below a process, this one by default, but for some; Python's own trackers stay as long as what uses them."""
    found = [process for process in psutil.Process(pid).children(recursive=True) if process not in but]
    return [process for process in found if not _is_tracker(process)]


def _is_tracker(process: psutil.Process) -> bool:
    try:
        return "resource_tracker" in " ".join(process.cmdline())
    except psutil.Error:  # it has ended
        return False


def gone(processes: Sequence[psutil.Process]) -> None:
    """Wait until they are."""
    assert processes
    assert psutil.wait_procs(processes, timeout=20)[1] == []


class Killing(Cluster):
    """A cluster one of whose workers is killed at some call that is handed over."""

    def __init__(self, address: str, setting: Setting, *, jobs: int, at: int) -> None:
        super().__init__(address, setting, jobs=jobs)
        self._at, self.beside = at, list[psutil.Process]()

    def submit(self, function, *args, **kwargs):  # type: ignore[no-untyped-def]  # as it is there
        future = super().submit(function, *args, **kwargs)
        self._at -= 1
        if self._at == 0:
            pids = self._client.run(os.getpid)
            self.beside = below(pids[min(pids)])
            os.kill(pids[min(pids)], signal.SIGKILL)
        return future


def test_a_cluster_comes_to_the_same_and_leaves_nothing_behind(tmp_path: Path, found: Store) -> None:
    store = Store(tmp_path / "out", found.setting)
    launch, before = prepare(WEAK), below()
    with Cluster(LOCAL, found.setting, jobs=2) as workers:
        with Runner(jobs=1) as runner:
            assert workers.conditions(launch) == runner.conditions(launch)
        go_on(store, workers, BATCHES)
        beside = below(but=before)
    assert outcome(store) == outcome(found)
    gone(beside)


def test_a_worker_that_is_killed_in_the_middle_costs_no_batch(tmp_path: Path, found: Store) -> None:
    store = Store(tmp_path / "out", found.setting)
    with Killing(LOCAL, found.setting, jobs=2, at=6) as workers:
        go_on(store, workers, BATCHES)
    assert store.state.batch == BATCHES
    assert outcome(store) == outcome(found)
    gone(workers.beside)


def test_a_cluster_that_is_there_is_joined_and_stays(tmp_path: Path, found: Store) -> None:
    store = Store(tmp_path / "out", found.setting)
    with LocalCluster(1, threads_per_worker=2, dashboard_address=None, memory_limit=None) as there:  # type: ignore[no-untyped-call]
        before = below()
        for batches in (1, BATCHES):  # of each campaign, what ran beside the workers is gone before the next
            with Cluster(there.scheduler_address, found.setting, jobs=7) as workers:
                assert workers.jobs == 1
                go_on(store, workers, batches)
                beside = below(but=before)
            gone(beside)
    assert outcome(store) == outcome(found)


def test_workers_without_this_epctx_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "__version__", "9.9.9")
    installed = re.escape(importlib.metadata.version("epctx"))
    with pytest.raises(UsageError, match=rf"has epctx {installed}; install epctx 9\.9\.9 where the workers are"):
        Cluster(LOCAL, Setting(WEAK, SEED), jobs=1).__enter__()


def test_a_scheduler_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PATIENCE", 1.0)
    with pytest.raises(HarnessError, match=r"No scheduler answers at tcp://127\.0\.0\.1:1 "):
        Cluster("tcp://127.0.0.1:1", Setting(WEAK, SEED), jobs=1).__enter__()


def test_an_interrupt_ends_all_of_it_quietly(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    arguments = words(WEAK, "--out", tmp_path / "out", "--seed", str(SEED), "--cluster", "local", "-j", "2")
    with subprocess.Popen(arguments, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as process:
        assert process.stdout
        while " from fuzz/" not in (line := process.stdout.readline()):
            assert line
        beside = below(process.pid)
        os.kill(process.pid, signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "")
    assert re.search(r"\d findings? in ", out)
    gone(beside)
