"""A whole check: controls first, then every case, each observed and judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from epctx.case import Case, Struct
from epctx.errors import TargetError
from epctx.observation import Observation
from epctx.oracle import Profile, Verdict, judge
from epctx.run.runner import Runner
from epctx.target import Launch


class Judged(Struct, frozen=True):
    """A case that ran: its index among the cases of the check, what was seen, and what it means."""

    index: int
    case: Case
    observation: Observation
    verdict: Verdict


def check(
    runner: Runner, launch: Launch, cases: Sequence[Case], profile: Profile, *, fail_fast: bool = False, controls: bool = True
) -> Iterator[Judged]:
    """Run ``cases`` on a target and judge them, the controls among them first; results come as they are ready.

    TargetError if the target does not accept a control: everything else that it refuses would then prove nothing. With
    ``fail_fast`` the run ends at the first case that fails; without ``controls`` they are cases like any other.
    """
    first = [i for i, case in enumerate(cases) if controls and case.intent == "control"]
    others = [i for i, case in enumerate(cases) if not controls or case.intent != "control"]
    for part in (first, others):
        run = runner.run(launch, [cases[i] for i in part])
        for position, observation in run:
            index = part[position]
            judged = Judged(index, cases[index], observation, judge(cases[index], observation, profile))
            if part is first:
                _usable(judged)
            yield judged
            if fail_fast and judged.verdict.fails:
                run.close()
                return


def _usable(control: Judged) -> None:
    """TargetError unless the control was accepted."""
    verdict = control.verdict
    if verdict.result in ("skip", "pass", "note") and set(verdict.outcomes) <= {"accepted"}:
        return
    if verdict.result == "error":
        raise TargetError(f"The target is not usable: the control {control.case.id} could not be run: {verdict.reason}")
    evidence = verdict.findings[0].happened if verdict.findings else ", ".join(verdict.outcomes)
    raise TargetError(
        f"The target is not usable: it fails the control {control.case.id} ({control.case.summary.rstrip('.')}): {evidence}. "
        "A target that refuses good models cannot be judged by what else it refuses."
    )
