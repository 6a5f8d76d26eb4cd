"""The self-test: the suite proves its own power on targets whose faults are known.

A suite that finds nothing says nothing unless it is known what it would have found. Each weak target names the rules that it must
break (``breaks``) and those that may break with them (``follows``); the matrix says whether that is what happens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from epctx.case import Case, Sanitizer, Struct
from epctx.oracle import RULES
from epctx.run.check import Judged, check, judging
from epctx.run.runner import Runner
from epctx.run.select import matcher
from epctx.target import Weakness, prepare

POLICIES = ("contain.hard-link=accept", "contain.model-link-cache=refuse")
"""The stances under which the reference helper holds, so that a weak target can break the rules of tier policy, too."""


GOOD = ("reference", "reference?platform=windows", "reference?chunking=ordered")
"""The targets that must hold, and, where execution providers or loaders of external data are tested, the bundled one."""


class Row(Struct, frozen=True):
    """What the suite found on one weak target: the failing cases by rule."""

    weakness: Weakness
    broken: dict[str, tuple[str, ...]]

    @property
    def missed(self) -> tuple[str, ...]:
        """Rules that the target must break and that no case saw broken."""
        return tuple(r for r in self.weakness.breaks if r not in self.broken)

    @property
    def stray(self) -> tuple[str, ...]:
        """Rules of tier spec that broke although neither they nor a rule they follow from is the target's fault."""
        known = {*self.weakness.breaks, *self.weakness.follows}
        return tuple(r for r in self.broken if r not in known and RULES[r].tier == "spec")


class Matrix(Struct, frozen=True):
    """Weak targets against rules, and what does not add up."""

    rows: tuple[Row, ...]
    alarms: tuple[str, ...]
    """Findings on a target that must hold, as ``case: rule``."""
    untested: tuple[str, ...]
    """Rules that no case aims at."""
    unbroken: tuple[str, ...]
    """Rules that no weak target breaks."""
    powerless: tuple[str, ...]
    """Cases that no weak target fails: they prove nothing, which is a fault of the attack."""

    @property
    def proven(self) -> bool:
        """Whether the suite does what it claims."""
        faults = (self.alarms, self.untested, self.unbroken, self.powerless)
        return not any(faults) and not any(row.missed or row.stray for row in self.rows)


def selftest(
    runner: Runner,
    cases: Sequence[Case],
    weak: Sequence[Weakness],
    *,
    repeats: int = 1,
    progress: Callable[[str], None] = lambda name: None,
) -> Matrix:
    """Run every case on each target that must hold ``repeats`` times, and on every weak target; ``progress`` is told each target.

    Heavy cases run only on weak targets that must break a rule that they aim at. Where a fault is seen only under a sanitizer,
    the cases that aim at the rules it breaks run under that, too, and so do they on the reference helper.
    """
    alarms: list[str] = []
    bundled = [f"{of}:bundled" for of in ("ep", "loader") if any(w.of == of for w in weak)]
    for target in (*GOOD, *bundled):
        for _ in range(repeats):
            progress(target)
            for judged in _judged(runner, target, cases):
                alarms += [f"{judged.case.id}: {f.rule}" for f in judged.verdict.findings if f.fails]
                alarms += [f"{judged.case.id}: {judged.verdict.reason}"] if judged.verdict.result == "error" else []
    for sanitizer in dict.fromkeys(w.sanitizer for w in weak if w.sanitizer):
        progress(f"reference ({sanitizer} sanitizer)")
        aimed = {rule for w in weak if w.sanitizer == sanitizer for rule in w.breaks}
        for judged in _judged(runner, "reference", [c for c in cases if aimed.intersection(c.rules)], sanitizer=sanitizer):
            alarms += [f"{judged.case.id} under the {sanitizer} sanitizer: {f.rule}" for f in judged.verdict.findings if f.fails]
    rows: list[Row] = []
    failed: set[str] = set()
    for weakness in weak:
        progress(weakness.target)
        chosen = [c for c in cases if _meets(weakness, c) and (not c.heavy or set(c.rules) & set(weakness.breaks))]
        found = _judged(runner, weakness.target, chosen, confirm=False)
        if weakness.sanitizer:
            aiming = [c for c in chosen if set(c.rules) & set(weakness.breaks)]
            found += _judged(runner, weakness.target, aiming, confirm=False, sanitizer=weakness.sanitizer)
        row = Row(weakness, _broken(found))
        strays = {id for rule in row.stray for id in row.broken[rule]}
        if strays:  # only what comes again alone is one: a busy machine makes hangs
            again = _broken(_judged(runner, weakness.target, [c for c in cases if c.id in strays]))
            row = Row(weakness, {rule: ids for rule, ids in row.broken.items() if rule not in row.stray or rule in again})
        failed.update(id for ids in row.broken.values() for id in ids)
        rows.append(row)
    for weakness in weak:  # what is left to luck, as a race is, has a second chance with the faults that it aims at
        chosen = [c for c in cases if c.id not in failed and _meets(weakness, c) and set(c.rules) & set(weakness.breaks)]
        if chosen and not weakness.sanitizer:
            again = _broken(_judged(runner, weakness.target, chosen, confirm=False))
            failed.update(id for ids in again.values() for id in ids)
    aimed = {rule for case in cases for rule in case.rules}
    broken_rules = {rule for row in rows for rule in row.broken if rule in row.weakness.breaks}
    return Matrix(
        tuple(rows),
        tuple(alarms),
        untested=tuple(r for r in RULES if r not in aimed),
        unbroken=tuple(r.id for r in RULES.values() if r.id not in broken_rules and not r.informational),
        powerless=tuple(c.id for c in cases if c.id not in failed),
    )


def _meets(weakness: Weakness, case: Case) -> bool:
    return not weakness.cases or any(matcher(glob).match(case.id) for glob in weakness.cases)


def _judged(
    runner: Runner, target: str, cases: Sequence[Case], *, confirm: bool = True, sanitizer: Sanitizer | None = None
) -> list[Judged]:
    launch = prepare(target, sanitizer)
    profile = judging(launch, runner.conditions(launch), "hardened", POLICIES)
    return sorted(check(runner, launch, cases, profile, controls=False, confirm=confirm), key=lambda j: j.index)


def _broken(judged: Sequence[Judged]) -> dict[str, tuple[str, ...]]:
    """The ids of the cases that saw each rule broken, rules in order."""
    broken: dict[str, dict[str, None]] = {}
    for one in judged:
        for finding in one.verdict.findings:
            if finding.fails:
                broken.setdefault(finding.rule, {})[one.case.id] = None
    return {rule: tuple(ids) for rule, ids in sorted(broken.items())}
