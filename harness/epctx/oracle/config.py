"""Rules on configs: what the runtime's functions for them give, each judged on the steps that it decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from epctx.case import OK, Call, Step
from epctx.observation import StepSeen
from epctx.oracle.rule import HELD, Broken, Look, Ruling, rule
from epctx.spec import config

HANDLE = "OrtEpContextConfig (opaque handle)"
LEAK = 2048
"""Bytes by which the heap may grow over the configs of a cycle, which are some hundreds."""


def _steps(look: Look, rule_id: str) -> Iterator[tuple[int, Step, config.StepExpect, StepSeen]]:
    """The steps of a call that a rule decides, each with its number."""
    steps, seen = look.call.steps, look.seen.steps
    for index, expect in enumerate(config.step_expectations(steps)):
        if expect.rule == rule_id and index < len(seen):
            yield index + 1, steps[index], expect, seen[index]


def _decides(rule_id: str) -> Callable[[Look], bool]:
    return lambda look: any(_steps(look, rule_id))


def _of_configs(call: Call) -> bool:
    return call.op == "config"


def _held(look: Look, rule_id: str) -> Ruling:
    """Whether all steps that a rule decides came out as they should."""
    for number, step, expect, seen in _steps(look, rule_id):
        wanted: dict[str, object] = {"code": expect.code, "function": expect.function, "state": expect.state}
        given: dict[str, object] = {"code": seen.code, "function": seen.function, "state": seen.state}
        if expect.config is not None:
            wanted["config"], given["config"] = ("set" if expect.config else "untouched"), seen.config
        wrong = [key for key, value in wanted.items() if value is not None and given[key] != value]
        if wrong:
            told = [", ".join(f"{key} {values[key]}" for key in wrong) for values in (wanted, given)]
            return Broken(f"step {number}, {step.do}: {told[0]}", f"{told[1]}{f' ({seen.message})' if seen.message else ''}")
    return HELD


@rule("config.null-arguments", "spec", "medium", HANDLE, calls=_of_configs, applies=_decides(config.NULL_ARGUMENTS))
def null_arguments(look: Look) -> Ruling:
    """NULL options, outputs or config are refused, and the config that was there is left as it was.

    An EP that goes on with a config which it did not get, or releases one twice, ends the application.
    """
    return _held(look, config.NULL_ARGUMENTS)


@rule("config.unset-is-null", "spec", "high", HANDLE, calls=_of_configs, applies=_decides(config.UNSET))
def unset_is_null(look: Look) -> Ruling:
    """With no callback the getters succeed, and give NULL for the function and for the state: both are overwritten.

    A helper takes what is not NULL for a callback, so that what lay in its variables before would be called.
    """
    return _held(look, config.UNSET)


@rule("config.null-clears", "spec", "high", HANDLE, calls=_of_configs, applies=_decides(config.CLEARED))
def null_clears(look: Look) -> Ruling:
    """Registering NULL clears the function and the state, whatever state comes with it.

    An application that took its callback back may have freed the state.
    """
    return _held(look, config.CLEARED)


@rule("config.snapshot", "spec", "high", HANDLE, calls=_of_configs, applies=_decides(config.SNAPSHOT))
def snapshot(look: Look) -> Ruling:
    """A config keeps what was registered when it was taken, also after the options changed or were released.

    An EP takes its config while the session is made, and asks it for as long as the session lives.
    """
    return _held(look, config.SNAPSHOT)


@rule("config.release-null", "spec", "low", HANDLE, calls=_of_configs, applies=_decides(config.RELEASE_NULL))
def release_null(look: Look) -> Ruling:
    """Releasing NULL does nothing, and as many configs as were taken are released, in any order, without a leak.

    An EP whose session was never made releases a config that it never had.
    """
    for number, step, _, seen in _steps(look, config.RELEASE_NULL):
        if seen.code != OK or seen.grown > LEAK:
            return Broken(
                f"step {number}, {step.do}: nothing is left of what was taken",
                f"code {seen.code}, {seen.grown} bytes more" + (f" ({seen.message})" if seen.message else ""),
            )
    memory = look.seen.memory
    if memory.live or memory.bad_frees:
        return Broken("each config is freed once", f"{memory.live} bytes were never freed, {memory.bad_frees} wrong frees")
    return HELD


@rule("config.does-not-own-state", "spec", "medium", HANDLE, calls=_of_configs)
def does_not_own_state(look: Look) -> Ruling:
    """The state is never freed or written: it is the application's, and means nothing to anybody else.

    One state often serves several sessions.
    """
    for number, (step, seen) in enumerate(zip(look.call.steps, look.seen.steps, strict=False), 1):
        if not seen.states_kept:
            return Broken("the memory of all states stays as it is", f"it was changed or freed by step {number}, {step.do}")
    return _held(look, config.STATE)
