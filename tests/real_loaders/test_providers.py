"""Execution providers that people install, as they are released now: each case has a verdict, and nothing is left behind.

What a release does wrong is for its vendor first, and no part of these tests: they neither say nor depend on what is found.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from epctx import syscalls
from epctx.report import jsonl

pytestmark = pytest.mark.slow

PROVIDERS = {"qnn": "onnxruntime-qnn", "openvino": "onnxruntime-ep-openvino"}
SECONDS = 280.0
SHARED = "/dev/shm"


class Run:
    """A whole check in a process of its own, with a home and a directory for temporary files of its own; and what it left."""

    def __init__(self, provider: str, place: Path) -> None:
        self.home, self.temporary = place / "home", place / "temporary"
        self.home.mkdir()
        self.temporary.mkdir()
        own = {"HOME": str(self.home), "TMPDIR": str(self.temporary), "EPCTX_CACHE": str(place / "cache")}
        environment = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")} | own
        command = [sys.executable, "-m", "epctx", "check", f"ep:{provider}", "--json", str(place / "report.jsonl")]
        children, shared, installed = _children(), set(os.listdir(SHARED)), _installed(PROVIDERS[provider])
        syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)  # whoever is left behind becomes a child of this process
        try:
            done = subprocess.run(
                command, env=environment, cwd=self.home, capture_output=True, text=True, timeout=SECONDS, check=False
            )
            self.still_running = _until_none(lambda: _running(_children() - children))
        finally:
            syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 0)
        self.code, self.errors = done.returncode, done.stderr
        self.shared = _until_none(lambda: _abandoned(set(os.listdir(SHARED)) - shared))
        self.installed_is_as_before = _installed(PROVIDERS[provider]) == installed
        self.header, self.lines, self.footer = jsonl.read(place / "report.jsonl")


@pytest.fixture(scope="module", params=PROVIDERS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    distribution = PROVIDERS[request.param]
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        if os.environ.get("EPCTX_REAL_LOADERS"):
            raise
        pytest.skip(f"{distribution} is not installed; the environment real-loaders of tox has it")
    return Run(request.param, tmp_path_factory.mktemp(request.param))


def test_every_case_has_a_verdict(run: Run) -> None:
    assert run.code in (0, 1)
    assert run.errors == ""
    assert not run.footer.interrupted
    assert len(run.lines) == run.header.cases
    assert {line.verdict.case: line.verdict.reason for line in run.lines if line.verdict.result == "error"} == {}
    assert run.footer.judged > 500


def test_the_controls_are_accepted_and_what_shows_it(run: Run) -> None:
    controls = [line for line in run.lines if line.verdict.case.startswith("control/") and line.verdict.result != "skip"]
    shown_by = "open" if run.header.opens_only else "result"
    assert len(controls) >= 2
    for line in controls:
        assert set(line.verdict.outcomes) == {"accepted"}
        assert [seen.shown_by for seen in line.observation.calls] == [shown_by]
    accepted = [line for line in run.lines if set(line.verdict.outcomes) == {"accepted"}]
    assert len(accepted) > 100


def test_every_crash_and_every_hang_is_pinned_on_its_case(run: Run) -> None:
    for line in run.lines:
        *earlier, last = line.observation.calls or [None]
        assert all(seen is not None and seen.ended in ("returned", "exception") for seen in earlier)
        if last is not None and last.ended in ("crash", "hang"):
            assert last.detail
            assert last.ended in line.verdict.outcomes


def test_nothing_is_left_behind(run: Run) -> None:
    assert run.still_running == set()
    assert run.shared == set()
    assert list(run.home.iterdir()) == []
    assert list(run.temporary.iterdir()) == []
    assert run.installed_is_as_before


def _children() -> set[str]:
    """The processes that this one is to wait for."""
    tasks = Path("/proc/self/task").iterdir()
    return {pid for task in tasks for pid in (task / "children").read_text(encoding="ascii").split()}


def _running(children: set[str]) -> set[str]:
    """Those of some children that have not ended; the others are taken note of, which nobody else does any more."""
    return {pid for pid in children if os.waitpid(int(pid), os.WNOHANG) == (0, 0)}


def _abandoned(names: set[str]) -> set[str]:
    """Those names in shared memory that no process uses: somebody else may be at work, too."""
    known = b""
    for process in Path("/proc").glob("[0-9]*"):
        for file in ("maps", "mountinfo"):
            with contextlib.suppress(OSError):
                known += (process / file).read_bytes() if names else b""
    return {name for name in names if f"{SHARED}/{name}".encode() not in known}


def _installed(distribution: str) -> dict[str, tuple[int, int]]:
    """Size and time of each file of a distribution and of each directory that they are in; compiled Python apart."""
    found = importlib.metadata.distribution(distribution)
    paths = [Path(str(found.locate_file(file))) for file in found.files or () if file.suffix != ".pyc"]
    looked_at = {path: path.stat() for path in (*paths, *(path.parent for path in paths)) if path.exists()}
    return {str(path): (status.st_size, status.st_mtime_ns) for path, status in looked_at.items()}


def _until_none(left: Callable[[], set[str]], seconds: float = 5.0) -> set[str]:
    """What is left once nothing is, or after a while."""
    end = time.monotonic() + seconds
    while (found := left()) and time.monotonic() < end:
        time.sleep(0.05)
    return found
