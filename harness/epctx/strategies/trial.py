"""What judges the cases of a property test: a target in a worker, and all rules."""

from __future__ import annotations

import functools

import msgspec
from hypothesis.control import current_build_context, currently_in_test_context

from epctx.case import Case
from epctx.case_file import dumps
from epctx.errors import HarnessError
from epctx.fuzz.fingerprint import signs
from epctx.fuzz.look import look, unpacked
from epctx.fuzz.store import Setting
from epctx.fuzz.work import Order
from epctx.observation import Observation
from epctx.oracle import RULES, Profile, Verdict, judge
from epctx.run.check import judging
from epctx.run.runner import Runner
from epctx.target import Launch, prepare


class Broken(AssertionError):
    """A case broke rules: the case as far as it was shrunk, and the verdict on it."""

    def __init__(self, target: str, case: Case, verdict: Verdict) -> None:
        self.case, self.verdict = case, verdict
        super().__init__(_told(target, case, verdict))


KEPT = 10_000
"""So many cases are remembered: one that is tried again, as Hypothesis does, has to come out as it did before."""


class Trial:
    """A target that cases are tried on, and judged by the rules of the profile that goes with it unless one is named.

    Cases run one after the other in a process that stays, up to a thousand a second; what fails runs once more, alone in a new
    one, and counts if it fails there. The workers start when they are first needed, are the same for all trials, and end with
    the program.
    """

    def __init__(self, target: str = "reference", profile: str | None = None, policies: tuple[str, ...] = ()) -> None:
        self.target, self._named, self._policies = target, profile, policies
        self._verdict = functools.lru_cache(KEPT)(self._tried)

    def hold(self, case: Case) -> None:
        """Run a case; ``Broken`` if the target breaks a rule in it.

        UsageError or TargetError for a target that cannot be used, HarnessError if the case could not be run. What this target
        or this machine cannot run is passed over.
        """
        verdict, observation = self._verdict(case)
        if verdict.result == "error":
            raise HarnessError(f"A case could not be run: {verdict.reason}; the case is {dumps(case)}")
        if verdict.fails:
            # what people see is as small as can be, unless it says by itself what is expected, which holds for no other
            if not case.expect and currently_in_test_context() and current_build_context().is_final:
                case, verdict = self._smallest(case, verdict, observation)
            raise Broken(self.target, case, verdict)

    def _tried(self, case: Case) -> tuple[Verdict, Observation]:
        for alone in (False, True):
            _, observation = next(_runner(alone).run(self._launch, [case], alone=alone))
            verdict = judge(case, observation, self._profile)
            if not verdict.fails:
                break
        return verdict, observation

    def _smallest(self, case: Case, verdict: Verdict, observation: Observation) -> tuple[Case, Verdict]:
        """The smallest case that breaks the first rule in the same way, without what Hypothesis has no choice about."""
        order = Order(self._launch, self._profile, Setting(self.target, seed=0))
        first = next(iter(signs(case, observation, verdict, self._profile)))
        pack = msgspec.msgpack.encode
        for looked in unpacked(_runner(alone=True).call(look, pack(order), pack(case), pack(observation), (first,))):
            if looked.confirmed:
                return looked.case, judge(looked.case, looked.observation, self._profile)
        return case, verdict

    @functools.cached_property
    def _launch(self) -> Launch:
        return prepare(self.target)

    @functools.cached_property
    def _profile(self) -> Profile:
        return judging(self._launch, _runner(alone=False).conditions(self._launch), self._named, self._policies)


@functools.cache
def _runner(alone: bool) -> Runner:
    """A worker for cases in company, or for those that run alone: the drivers of the one outlive those of the other.

    It ends when this process does, as all workers of a pool do.
    """
    return Runner(jobs=1).__enter__()


def _told(target: str, case: Case, verdict: Verdict) -> str:
    lines = [f"{target} breaks rules"]
    for finding in verdict.findings:
        if finding.fails:
            lines += [f"{finding.severity}  {finding.rule}", f"  {' '.join(RULES[finding.rule].statement.split())}"]
            rows = (("expected", finding.expected), ("happened", finding.happened), ("file", finding.file))
            lines += [f"  {label:8} {text}" for label, text in rows if text]
    lines += [f"case: {dumps(case)}", f"again: epctx replay case.json {target}, with that line as case.json"]
    return "\n".join(lines)
