"""What a run of pytest asks of epctx: its options, over those of a settings file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from epctx.cli.plan import Plan, plan
from epctx.errors import UsageError
from epctx.run.settings import Settings, SettingsFile, find, read, several


class Asked(NamedTuple):
    """What is asked for. ``target`` is "" if nothing names one, ``file`` the path of the settings file, if any."""

    target: str
    profile: str | None
    baselines: tuple[str, ...]
    settings: Settings
    file: str

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies, as the command line takes them."""
        return tuple(f"{rule}={stance}" for rule, stance in (self.settings.policy or {}).items())

    def plan(self) -> Plan:
        """The cases to run. UsageError, NothingRan."""
        said = self.settings
        skips = [f"{glob}: {reason}" for glob, reason in (said.skip or {}).items()]
        return plan(list(map(Path, several(said.cases))), several(said.only), skips, list(map(Path, self.baselines)))


def asked(config: pytest.Config) -> Asked:
    """What the options say, and for the rest the settings: those named with --epctx, else those in the root directory."""
    given: str = config.getoption("epctx") or ""
    named = given.endswith(".toml") and ":" not in given
    file = read(Path(given)) if named else _found(config)
    settings = file.settings if file else Settings()
    if named and not settings.target:
        raise UsageError(f"{given} names no target; write target = 'KIND:WHAT' into it.")
    return Asked(
        settings.target or "" if named or not given else given,
        config.getoption("epctx_profile") or settings.profile,
        tuple(config.getoption("epctx_baseline")) or tuple(several(settings.baseline)),
        settings,
        file.path if file else "",
    )


def _found(config: pytest.Config) -> SettingsFile | None:
    """The settings of the root directory, their paths as the working directory has them."""
    root, here = config.rootpath, Path.cwd()
    return find(Path() if root == here else Path(os.path.relpath(root, here)))
