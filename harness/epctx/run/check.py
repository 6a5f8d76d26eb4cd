"""A whole check: controls first, then every case, each observed and judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from epctx.case import Case, Struct
from epctx.errors import TargetError
from epctx.observation import Observation
from epctx.oracle import Profile, Verdict, judge, profile
from epctx.run.keeper import Conditions
from epctx.run.runner import Runner
from epctx.target import Launch


class Judged(Struct, frozen=True):
    """A case that ran: its index among the cases of the check, what was seen, and what it means."""

    index: int
    case: Case
    observation: Observation
    verdict: Verdict


def judging(launch: Launch, conditions: Conditions, name: str | None = None, policies: tuple[str, ...] = ()) -> Profile:
    """The profile by which a target is judged that runs under these conditions: the one that goes with it, unless named."""
    loader = launch.loader.name if launch.loader else None
    found = profile(name, policies, launch.platform, conditions.ort, launch.chunking, loader=loader, met=conditions.met)
    if launch.loader and launch.loader.models == "product":  # a provider says by its description what none of the profiles knows
        found = replace(found, from_memory=launch.loader.from_memory)
    return found


def check(
    runner: Runner,
    launch: Launch,
    cases: Sequence[Case],
    profile: Profile,
    *,
    until: Callable[[Verdict], bool] | None = None,
    controls: bool = True,
    confirm: bool = True,
) -> Iterator[Judged]:
    """Run ``cases`` on a target and judge them, the controls among them first; results come as they are ready.

    A case that fails runs once more, alone in a new driver, before it is reported: what fails there, too, is pinned on its case.
    What does not is reported as seen only in company, since what ran before it may be the cause; a hang alone that does not come
    again was a slow machine. What several threads did, what came of a race, or what a sanitizer reported is a matter of luck, and
    stands as it is.

    TargetError if the target does not accept a control: everything else that it refuses would then prove nothing. The run ends at
    the first case that fails and whose verdict ``until`` is true of; without ``controls`` they are cases like any other; without
    ``confirm`` no case runs a second time.
    """
    first = [i for i, case in enumerate(cases) if controls and case.intent == "control"]
    others = [i for i, case in enumerate(cases) if not controls or case.intent != "control"]
    for part in (first, others):
        for judged in _judged(runner, launch, [(i, cases[i]) for i in part], profile, until, confirm):
            if part is first:
                _usable(judged)
            yield judged
            if until and judged.verdict.fails and until(judged.verdict):
                return


def _judged(
    runner: Runner,
    launch: Launch,
    cases: Sequence[tuple[int, Case]],
    profile: Profile,
    until: Callable[[Verdict], bool] | None,
    confirm: bool,
) -> Iterator[Judged]:
    """Run and judge cases, those that fail once more and last. What may end the run is confirmed at once, and if it does not hold
    the run goes on with what is left."""
    left = dict(cases)
    while left:
        failing: list[Judged] = []
        indexes = list(left)
        run = runner.run(launch, list(left.values()))
        for position, observation in run:
            index = indexes[position]
            case = left.pop(index)
            judged = Judged(index, case, observation, judge(case, observation, profile))
            if not (judged.verdict.fails and confirm):
                yield judged
                continue
            failing.append(judged)
            if until and until(judged.verdict):
                run.close()
                break
        if failing:
            yield from _confirmed(runner, launch, failing, profile)


def _confirmed(runner: Runner, launch: Launch, failing: Sequence[Judged], profile: Profile) -> Iterator[Judged]:
    """Run cases that failed once more, each alone, and say what that makes of them."""
    for position, observation in runner.run(launch, [j.case for j in failing], alone=True):
        before = failing[position]
        verdict = judge(before.case, observation, profile)
        if verdict.fails or before.verdict.result == "hang":
            yield Judged(before.index, before.case, observation, verdict)
        elif by_luck(before):
            yield before
        else:
            yield Judged(before.index, before.case, before.observation, replace(before.verdict, confirmed=False))


def by_luck(judged: Judged) -> bool:
    """Whether what was seen is proof enough, although it need not come again."""
    return any(call.threads or call.race for call in judged.case.calls) or any(seen.reports for seen in judged.observation.calls)


def _usable(control: Judged) -> None:
    """TargetError unless the control was accepted; whatever else is wrong with it is a finding like any other."""
    verdict = control.verdict
    if verdict.result == "error":
        raise TargetError(f"The target is not usable: the control {control.case.id} could not be run: {verdict.reason}")
    if set(verdict.outcomes) <= {"accepted"}:
        return
    evidence = verdict.findings[0].happened if verdict.findings else ", ".join(verdict.outcomes)
    raise TargetError(
        f"The target is not usable: it fails the control {control.case.id} ({control.case.summary.rstrip('.')}): {evidence}. "
        "A target that does not take good models cannot be judged by what else it refuses."
    )
