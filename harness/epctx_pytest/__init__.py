"""epctx in pytest: ``pytest --epctx TARGET`` has each case as an item; ``epctx_target`` and ``epctx_run`` are fixtures for
tests of one's own (docs/pytest.md).

This is what every run of pytest imports where epctx is installed, so it imports nothing but pytest until it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

if TYPE_CHECKING:
    from epctx.case import Case
    from epctx.run.check import Judged

Run: TypeAlias = "Callable[[Case | Path | str], Judged]"
"""What ``epctx_run`` is: it runs a case, or the one in a file, or the listed one of that id."""


class Broken(pytest.fail.Exception):  # type: ignore[misc,name-defined]  # no other name of it is public
    """A case broke a rule that is not known to break. Its text is the report; ``judged`` is what was seen and what it means."""

    def __init__(self, text: str, judged: Judged) -> None:
        super().__init__(text, pytrace=False)
        self.judged = judged


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("epctx", "epctx: hostile models for an EPContext loader")
    group.addoption(
        "--epctx",
        metavar="TARGET",
        help="Collect each case of epctx as a test of this target, such as header:my.h, or of the one that a settings file "
        "names, such as epctx.toml.",
    )
    group.addoption("--epctx-profile", metavar="PROFILE", help="Which rules must hold; see `epctx list profiles`.")
    group.addoption(
        "--epctx-baseline",
        action="append",
        default=[],
        metavar="FILE",
        help="Findings that this file names are known, and xfail.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Load the rest where it is wanted."""
    if config.getoption("epctx"):
        from epctx_pytest.plugin import Plugin

        config.pluginmanager.register(Plugin(config), "epctx-cases")


@pytest.fixture(scope="session")
def epctx_target(request: pytest.FixtureRequest) -> object:
    """The target of ``epctx_run``: that of --epctx or of the settings. Override it with a target's name, or a Python object."""
    from epctx_pytest.own import target_of

    return target_of(request.config)


@pytest.fixture
def epctx_run(request: pytest.FixtureRequest, epctx_target: object) -> Run:
    """A function that runs a case on the target, which must not break a rule: else the test fails with the report of that.

    It gives what was seen and what it means, and takes a case, the id of a listed one, or the path of a file with one.
    """
    from epctx_pytest.own import runner_of

    return runner_of(request.config, epctx_target)
