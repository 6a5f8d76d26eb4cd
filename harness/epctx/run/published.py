"""Published faults looked for where they were, and where they are gone: the suite's claims held against releases of others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec.structs import replace

from epctx.case import Case, Struct
from epctx.errors import TargetError, UsageError
from epctx.faults import Fault, Faults
from epctx.oracle import RULES, profile
from epctx.run.check import Judged, check, judging
from epctx.run.runner import Runner
from epctx.run.select import matcher, select
from epctx.target import kinds, parse, prepare

Wanted: TypeAlias = Literal["found", "silent"]
Outcome: TypeAlias = Literal["right", "wrong", "skipped", "unusable"]


class Cell(Struct, frozen=True):
    """What a fault's cases found on one release, beside what they must find there.

    ``broken`` are the failing cases by rule. Where the fault must be found, ``missed`` are its rules that no case saw broken, and
    ``blind`` its cases that saw none of them broken. A cell that says nothing is ``skipped`` where this machine cannot show it,
    and ``unusable`` where the release did not take good models.
    """

    environment: str
    wanted: Wanted
    outcome: Outcome
    ran: int = 0
    broken: dict[str, tuple[str, ...]] = {}
    missed: tuple[str, ...] = ()
    blind: tuple[str, ...] = ()
    reason: str = ""
    """Why it is skipped or unusable."""
    target: str = ""
    """The target as it was run, by which a finding can be seen again."""
    notes: tuple[str, ...] = ()
    """What this machine can show of the target, and what it cannot."""
    seconds: float = 0

    @property
    def failing(self) -> int:
        """How many cases failed."""
        return len({id for ids in self.broken.values() for id in ids})


class Row(Struct, frozen=True):
    """A fault with its two cells."""

    fault: Fault
    vulnerable: Cell
    fixed: Cell

    @property
    def cells(self) -> tuple[Cell, Cell]:
        """The cells, the vulnerable release first."""
        return self.vulnerable, self.fixed


def chosen(faults: Faults, globs: Sequence[str]) -> list[Fault]:
    """The faults whose id matches one of ``globs``, all if there is none. UsageError for a glob that matches none."""
    for glob in globs:
        if not any(matcher(glob).match(fault.id) for fault in faults.faults):
            known = ", ".join(fault.id for fault in faults.faults)
            raise UsageError(f"{glob!r} matches no published fault; there are {known or 'none'}.")
    patterns = [matcher(glob) for glob in globs or ("*",)]
    return [fault for fault in faults.faults if any(pattern.match(fault.id) for pattern in patterns)]


def settle(faults: Sequence[Fault], cases: Sequence[Case]) -> None:
    """UsageError unless every fault names a target, rules, cases, a profile and policies that there are, before anything is
    installed."""
    known = kinds()
    for fault in faults:
        if parse(fault.target).kind not in known:
            raise UsageError(f"The fault {fault.id} has the target {fault.target!r}; the kinds are {', '.join(known)}.")
        unknown = [rule for rule in fault.rules if rule not in RULES]
        if unknown:
            raise UsageError(f"The fault {fault.id} breaks the rule {unknown[0]!r}, which is none (see `epctx list rules`).")
        for glob in fault.cases:
            if not any(matcher(glob).match(case.id) for case in cases):
                raise UsageError(f"The fault {fault.id} names the cases {glob!r}, which match none (see `epctx list cases`).")
        try:
            profile(fault.profile, fault.policies)
        except UsageError as error:
            raise UsageError(f"The fault {fault.id}: {error}") from None


def published(
    runner: Runner,
    faults: Sequence[Fault],
    pythons: Mapping[str, str],
    missing: Mapping[str, str],
    cases: Sequence[Case],
    progress: Callable[[str], None] = lambda words: None,
) -> Iterator[Row]:
    """Look for each fault in its two releases.

    ``pythons`` are the interpreters of the environments by name, ``missing`` the reasons why others cannot be had here.
    ``progress`` is told what is looked at.
    """

    def cell(fault: Fault, name: str, wanted: Wanted) -> Cell:
        if name in missing:
            return Cell(name, wanted, "skipped", reason=missing[name])
        progress(f"{fault.id}: {name}")
        return _looked(runner, fault, name, pythons[name], wanted, cases)

    for fault in faults:
        yield Row(fault, cell(fault, fault.vulnerable, "found"), cell(fault, fault.fixed, "silent"))


def _looked(runner: Runner, fault: Fault, name: str, python: str, wanted: Wanted, cases: Sequence[Case]) -> Cell:
    """What a fault's cases come to on one release, after the controls."""
    start = time.monotonic()
    target = f"{fault.target}{'&' if '?' in fault.target else '?'}python={python}"
    selected, _ = select(cases, fault.cases, controls=True)
    asked = [matcher(glob) for glob in fault.cases]
    notes: tuple[str, ...] = ()
    try:
        launch = prepare(target)
        notes = launch.notes
        own = judging(launch, runner.conditions(launch), fault.profile, fault.policies)
        # What is found where it must be needs no second run; what is found where nothing must be does.
        done = sorted(check(runner, launch, selected, own, confirm=wanted == "silent"), key=lambda j: j.index)
        cell = _cell(fault, name, wanted, [j for j in done if any(pattern.match(j.case.id) for pattern in asked)])
    except TargetError as error:
        cell = Cell(name, wanted, "unusable", reason=str(error))
    return replace(cell, target=target, notes=notes, seconds=round(time.monotonic() - start, 3))


def _cell(fault: Fault, name: str, wanted: Wanted, seen: Sequence[Judged]) -> Cell:
    """What was seen, held against what is wanted."""
    broken: dict[str, dict[str, None]] = {}
    for judged in seen:
        for finding in judged.verdict.findings:
            if finding.fails:
                broken.setdefault(finding.rule, {})[judged.case.id] = None
    idle = [judged.verdict for judged in seen if judged.verdict.result in ("skip", "error")]
    missed: tuple[str, ...] = ()
    blind: tuple[str, ...] = ()
    if wanted == "found":
        missed = tuple(rule for rule in fault.rules if rule not in broken)
        finders = {id for rule in fault.rules for id in broken.get(rule, ())}
        blind = tuple(j.case.id for j in seen if j.case.id not in finders and j.verdict not in idle)
    wrong = blind or (not idle and missed) if wanted == "found" else broken
    outcome: Outcome = "wrong" if wrong else "right"
    if idle and not wrong:  # a case that did not run makes no cell right
        outcome = "unusable" if any(verdict.result == "error" for verdict in idle) else "skipped"
    return Cell(
        name,
        wanted,
        outcome,
        ran=len(seen) - len(idle),
        broken={rule: tuple(ids) for rule, ids in sorted(broken.items())},
        missed=missed,
        blind=blind,
        reason=f"{idle[0].case}: {idle[0].reason}" if idle and outcome in ("skipped", "unusable") else "",
    )
