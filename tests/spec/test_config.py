"""The model of the functions for configs: what each step has to come to, and which steps must not be made."""

from __future__ import annotations

import pytest

from epctx.case import Call, Case, Step, World
from epctx.errors import CaseError
from epctx.spec import predict
from epctx.spec.config import StepExpect, step_expectations

SET, CLEAR, TAKE, GET = Step("set-read"), Step("set-read", function=None, state=2), Step("take"), Step("get-read")
NULL = ("null", "null")


def last(*steps: Step) -> StepExpect:
    return step_expectations(steps)[-1]


@pytest.mark.parametrize(
    ("steps", "rule", "given"),
    [
        ((TAKE, GET), "config.unset-is-null", NULL),
        ((SET, TAKE, Step("get-write")), "config.unset-is-null", NULL),
        ((TAKE, SET, GET), "config.unset-is-null", NULL),
        ((SET, TAKE, GET), "config.snapshot", (0, 0)),
        ((SET, Step("set-read", function=1, state=None), TAKE, GET), "config.snapshot", (1, "null")),
        ((SET, TAKE, CLEAR, Step("release-options"), GET), "config.snapshot", (0, 0)),
        ((SET, Step("set-read", options=1, function=1, state=3), TAKE, GET), "config.snapshot", (0, 0)),
        ((SET, CLEAR, TAKE, GET), "config.null-clears", NULL),
        ((CLEAR, TAKE, GET), "config.null-clears", NULL),
        ((CLEAR, SET, TAKE, GET), "config.snapshot", (0, 0)),
    ],
)
def test_a_getter_gives_what_was_registered_when_the_config_was_taken(
    steps: tuple[Step, ...], rule: str, given: tuple[object, object]
) -> None:
    expected = last(*steps)
    assert (expected.code, expected.rule, (expected.function, expected.state)) == (0, rule, given)


@pytest.mark.parametrize(
    ("steps", "config"),
    [
        ((Step("set-read", options=None),), None),
        ((Step("set-write", options=None),), None),
        ((Step("take", options=None),), False),
        ((Step("take", without="config"),), None),
        ((Step("get-write", config=None),), None),
        ((TAKE, Step("get-read", without="state")), None),
    ],
)
def test_null_is_refused_and_leaves_the_config(steps: tuple[Step, ...], config: bool | None) -> None:
    assert last(*steps) == StepExpect("config.null-arguments", 2, config=config)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((GET,), "config 0 is not there"),
        ((TAKE, Step("release-config"), GET), "config 0 is not there"),
        ((TAKE, Step("release-config"), Step("release-config")), "config 0 is not there"),
        ((TAKE, TAKE), "a place of its own"),
        ((Step("take", config=None),), "a place of its own"),
        ((Step("release-options"),), "no options of that number"),
        ((SET, Step("release-options"), SET), "options 0 were released"),
        ((SET, Step("release-options"), Step("cycle")), "options 0 were released"),
        ((Step("set-write"),), "they are NULL here"),
    ],
)
def test_what_is_not_there_is_not_used(steps: tuple[Step, ...], words: str) -> None:
    with pytest.raises(CaseError, match=words):
        step_expectations(steps)


def test_a_call_is_decided_by_its_last_telling_step() -> None:
    def rule(*steps: Step) -> str:
        (expect,) = predict(Case("a/b", "A case.", "benign", (), World(), (Call("config", steps=steps),)))
        assert expect.outcome == "accept"
        return expect.rule

    assert rule(SET) == "config.does-not-own-state"
    assert rule(SET, TAKE, GET, SET) == "config.snapshot"
    assert rule(SET, TAKE, GET, Step("release-config", config=None)) == "config.release-null"
