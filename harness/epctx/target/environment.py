"""Virtual environments in which a release of somebody's loader is installed: made once, kept in the cache, shared by all runs.

Each is named by its content, which is what it requires and the interpreter that it is made with. A mark that is written last says
that it is complete, so that an interrupted installation is never taken for one; a lock lets any number of processes ask for the
same environment at once. Only wheels are installed: nothing of a release is run to install it.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path

from epctx.case import Struct
from epctx.errors import HarnessError
from epctx.faults import Environment
from epctx.target.build import cache_directory

AT_ONCE = 2
"""How many environments are made at the same time: one waits for the network while another fills the disk."""

_COMPLETE = "complete"
_SHOWN = 240


class Made(Struct, frozen=True):
    """An environment that is there: its interpreter, and the seconds that making it took (0 where it was there before)."""

    python: str
    seconds: float


def directory() -> Path:
    """Where environments are kept; to remove it is safe while none is in use."""
    return cache_directory() / "environments"


def obstacle(environment: Environment) -> str:
    """Why this interpreter on this machine can have no such environment, as far as is known beforehand; else nothing."""
    own = sys.version_info[:2]
    if environment.python and own > tuple(map(int, environment.python.split("."))):
        return f"{environment.name} has wheels for Python {environment.python} and earlier, not for {own[0]}.{own[1]}"
    if environment.machines and platform.machine() not in environment.machines:
        return f"{environment.name} has no wheels for {platform.machine()}"
    return ""


def make_all(
    environments: Sequence[Environment], *, fresh: bool = False, progress: Callable[[Environment, Made], None] = lambda *_: None
) -> list[Made]:
    """Make what is not there yet, some at once; ``progress`` is told each environment as it is ready. HarnessError as from make.

    The first that fails ends it, and what was not begun by then is not.
    """

    def one(environment: Environment) -> Made:
        made = make(environment, fresh=fresh)
        progress(environment, made)
        return made

    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        futures = [pool.submit(one, environment) for environment in environments]
        for future in wait(futures, return_when=FIRST_EXCEPTION).done:
            future.result()  # raises what failed
        return [future.result() for future in futures]
    finally:
        pool.shutdown(cancel_futures=True)


def make(environment: Environment, *, fresh: bool = False) -> Made:
    """The environment, from the cache or made now; with ``fresh`` always made now.

    HarnessError, with the installer's own words, if it cannot be made.
    """
    place = directory() / _name(environment)
    python, mark = place / "bin" / "python", place / _COMPLETE
    start = time.monotonic()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with _locked(_beside(place, "lock")):
            if not fresh and mark.exists() and python.exists():  # its interpreter is a link, which may dangle by now
                return Made(str(python), 0)
            shutil.rmtree(place, ignore_errors=True)
            for command in _commands(place, environment.requirements):
                _run(command, environment, place)
            mark.touch()
    except OSError as error:
        raise HarnessError(
            f"The environment for {environment.name} cannot be made in {place.parent}: {error}. "
            "Set EPCTX_CACHE to another directory."
        ) from error
    return Made(str(python), time.monotonic() - start)


def _name(environment: Environment) -> str:
    """A readable name that no other content has."""
    content = repr((environment.requirements, sys.version, os.path.realpath(sys.executable)))
    words = re.sub(r"[^a-z0-9.]+", "-", environment.name.lower())
    return f"{words}-py{sys.version_info[0]}.{sys.version_info[1]}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def _beside(place: Path, ending: str) -> Path:
    return place.parent / f"{place.name}.{ending}"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Have a lock to oneself, which ends with its holder. The file stays: removing it would let two holders in."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _commands(place: Path, requirements: Sequence[str]) -> list[list[str]]:
    """How an environment is made: by uv where it is at hand, else by venv and our own pip. HarnessError if there is neither."""
    python = str(place / "bin" / "python")
    if uv := shutil.which("uv"):
        # The driver can read the environment and not write to it: what is not compiled now would be compiled in each run.
        install = [uv, "pip", "install", "--quiet", "--python", python, "--only-binary", ":all:", "--compile-bytecode"]
        return [[uv, "venv", "--quiet", "--no-project", "--python", sys.executable, str(place)], [*install, *requirements]]
    if importlib.util.find_spec("pip") is None:
        raise HarnessError("There is neither uv nor pip to install releases with; put one beside epctx: python -m ensurepip.")
    install = [sys.executable, "-I", "-m", "pip", "--python", python, "--quiet", "--disable-pip-version-check", "--no-input"]
    return [
        [sys.executable, "-I", "-m", "venv", "--without-pip", str(place)],  # a pip in each would take most of the time
        [*install, "install", "--only-binary", ":all:", *requirements],
    ]


def _run(command: Sequence[str], environment: Environment, place: Path) -> None:
    done = subprocess.run(
        command, cwd=place.parent, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        log = _beside(place, "log")
        log.write_text(f"{' '.join(command)}\n{done.stdout}{done.stderr}", encoding="utf-8")
        raise HarnessError(
            f"The environment for {environment.name} cannot be made: {_reason(done.stderr or done.stdout, done.returncode)} "
            f"(all that was said is in {log})."
        )


def _reason(words: str, code: int) -> str:
    """What an installer says went wrong, shortened: its first error, else its last line."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    errors = [n for n, line in enumerate(lines) if re.match(r"(?i)error:|×", line)]
    if errors:
        text = " ".join(lines[errors[0] : errors[1] if len(errors) > 1 else None])
    else:
        text = lines[-1] if lines else f"the installer ended with code {code} and said nothing"
    text = re.sub(r"^(?i:error:)\s*|[×╰─▶│├┬]+\s*", "", text).rstrip(".")
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
