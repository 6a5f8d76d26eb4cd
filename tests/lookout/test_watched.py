"""What the lookout sees of a command, and what it does not."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from epctx.errors import UsageError
from epctx.lookout import Watched, run_watched

SECRET = random.Random(1).randbytes(1 << 16)

COMMON = """
import mmap, os, random, subprocess, sys
secret = random.Random(1).randbytes(1 << 16)[: int(sys.argv[1])]
here, there = sys.argv[2], sys.argv[3]
def put(path, data=secret):
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    os.write(fd, data)
    return fd
"""

WAYS = {
    "stays": "os.close(put(f'{here}/f'))",
    "removed": "os.close(put(f'{here}/f')); os.unlink(f'{here}/f')",
    "removed-while-open": "fd = put(f'{here}/f'); os.unlink(f'{here}/f'); os.close(fd)",
    "left-open": "put(f'{here}/f'); os.unlink(f'{here}/f')",
    "elsewhere": "os.close(put(f'{there}/f')); os.unlink(f'{there}/f')",
    "without-name": "fd = os.open(here, os.O_RDWR | os.O_TMPFILE); os.write(fd, secret); os.close(fd)",
    "overwritten": "fd = put(f'{here}/f'); os.lseek(fd, 0, 0); os.write(fd, bytes(len(secret)))",
    "overwritten-at": "fd = put(f'{here}/f'); os.pwrite(fd, bytes(len(secret)), 0)",
    "overwritten-by-mapping": "fd = put(f'{here}/f'); mmap.mmap(fd, 0)[:] = bytes(len(secret))",
    "overwritten-anew": "os.close(put(f'{here}/f')); os.close(os.open(f'{here}/f', os.O_WRONLY | os.O_TRUNC))",
    "cut": "fd = put(f'{here}/f'); os.ftruncate(fd, 0)",
    "cut-by-name": "fd = put(f'{here}/f'); os.truncate(f'{here}/f', 0)",
    "replaced": "fd = put(f'{here}/f'); os.unlink(f'{here}/f'); os.dup2(1, fd)",
    "renamed": "os.close(put(f'{here}/f')); os.rename(f'{here}/f', f'{there}/g'); os.unlink(f'{there}/g')",
    "mapped": """
fd = put(f'{here}/f', bytes(len(secret)))
mapping = mmap.mmap(fd, 0)
os.close(fd)
mapping[:] = secret
os.unlink(f'{here}/f')
""",
    "new-directory": """
os.makedirs(f'{here}/a/b')
os.close(put(f'{here}/a/b/f'))
os.unlink(f'{here}/a/b/f')
os.removedirs(f'{here}/a/b')
""",
    "in-the-middle": "os.close(put(f'{here}/f', bytes(3_000_000) + secret)); os.unlink(f'{here}/f')",
    "by-a-child": "subprocess.run(['/bin/sh', '-c', 'cat > f; rm f'], input=secret, cwd=here, check=True)",
    "by-a-thread": """
import threading
thread = threading.Thread(target=lambda: (os.close(put(f'{here}/f')), os.unlink(f'{here}/f')))
thread.start(); thread.join()
""",
}

HARMLESS = {
    "nothing": "",
    "ciphertext": "os.close(put(f'{here}/f', random.Random(2).randbytes(len(secret)))); os.unlink(f'{here}/f')",
    "read": "open(f'{here}/plain', 'rb').read()",
    "renamed": "os.rename(f'{here}/other', f'{here}/another')",
    "memory": "fd = os.memfd_create('m'); os.write(fd, secret); os.close(fd)",
    "pipe": "r, w = os.pipe(); os.write(w, secret[:4096]); os.close(w); os.close(r)",
}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A place that is watched; ``there`` beside it is not."""
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    return tmp_path / "here"


def watched(code: str, here: Path, size: int = 4096) -> Watched:
    arguments = [str(size), str(here), str(here.parent / "there")]
    return run_watched([sys.executable, "-c", COMMON + code, *arguments], secrets=[SECRET[:size]], places=[here], timeout=60)


@pytest.mark.parametrize("size", [32, 4096, 65536])
@pytest.mark.parametrize("way", WAYS)
def test_plaintext_is_seen(here: Path, way: str, size: int) -> None:
    run = watched(WAYS[way], here, size)
    assert (run.code, run.output) == (0, "")
    assert len(run.plaintext) == 1
    gone = way not in (
        "stays",
        "overwritten",
        "overwritten-at",
        "overwritten-by-mapping",
        "overwritten-anew",
        "cut",
        "cut-by-name",
    )
    assert run.plaintext[0].endswith(" (deleted)") == gone


def test_each_of_many_short_moments_is_seen(here: Path) -> None:
    code = "for n in range(500): os.close(put(f'{here}/{n}')); os.unlink(f'{here}/{n}')"
    assert watched(code, here, 32).plaintext == tuple(f"{here}/{n} (deleted)" for n in range(500))


@pytest.mark.parametrize("way", HARMLESS)
def test_nothing_else_is_taken_for_plaintext(here: Path, way: str) -> None:
    (here / "plain").write_bytes(SECRET)
    (here / "other").write_bytes(random.Random(3).randbytes(4096))
    run = watched(HARMLESS[way], here)
    assert (run.code, run.output, run.plaintext) == (0, "", ())


def test_what_the_lookout_does_not_see(here: Path) -> None:
    code = """
fd = put(f'{here}/f', bytes(len(secret)))
mapping = mmap.mmap(fd, 0)
mapping[:] = secret
mapping[:] = bytes(len(secret))
"""
    assert watched(code, here).plaintext == ()


def test_any_part_of_a_large_secret_tells_it(here: Path) -> None:
    code = "os.close(put(f'{here}/f', secret[30_000:32_000]))"
    assert watched(code, here, 1 << 16).plaintext == (f"{here}/f",)


def test_a_command_that_fails_says_so(here: Path) -> None:
    run = watched("print('words'); sys.exit(3)", here)
    assert (run.code, run.output) == (3, "words\n")


def test_a_command_that_does_not_end_is_killed(here: Path) -> None:
    command = [sys.executable, "-c", "import os, time; print(os.getpid()); time.sleep(60)"]
    with pytest.raises(subprocess.TimeoutExpired):
        run_watched(command, secrets=[SECRET], places=[here], timeout=1)


def test_a_program_that_is_not_there(here: Path) -> None:
    run = run_watched([here / "none"], secrets=[SECRET], timeout=20)
    assert run.code != 0
    assert "No such file" in run.output


def test_what_a_command_leaves_behind_is_ended(here: Path) -> None:
    run = run_watched(["/bin/sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!"], secrets=[SECRET], places=[here], timeout=20)
    deadline = time.monotonic() + 10
    while Path("/proc", run.output.strip()).exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("secret", [b"", b"too short", bytes(5000)])
def test_a_secret_that_nothing_tells_is_refused(secret: bytes) -> None:
    with pytest.raises(UsageError, match="Secret 1 has no piece"):
        run_watched(["true"], secrets=[SECRET, secret])
