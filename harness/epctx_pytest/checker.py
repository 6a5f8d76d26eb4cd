"""A target that is ready, and judges one case after the other as ``epctx check`` does."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import date

from msgspec.structs import replace
from rich.console import Console

from epctx.case import Case
from epctx.cli.plan import Plan, header
from epctx.oracle import Profile
from epctx.report import terminal
from epctx.report.console import UNBOUNDED
from epctx.report.record import Header
from epctx.run.baseline import Baseline
from epctx.run.check import Judged, check, judging
from epctx.run.runner import Runner
from epctx.target import prepare
from epctx_pytest.asked import Asked


class Checker:
    """A target made ready, with a worker of its own until it is closed."""

    def __init__(self, target: str, asked: Asked, planned: Plan | None = None) -> None:
        """Without a plan nothing is known of the target. UsageError, TargetError."""
        said = asked.settings
        self.launch = replace(prepare(target, said.sanitize), granted=said.patience or 0.0)
        self._runner = Runner(jobs=1)
        self._runner.__enter__()
        try:
            conditions = self._runner.conditions(self.launch)
            self.profile: Profile = judging(self.launch, conditions, asked.profile, asked.policies)
            self.known = planned.known(target, self.profile) if planned else Baseline((), date.today())
            planned = planned or Plan((), {}, (), (), ())
            self.header: Header = replace(header(planned, self.launch, conditions, self.profile, self.known), settings=asked.file)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the worker."""
        self._runner.__exit__()

    def controls(self, cases: Sequence[Case]) -> None:
        """TargetError if one of the controls among the cases is not accepted: nothing else could then be judged."""
        for _ in check(self._runner, self.launch, [case for case in cases if case.intent == "control"], self.profile):
            pass

    def judge(self, case: Case) -> Judged:
        """Run a case, once more and alone if it fails."""
        return next(check(self._runner, self.launch, [case], self.profile, controls=False))

    def report(self, judged: Judged) -> str:
        """What the report in a terminal says of a case that fails."""
        text = io.StringIO()
        known = {judged.case.id: self.known.known(judged.verdict)}
        console = Console(file=text, width=UNBOUNDED, color_system=None, highlight=False)
        terminal.findings(console, [(judged.case, judged.verdict)], replace(self.header, skipped={}), known)
        return "\n".join(map(str.rstrip, text.getvalue().strip("\n").splitlines()))
