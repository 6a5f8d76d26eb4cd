from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from epctx.box import Watchdog, free_fifos

BUSY = "while True: pass"
SLEEPS = "import time; time.sleep(60)"
WAKES = "import time\nwhile True: time.sleep(0.02)"


def watch(code: str, seconds: float = 1.5) -> float | None:
    """After how many seconds a program is found asleep."""
    words = [sys.executable, "-c", "print(flush=True)\n" + code]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout
    try:
        process.stdout.readline()
        start, dog = time.monotonic(), Watchdog(process.pid)
        while time.monotonic() - start < seconds:
            if dog.asleep():
                return time.monotonic() - start
            time.sleep(0.02)
        return None
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # with what it started
        process.wait()
        process.stdout.close()


def test_a_sleeper_is_found_after_the_least_sleep() -> None:
    found = watch(SLEEPS)
    assert found is not None
    assert 0.2 <= found < 1.0


@pytest.mark.parametrize("code", [BUSY, WAKES])
def test_who_works_or_wakes_is_not_asleep(code: str) -> None:
    assert watch(code, 0.8) is None


def test_a_dead_process_is_not_asleep() -> None:
    process = subprocess.Popen(["/bin/true"])
    process.wait()
    dog = Watchdog(process.pid)
    assert not dog.asleep(0)
    assert not dog.asleep(0)


@pytest.mark.parametrize("mode", ["rb", "wb"])
def test_a_hang_on_a_fifo_is_freed(tmp_path: Path, mode: str) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    code = f"try: open({str(fifo)!r}, {mode!r}).read()\nexcept OSError: pass"
    process = subprocess.Popen([sys.executable, "-c", code])
    dog = Watchdog(process.pid)
    while not dog.asleep():
        assert process.poll() is None
        time.sleep(0.02)
    assert free_fifos([os.fsencode(fifo), b"/no/such/fifo"]) == [os.fsencode(fifo)]
    assert process.wait(5) == 0


def test_links_are_not_followed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    assert free_fifos([os.fsencode(tmp_path / "link")]) == []


def test_who_waits_for_one_that_works_is_not_asleep() -> None:
    waits = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', {!r}])"
    assert watch(waits.format(BUSY), 0.8) is None
    assert watch(waits.format(SLEEPS)) is not None
