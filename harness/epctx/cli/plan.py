"""What is to be run of a target, before there is one, and how that is said at the head of a run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from epctx.case import Case
from epctx.cli import options, running
from epctx.oracle import Profile
from epctx.report.record import Header
from epctx.run.baseline import Baseline
from epctx.run.baseline_file import BaselineFile, read
from epctx.run.keeper import Conditions
from epctx.run.select import select, skip
from epctx.target import Launch


class Plan(NamedTuple):
    """The ``cases`` of a run, the reasons for those that are ``skipped``, by id, all that there are, and what is known."""

    cases: Sequence[Case]
    skipped: dict[str, str]
    every: Sequence[Case]
    files: tuple[Path, ...]
    baselines: Sequence[BaselineFile]

    def known(self, target: str, profile: Profile) -> Baseline:
        """What is known of a target; UsageError if one of the baselines is for something else."""
        for file in self.baselines:
            file.check_use(target, profile.name)
        return Baseline([entry for file in self.baselines for entry in file.entries], date.today())


def plan(files: Sequence[Path], only: Sequence[str], skips: Sequence[str], baselines: Sequence[Path]) -> Plan:
    """The listed cases, or those of ``files``, that ``only`` and ``skips`` leave, with the controls; UsageError, NothingRan."""
    listed = options.with_controls(options.read_cases(files)) if files else options.listed_cases()
    cases, skipped = select(listed, only, [skip(text) for text in skips], controls=True)
    every = list({c.id: c for c in (*(options.listed_cases() if baselines and files else ()), *listed)}.values())
    return Plan(cases, skipped, every, tuple(files), read(baselines, every))


def header(
    planned: Plan, launch: Launch, conditions: Conditions, profile: Profile, known: Baseline, *, unboxed: bool = False
) -> Header:
    """The head of a run that starts now."""
    head = running.header(launch.target, launch, conditions, profile, len(planned.cases), planned.skipped, unboxed=unboxed)
    baselines = tuple(file.path for file in planned.baselines)
    return replace(head, files=tuple(map(str, planned.files)), baselines=baselines, expired=known.expired)
