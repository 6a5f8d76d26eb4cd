"""The files of a project: what is in them, and how they are written without anything being lost."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Literal, NamedTuple, TypeAlias

import tomli_w

from epctx.errors import UsageError
from epctx.run.settings import FOUND, PYPROJECT

Ci: TypeAlias = Literal["github", "gitlab", "none"]

TOX, TOX_ENVIRONMENT = "tox.ini", "testenv:epctx"
WORKFLOWS: dict[Ci, str] = {"github": ".github/workflows/epctx.yml", "gitlab": ".gitlab/epctx.yml"}


class Made(NamedTuple):
    """A file for a project: its path, and its text."""

    path: Path
    text: str


def settings(target: str, baseline: str = "") -> Made:
    """The settings file for a target, with the file of what is known, if any."""
    said = tomli_w.dumps({"target": target} | ({"baseline": baseline} if baseline else {}))
    return Made(Path(FOUND), _template("epctx.toml", said=said.rstrip("\n")))


def adapter(module: str, name: str) -> Made:
    """An adapter in Python to fill in."""
    return Made(Path(*module.split(".")).with_suffix(".py"), _template("adapter.py.txt", name=name))


def tox(requirement: str) -> Made:
    """A tox file with the environment that runs the check."""
    return Made(Path(TOX), _template("tox.ini", environment=environment(requirement).rstrip("\n")))


def environment(requirement: str) -> str:
    """The environment alone, for a tox file that is there already."""
    return _template("environment.ini", requirement=requirement)


def workflow(ci: Ci) -> Made | None:
    """What runs tox in CI, and brings its reports to where people look."""
    return Made(Path(WORKFLOWS[ci]), _template(f"{ci}.yml")) if ci in WORKFLOWS else None


def has_tox(directory: Path) -> str:
    """The file that configures tox there, "" if none."""
    for name in (TOX, "tox.toml"):
        if (directory / name).exists():
            return name
    try:
        text = (directory / PYPROJECT).read_text("utf-8")
        return PYPROJECT if "tox" in tomllib.loads(text).get("tool", {}) else ""
    except (OSError, ValueError):
        return ""


def write(made: Sequence[Made], *, force: bool) -> None:
    """Write files into the working directory. UsageError, and nothing is written, if that replaced one without ``force``."""
    there = [str(file.path) for file in made if file.path.is_symlink() or file.path.exists()]
    if there and not force:
        raise UsageError(f"Nothing was written: there is {', '.join(there)} already; --force replaces what is named here.")
    for file in made:
        try:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            if file.path.is_symlink():
                file.path.unlink()  # what it leads to is not ours
            file.path.write_text(file.text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{file.path}: {error.strerror}; it cannot be written here.") from None


def _template(template: str, **values: str) -> str:
    text = files("epctx").joinpath("project", "templates", template).read_text("utf-8")
    return Template(text).substitute(values)
