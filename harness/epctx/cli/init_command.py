"""``epctx init``: set a project up, so that ``tox -e epctx`` judges its loader."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import click
from rich.text import Text

from epctx.cli import options
from epctx.errors import TargetError, UsageError
from epctx.project import files, target
from epctx.project.header import headers
from epctx.report import smoke as report
from epctx.report.console import Output
from epctx.run.runner import Runner
from epctx.run.settings import FOUND, PYPROJECT, find
from epctx.run.smoke import smoke, usable

BASELINE = "epctx-known.toml"
ADAPTER = "epctx_adapter:Adapter"
"""What a new adapter is called, in its own module."""


@click.command(short_help="Set a project up: settings, a tox environment, CI.")
@click.option("--kind", type=click.Choice(get_args(target.Kind)), help="What there is to judge.")
@click.option("--path", metavar="WHAT", help="The header, library, MODULE:OBJECT, command or provider.")
@click.option("--namespace", metavar="NS", help="The namespace of a header's functions; by default the one that it has.")
@click.option("--include", "includes", multiple=True, metavar="DIR", help="A directory with headers that a header includes.")
@click.option("--name", metavar="NAME", help="The name of an execution provider, beside the path of its library.")
@click.option("--ci", type=click.Choice(get_args(files.Ci)), help="Whose CI runs it.")
@click.option("--baseline", is_flag=True, help=f"Run all cases, and write what is found to {BASELINE}; reasons are left to you.")
@click.option("--epctx", "requirement", default="epctx", show_default=True, metavar="REQUIREMENT", help="What tox installs.")
@click.option("--yes", is_flag=True, help="Ask nothing: what is not given is found out, or an error.")
@click.option("--force", is_flag=True, help="Replace files that are there.")
def command(
    kind: target.Kind | None,
    path: str | None,
    namespace: str | None,
    includes: tuple[str, ...],
    name: str | None,
    ci: files.Ci | None,
    baseline: bool,
    requirement: str,
    yes: bool,
    force: bool,
) -> None:
    """Set the project in this directory up, asking what is not given.

    The target is tried first, as `epctx smoke` does. Then epctx.toml is written, a tox environment and, if wanted, a workflow
    for CI; for an object in Python that is not there yet, an adapter to fill in. Nothing is replaced without --force.

    \b
    Exit codes: 0 done, 2 bad input, 3 the target is not usable, 130 interrupted.
    """
    console, asks = Output(), not yes and sys.stdin.isatty()
    _check_place(force)
    chosen_kind: target.Kind = kind or (_choice("What is to be judged", target.Kind, "header") if asks else "header")
    path = path or _path(chosen_kind, asks)
    if chosen_kind == "header" and namespace is None and asks:
        found = target.candidates(path)
        namespace = click.prompt("Namespace of its functions", default=found[0]) if found else None
    whose: files.Ci = ci or (_choice("Whose CI runs it", files.Ci, "github") if asks else "none")
    chosen = target.header(path, namespace, includes) if chosen_kind == "header" else target.other(chosen_kind, path, name)
    module, _, attribute = path.partition(":")
    skeleton = files.adapter(module, attribute) if chosen_kind == "python" and not _importable(module) else None
    configured = files.has_tox(Path())
    made = [files.settings(chosen)]
    made += [skeleton] if skeleton else []
    made += [] if configured else [files.tox(requirement)]
    made += [workflow] if (workflow := files.workflow(whose)) else []
    if baseline and Path(BASELINE).exists():
        raise UsageError(f"Nothing was written: there is {BASELINE} already, and its reasons would be lost.")
    if skeleton is None:
        _try(console, chosen)
    elif baseline:
        raise UsageError("--baseline needs a target that works; fill in the adapter first.")
    files.write(made, force=force)
    for file in made:
        console.print(Text.assemble(("wrote ", "dim"), str(file.path)))
    known = baseline and _known(console, chosen)
    _what_next(console, configured and files.environment(requirement), configured, skeleton, whose, known=known)


def _check_place(force: bool) -> None:
    """UsageError, before anything is asked, where settings are already."""
    here = find(Path()) if Path(PYPROJECT).is_file() and not Path(FOUND).exists() else None
    if here is not None:
        raise UsageError(f"The settings of this project are in {here.path}; change them there.")
    if Path(FOUND).exists() and not force:
        raise UsageError(f"Nothing was written: there is {FOUND} already; --force replaces what is named here.")


def _choice(question: str, words: object, default: str) -> Any:
    """One of the words of a type, as a person chooses it."""
    return click.prompt(question, type=click.Choice(get_args(words)), default=default)


def _path(kind: target.Kind, asks: bool) -> str:
    """The path of what is to be judged, as asked for, or the only one that it can be."""
    found = [str(file) for file in headers(Path())] if kind == "header" else [ADAPTER] if kind == "python" else []
    if asks:
        answer: str = click.prompt(f"Path: {target.PATHS[kind]}", default=found[0] if len(found) == 1 else None)
        return answer
    if len(found) == 1:
        return found[0]
    hint = f"; there are {', '.join(found[:5])}" if found else ""
    raise UsageError(f"Say with --path where it is: {target.PATHS[kind]}{hint}.")


def _importable(module: str) -> bool:
    file = Path(*module.split("."))
    return file.with_suffix(".py").exists() or (file / "__init__.py").exists()


def _try(console: Output, chosen: str) -> None:
    """Prove that the target can be judged. TargetError, with what to mend printed before."""
    console.print(Text.assemble(("trying ", "dim"), chosen))
    steps = []
    with Runner(jobs=1) as runner:
        for step in smoke(runner, lambda: options.prepared(chosen, console)):
            steps.append(step)
            report.step(console, step)
    if not usable(steps):
        raise TargetError("Nothing was written, since this target cannot be judged yet; mend what failed, and run it again.")
    console.print()


def _known(console: Output, chosen: str) -> bool:
    """Run all cases, and keep what is found as known; whether there was anything."""
    console.print()
    words = [sys.executable, "-m", "epctx", "check", "--write-baseline", BASELINE]
    code = subprocess.run(words, check=False).returncode
    console.print()
    if code == 0:
        Path(BASELINE).unlink()  # nothing is in it
        return False
    if code != 1:
        raise TargetError(f"The run ended with exit code {code}, so there is no baseline; `epctx check` says why.")
    files.write([files.settings(chosen, BASELINE)], force=True)
    console.print(Text.assemble(("wrote ", "dim"), f"{BASELINE}, and named it in {FOUND}"))
    return True


def _what_next(
    console: Output, environment: str, configured: str, skeleton: files.Made | None, ci: files.Ci, *, known: bool
) -> None:
    """Say what is left to do."""
    if configured:
        console.print(Text(f"\n{configured} was left as it is; add this environment to it (in the way of that file):\n"))
        console.print(Text(environment.rstrip("\n")), soft_wrap=True)
    console.print(Text("\nnext", style="bold"))
    if skeleton:
        console.print(Text(f"  fill in {skeleton.path}, until `epctx smoke` says that it can be judged"))
    if known:
        console.print(Text(f"  write a reason into each entry of {BASELINE}; until then it is refused"))
    console.print(Text("  tox -e epctx    judges the target by every case, as CI does; exit code 1 if it does not hold"))
    console.print(Text("  epctx replay CASE    shows one case again, with all that was seen"))
    if ci == "gitlab":
        console.print(Text("  add to .gitlab-ci.yml: include: [{local: .gitlab/epctx.yml}]"))
