"""Options and steps that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar, get_args

import click
from msgspec.structs import replace

from epctx.attack import families
from epctx.case import Case, Sanitizer
from epctx.case_file import files as case_files_of
from epctx.case_file import read
from epctx.errors import UsageError
from epctx.oracle import PROFILES, stances
from epctx.report.console import Output
from epctx.run.settings import FOUND, JOBS, PATIENCE, PYPROJECT
from epctx.run.settings import find as find_settings
from epctx.run.settings import read as read_settings
from epctx.target import Launch, prepare

F = TypeVar("F", bound=Callable[..., Any])

SETTINGS, LEFT_OUT = "epctx.settings", "epctx.no-settings"
"""What a click context holds: the path of the settings file in force, and that there is to be none."""


def judging(command: F) -> F:
    """--profile and --policy."""
    command = click.option(
        "--policy",
        "policies",
        multiple=True,
        metavar="RULE=STANCE",
        callback=_checked,
        help="How a rule that loaders differ on is judged: accept, refuse or report (see `epctx list profiles`).",
    )(command)
    return click.option(
        "--profile",
        "profile_name",
        type=click.Choice(list(PROFILES)),
        help="Which rules must hold; by default what the ONNX Runtime that is found demands.",
    )(command)


def settings(*besides: str) -> Callable[[F], F]:
    """--config and --no-config: what a settings file says counts as if it were given, unless something else is.

    ``besides`` are keys of settings that have nothing to do with the command's option of that name.
    """

    def use(context: click.Context, _: click.Parameter, path: Path | None) -> None:
        if LEFT_OUT in context.meta:
            if path is not None:
                raise UsageError("--config and --no-config exclude each other; give one of them.")
            return
        found = read_settings(path) if path is not None else find_settings(Path())
        if found is None:
            return
        context.meta[SETTINGS] = found.path
        said = found.settings.options()
        names = {name: p.name for p in context.command.params for name in ("target" if p.name == "target" else "", *p.opts)}
        keys = {key: names.get("target" if key == "target" else f"--{key}") for key in said if key not in besides}
        context.default_map = {name: said[key] for key, name in keys.items() if name}

    def leave_out(context: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted:
            context.meta[LEFT_OUT] = True
            if context.meta.pop(SETTINGS, None):
                raise UsageError("--config and --no-config exclude each other; give one of them.")

    def decorate(command: F) -> F:
        command = click.option(
            "--no-config", is_flag=True, is_eager=True, expose_value=False, callback=leave_out, help="Leave settings files alone."
        )(command)
        return click.option(
            "--config",
            type=click.Path(path_type=Path),
            is_eager=True,
            expose_value=False,
            callback=use,
            metavar="FILE",
            help=f"Take settings from this file; by default from {FOUND}, or [tool.epctx] of {PYPROJECT}, in this directory.",
        )(command)

    return decorate


def settings_in_force() -> str:
    """The path of the settings file that this command uses, "" if none."""
    path: str = click.get_current_context().meta.get(SETTINGS, "")
    return path


def typed(name: str) -> bool:
    """Whether a parameter of this command was given by hand, and comes neither from settings nor from a default."""
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def patience(command: F) -> F:
    """--patience."""
    return click.option(
        "--patience",
        type=click.FloatRange(0, PATIENCE, min_open=True),
        metavar="SECONDS",
        help="Give each call at least so much time, for a target that is slow; by default what its case says, mostly 3.",
    )(command)


def _checked(_: click.Context, __: click.Parameter, policies: tuple[str, ...]) -> tuple[str, ...]:
    stances(policies)
    return policies


def boxing(command: F) -> F:
    """--unboxed."""
    return click.option(
        "--unboxed",
        is_flag=True,
        help="Run the target without namespaces or Landlock: what it writes or deletes by mistake is then yours. Limits stay.",
    )(command)


def sanitizing(command: F) -> F:
    """--sanitize."""
    return click.option(
        "--sanitize",
        "sanitizer",
        type=click.Choice(get_args(Sanitizer)),
        help="Build the driver and the target for this sanitizer, and report what it finds; heavy cases are skipped.",
    )(command)


def platforms(command: F) -> F:
    """--platform."""
    return click.option(
        "--platform",
        type=click.Choice(["windows", "macos"]),
        help="The option of that name of the target: an object in Python runs on an emulated file system of that platform; "
        "others apply the name rules of Windows.",
    )(command)


def on_platform(target: str, platform: str | None) -> str:
    """The name of the target on a platform, if one is named."""
    return target if platform is None else f"{target}{'&' if '?' in target else '?'}platform={platform}"


def jobs(command: F) -> F:
    """--jobs."""
    return click.option(
        "--jobs",
        "-j",
        type=click.IntRange(1, JOBS),
        default=len(os.sched_getaffinity(0)),
        metavar="N",
        help="Workers that run cases at once; by default one for each processor.",
    )(command)


def case_files(help_text: str) -> Callable[[F], F]:
    """--cases."""
    path = click.Path(path_type=Path)
    return click.option("--cases", "files", multiple=True, type=path, metavar="FILE|DIR", help=help_text)


def baselines(command: F) -> F:
    """--baseline and --write-baseline."""
    path = click.Path(path_type=Path)
    command = click.option(
        "--write-baseline",
        "new_baseline",
        type=path,
        metavar="FILE",
        help="Write what is found to this new file as a baseline, with reasons left to be filled in; with --baseline, that one "
        "brought up to date.",
    )(command)
    return click.option(
        "--baseline",
        "baseline_paths",
        multiple=True,
        type=path,
        metavar="FILE",
        help="Findings that this file names are known: they do not fail the run. What it names and no longer occurs does.",
    )(command)


def listed_cases() -> list[Case]:
    """The cases of all families that are installed, controls first."""
    cases = [case for family in families().values() for case in family.cases()]
    return sorted(cases, key=lambda c: c.intent != "control")


def with_controls(cases: Sequence[Case]) -> list[Case]:
    """``cases``, and before them the listed controls that are not among them."""
    known = {case.id for case in cases}
    return [case for case in listed_cases() if case.intent == "control" and case.id not in known] + list(cases)


def find_case(text: str, files: Sequence[Path] = ()) -> Case:
    """A case by its id, among the listed cases or those of ``files``, or the one case in a file.

    UsageError if there is no such case.
    """
    if files:
        return _by_id(text, read_cases(files), ", ".join(map(str, files)))
    path = Path(text)
    if text.endswith((".json", ".jsonl")) or path.is_file():
        cases = read(path)
        if len(cases) == 1:
            return cases[0]
        raise UsageError(f"{text} holds {len(cases)} cases; name one by its id, and the file with --cases.")
    family, slash, _ = text.partition("/")
    known = families()
    if not slash or family not in known:
        raise UsageError(
            f"{text!r} is no case: there is no family {family!r} (see `epctx list attacks`), and no file of that name."
        )
    return _by_id(text, known[family].cases(), f"`epctx list cases --only '{family}/*'`")


def _by_id(wanted: str, cases: Sequence[Case], where: str) -> Case:
    found = {case.id: case for case in cases}
    if wanted not in found:
        near = get_close_matches(wanted, found, 1)
        raise UsageError(f"There is no case {wanted!r}; " + (f"did you mean {near[0]!r}?" if near else f"see {where}."))
    return found[wanted]


def prepared(target: str, console: Output, sanitizer: Sanitizer | None = None, patience: float | None = None) -> Launch:
    """Make a target ready, for a sanitizer if one is named, saying so while something is compiled.

    With ``patience`` each of its calls may take so many seconds, whatever the case says.
    """
    with console.busy(f"preparing {target}"):
        return replace(prepare(target, sanitizer), granted=patience or 0.0)


def read_cases(paths: Sequence[Path]) -> list[Case]:
    """The cases of all these files and folders of files; UsageError where two have the same id, or there is none."""
    cases: dict[str, Case] = {}
    for path in (file for given in paths for file in case_files_of(given)):
        for case in read(path):
            if case.id in cases:
                raise UsageError(f"{path}: the id {case.id} occurs twice; ids are unique within a run.")
            cases[case.id] = case
    if not cases:
        raise UsageError(f"{', '.join(map(str, paths))}: there is no case in it.")
    return list(cases.values())


def regressions() -> Path:
    """The folder of regressions that comes with epctx. UsageError where that is not in its source tree."""
    package = Path(str(files("epctx_corpora")))
    if not (package.parent.parent / "pyproject.toml").is_file():
        raise UsageError("Name a folder of your own; the regressions that come with epctx are changed in its source tree.")
    return package / "regressions"


def bundled_faults() -> Path:
    """The file of published faults that comes with epctx."""
    return Path(str(files("epctx_corpora").joinpath("published.toml")))


def save(option: str, path: Path, text: str) -> None:
    """Write what an option asks for; UsageError if its file cannot be written."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}; name a file that can be written.") from None
