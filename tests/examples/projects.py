"""The projects in ``examples/``: each is copied, and its tox environments are run in the environment that there is."""

from __future__ import annotations

import configparser
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def copied(name: str, to: Path) -> Path:
    """A copy of a project."""
    return Path(shutil.copytree(EXAMPLES / name, to / name, ignore=shutil.ignore_patterns("build", ".tox", "node_modules")))


def run_tox(project: Path, environment: str, *arguments: str) -> tuple[int, str]:
    """Run the commands of a project's tox environment until one fails: the last exit code, and all that was printed.

    What tox would install is what is installed here, so that it is this epctx that runs.
    """
    settings = configparser.ConfigParser(interpolation=None)
    settings.read(project / "tox.ini")
    # in a pipe each text is a line, but tox says how wide its terminal is
    environ = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    output = ""
    for line in settings[f"testenv:{environment}"]["commands"].replace("{posargs}", shlex.join(arguments)).strip().splitlines():
        words = [sys.executable if word == "python" else word for word in shlex.split(line)]
        done = subprocess.run(
            words,
            cwd=project,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        output += done.stdout
        if done.returncode:
            return done.returncode, output
    return 0, output
