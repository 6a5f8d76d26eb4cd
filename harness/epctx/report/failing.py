"""The findings of a run, in the order in which reports tell them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from epctx.case import Case
from epctx.oracle import Finding
from epctx.report.record import Header, Line, Run
from epctx.report.terminal import COMPANY, by_severity, case_rows, replay_command


class Broken(NamedTuple):
    """A rule that a case breaks, in one call of it or in more. ``known`` is the reason of a baseline, "" for what is new."""

    line: Line
    findings: Sequence[Finding]
    known: str

    @property
    def case(self) -> Case:
        """The case."""
        return self.line.case

    @property
    def first(self) -> Finding:
        """The finding that is shown in full."""
        return self.findings[0]

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Labels and texts, as the terminal report has them."""
        return case_rows(self.case, self.findings, self.known)

    def again(self, head: Header) -> str:
        """The command that shows it again, or why there is none."""
        return replay_command(self.case.id, head) if self.line.verdict.confirmed else COMPANY


def broken(run: Run, *, fails: bool = True) -> dict[str, list[Broken]]:
    """The rules that a run breaks, or, with ``fails`` false, its notes: the most severe first, each with its cases in order."""
    found: dict[str, list[Broken]] = {}
    for line in run.lines:
        of_rule: dict[str, list[Finding]] = {}
        for finding in line.verdict.findings:
            if finding.fails is fails:
                of_rule.setdefault(finding.rule, []).append(finding)
        for rule, findings in of_rule.items():
            found.setdefault(rule, []).append(Broken(line, findings, line.known.get(rule, "") if fails else ""))
    return {rule: found[rule] for rule in sorted(found, key=by_severity)}
