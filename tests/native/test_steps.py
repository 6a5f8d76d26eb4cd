"""The steps of op config, on real runtimes, the stand-in, and runtimes that a target brings along."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.native.running import Running

from epctx.case import INVALID_ARGUMENT, OK, Call, Step
from epctx.observation import StepSeen

Start = Callable[..., Running]
SET, TAKE, GET = Step("set-read"), Step("take"), Step("get-read")


def played(running: Running, *steps: Step) -> tuple[StepSeen, ...]:
    seen = running.call(Call("config", steps=steps), None).seen
    assert seen.code == OK
    assert seen.memory.statuses == seen.memory.statuses_released
    return seen.steps


def given(seen: StepSeen) -> tuple[object, object]:
    return seen.function, seen.state


def test_every_step_tells_what_came_out(on_either_runtime: Running) -> None:
    steps = (SET, TAKE, Step("set-read", function=1, state=3), Step("take", config=1), Step("release-options"), GET)
    *_, first, second = played(on_either_runtime, *steps, Step("get-read", config=1))
    assert (given(first), given(second)) == ((0, 0), (1, 3))
    assert played(on_either_runtime, TAKE, Step("get-write"))[1] == StepSeen(function="null", state="null")
    assert played(on_either_runtime, TAKE)[0] == StepSeen(config="set")
    assert played(on_either_runtime, SET, Step("cycle"))[1].grown < 2048


@pytest.mark.parametrize(
    ("step", "seen"),
    [
        (Step("set-read", options=None), StepSeen(2, "'options' parameter must not be NULL")),
        (Step("set-write", options=None), StepSeen(2, "OrtModelCompilationOptions is NULL")),
        (Step("take", options=None), StepSeen(2, "OrtSessionOptions is NULL", config="untouched")),
        (Step("take", without="config"), StepSeen(2, "Output OrtEpContextConfig is NULL")),
        (Step("get-read", config=None), StepSeen(2, "OrtEpContextConfig is NULL", "untouched", "untouched")),
        (Step("release-config", config=None), StepSeen()),
    ],
)
def test_null_is_refused_in_the_words_of_onnx_runtime(on_either_runtime: Running, step: Step, seen: StepSeen) -> None:
    assert played(on_either_runtime, step) == (seen,)


def test_a_target_brings_its_own_runtime(start: Start) -> None:
    wrong = start("weak=runtime-leaves-unset-state")
    assert given(played(wrong, TAKE, GET)[1]) == ("null", "untouched")
    assert played(start("weak=runtime-overwrites-config-on-error"), Step("take", options=None))[0].config == "null"
    assert played(start("weak=runtime-accepts-null"), Step("get-read", config=None))[0].code == OK
    assert not played(start("weak=runtime-writes-state"), SET, Step("take"))[0].states_kept
    assert played(start("weak=runtime-leaks-configs"), SET, Step("cycle"))[1].grown > 2048


def test_a_call_gets_its_config_from_there_too(start: Start) -> None:
    running = start("weak=runtime-releases-twice")
    assert running.call(Call("read", config=True), "good.bin").seen.memory.bad_frees == 1


def test_what_is_left_is_released_in_the_end(start: Start) -> None:
    running = start("weak=runtime-releases-twice")
    seen = running.call(Call("config", steps=(TAKE, Step("take", config=1), Step("release-config"))), None).seen
    assert (seen.memory.allocated, seen.memory.freed, seen.memory.bad_frees, seen.memory.live) == (2, 2, 2, 0)


def test_a_release_that_aborts_ends_the_driver(start: Start) -> None:
    running = start("weak=runtime-crashes-on-null-release")
    call = Call("config", steps=(Step("release-config", config=None),))
    assert running.send(call, None, "model.onnx", None, b"") == b""
    assert running.ended()[0] == -6


def test_codes_are_those_of_the_step_and_not_of_the_call(on_either_runtime: Running) -> None:
    refused, fine = played(on_either_runtime, Step("take", options=None), TAKE)
    assert (refused.code, fine.code) == (INVALID_ARGUMENT, OK)
