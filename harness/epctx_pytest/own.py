"""Targets and cases in tests of one's own: what is behind the fixtures."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import pytest

from epctx.case import Case
from epctx.cli import options
from epctx.errors import EpctxError
from epctx.run.check import Judged
from epctx_pytest import Run
from epctx_pytest.asked import asked
from epctx_pytest.checker import Checker
from epctx_pytest.outcome import settle

CHECKERS: pytest.StashKey[dict[str, Checker | EpctxError]] = pytest.StashKey()
"""The targets that tests have asked for, by name; an error for one that is not usable."""


def target_of(config: pytest.Config) -> str:
    """The target that options or settings name; the test fails where they name none."""
    try:
        target = asked(config).target
    except EpctxError as error:
        raise pytest.fail.Exception(f"epctx: {error}", pytrace=False) from None
    if not target:
        pytest.fail(
            "epctx_run has no target: override the fixture epctx_target, give --epctx, or write epctx.toml", pytrace=False
        )
    return target


def runner_of(config: pytest.Config, target: object) -> Run:
    """What the fixture ``epctx_run`` is, for a target by name or an object in Python."""
    name = target if isinstance(target, str) else _named(target)

    def run(case: Case | Path | str) -> Judged:
        try:
            checker = _checker(config, name)
            judged = checker.judge(case if isinstance(case, Case) else options.find_case(str(case)))
        except EpctxError as error:
            raise pytest.fail.Exception(f"epctx: {error}", pytrace=False) from None
        settle(checker, judged)
        return judged

    return run


def _checker(config: pytest.Config, target: str) -> Checker:
    """The target, made ready once for all tests, after it has taken the controls."""
    known = config.stash.setdefault(CHECKERS, {})
    if target not in known:
        try:
            checker = Checker(target, asked(config))
            config.add_cleanup(checker.close)
            checker.controls(options.listed_cases())
            known[target] = checker
        except EpctxError as error:
            known[target] = error
    found = known[target]
    if isinstance(found, EpctxError):
        raise found
    return found


def _named(target: object) -> str:
    """An object of a module, as the name of a target: it is imported anew in the box, where the tests are not."""
    named = target if inspect.isclass(target) or inspect.isroutine(target) else type(target)
    module = sys.modules[named.__module__]
    name = next((key for key, value in vars(module).items() if value is target), "")
    file = getattr(module, "__file__", None)
    if not name or not file:
        pytest.fail(
            f"epctx_target {target!r} has no name in {module.__name__}; give it one, as it is imported anew in the box",
            pytrace=False,
        )
    parts = module.__name__.split(".")
    directory = Path(file).parents[len(parts) - (Path(file).name != "__init__.py")]
    return f"python:{module.__name__}:{name}?path={directory}"
