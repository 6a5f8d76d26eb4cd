"""The rules config.*: each is broken by what breaks it, and by nothing else."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.oracle.test_rules import broken, case

from epctx.case import Call, Step
from epctx.observation import Memory, Seen, StepSeen

SET, TAKE, GET = Step("set-read"), Step("take"), Step("get-read")
OK, TAKEN, GIVEN = StepSeen(), StepSeen(config="set"), StepSeen(function=0, state=0)
UNSET = StepSeen(function="null", state="null")
NO = StepSeen(2, "no")


def judged(steps: tuple[Step, ...], *seen: StepSeen, memory: Memory | None = None) -> set[str]:
    return broken(case(Call("config", steps=steps)), Seen("returned", steps=seen, memory=memory or Memory()))


@pytest.mark.parametrize(
    ("rule", "steps", "good", "bad"),
    [
        ("config.null-arguments", (Step("set-read", options=None),), (NO,), (OK,)),
        ("config.null-arguments", (Step("set-read", options=None),), (NO,), (StepSeen(1, "no"),)),
        (
            "config.null-arguments",
            (Step("take", options=None),),
            (replace(NO, config="untouched"),),
            (replace(NO, config="null"),),
        ),
        ("config.unset-is-null", (TAKE, GET), (TAKEN, UNSET), (TAKEN, StepSeen(function="null", state="untouched"))),
        ("config.unset-is-null", (TAKE, GET), (TAKEN, UNSET), (TAKEN, StepSeen(function="other", state="null"))),
        ("config.null-clears", (Step("set-read", function=None), TAKE, GET), (OK, TAKEN, UNSET), (OK, TAKEN, GIVEN)),
        ("config.snapshot", (SET, TAKE, GET), (OK, TAKEN, GIVEN), (OK, TAKEN, StepSeen(function=0, state=1))),
        ("config.snapshot", (SET, TAKE, GET), (OK, TAKEN, GIVEN), (OK, TAKEN, StepSeen(9, "not implemented"))),
        ("config.release-null", (SET, Step("cycle")), (OK, StepSeen(grown=512)), (OK, StepSeen(grown=8192))),
        ("config.does-not-own-state", (SET,), (OK,), (StepSeen(states_kept=False),)),
        ("config.does-not-own-state", (SET,), (OK,), (StepSeen(2, "no"),)),
    ],
)
def test_a_rule_is_broken_by_the_steps_that_it_decides(
    rule: str, steps: tuple[Step, ...], good: tuple[StepSeen, ...], bad: tuple[StepSeen, ...]
) -> None:
    assert judged(steps, *good) == set()
    assert judged(steps, *bad) == {rule}


def test_what_is_left_of_a_config_is_a_leak() -> None:
    steps = (SET, TAKE, Step("release-config"))
    assert judged(steps, OK, TAKEN, OK) == set()
    left = Memory(allocated=1, live=32)
    assert judged(steps, OK, TAKEN, OK, memory=left) == {"config.release-null", "own.no-leak"}


def test_a_crash_breaks_the_rule_that_decides() -> None:
    tested = case(Call("config", steps=(Step("release-config", config=None),)))
    assert broken(tested, Seen("crash", detail="signal 6")) == {"config.release-null", "safe.no-crash"}
