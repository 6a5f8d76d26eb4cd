"""Options and steps that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from epctx.attack import families
from epctx.case import Case
from epctx.case_file import read
from epctx.errors import UsageError
from epctx.oracle import PROFILES
from epctx.target import Launch, prepare

F = TypeVar("F", bound=Callable[..., Any])


def judging(command: F) -> F:
    """--profile and --policy."""
    command = click.option(
        "--policy",
        "policies",
        multiple=True,
        metavar="RULE=STANCE",
        help="How a rule of tier policy is judged: accept, refuse or report.",
    )(command)
    return click.option(
        "--profile",
        "profile_name",
        type=click.Choice(list(PROFILES)),
        default="spec",
        show_default=True,
        help="Which rules must hold.",
    )(command)


def boxing(command: F) -> F:
    """--unboxed."""
    return click.option(
        "--unboxed",
        is_flag=True,
        help="Run the target without namespaces or Landlock: what it writes or deletes by mistake is then yours. Limits stay.",
    )(command)


def jobs(command: F) -> F:
    """--jobs."""
    default = len(os.sched_getaffinity(0))
    return click.option(
        "--jobs",
        "-j",
        type=click.IntRange(1, 256),
        default=default,
        show_default="the cores",
        help="Workers that run cases at once.",
    )(command)


def listed_cases() -> list[Case]:
    """The cases of all families that are installed, controls first."""
    cases = [case for family in families().values() for case in family.cases()]
    return sorted(cases, key=lambda c: c.intent != "control")


def find_case(text: str) -> Case:
    """A case by its id, or the one case in a file; UsageError if there is no such case."""
    path = Path(text)
    if text.endswith((".json", ".jsonl")) or path.is_file():
        cases = read(path)
        if len(cases) != 1:
            raise UsageError(f"{text} holds {len(cases)} cases; name a file with one.")
        return cases[0]
    family, slash, _ = text.partition("/")
    known = families()
    if not slash or family not in known:
        raise UsageError(
            f"{text!r} is no case: there is no family {family!r} (see `epctx list cases`), and no file of that name."
        )
    cases = [c for c in known[family].cases() if c.id == text]
    if not cases:
        raise UsageError(f"There is no case {text!r} (see `epctx list cases --only '{family}/*'`).")
    return cases[0]


def prepared(target: str, console: Console) -> Launch:
    """Make a target ready, saying so while something is compiled."""
    with console.status(f"preparing {target}"):
        return prepare(target)


def read_cases(paths: Sequence[Path]) -> list[Case]:
    """The cases of all these files; UsageError where two have the same id."""
    cases: dict[str, Case] = {}
    for path in paths:
        for case in read(path):
            if case.id in cases:
                raise UsageError(f"{path}: the id {case.id} occurs twice; ids are unique within a run.")
            cases[case.id] = case
    return list(cases.values())
