"""What the functions for configs have to do, step by step: a model of them as small as the document's section on the handle.

A set function stays registered with its state until it is cleared or replaced; a config is what was registered when it was taken;
a NULL argument is refused and nothing else happens.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from epctx.case import INVALID_ARGUMENT, OK, Call, Expect, Step, Struct
from epctx.errors import CaseError
from epctx.remember import remembered

NULL_ARGUMENTS, UNSET, CLEARED = "config.null-arguments", "config.unset-is-null", "config.null-clears"
SNAPSHOT, RELEASE_NULL, STATE = "config.snapshot", "config.release-null", "config.does-not-own-state"

PLACES, FUNCTIONS = 4, 2
"""How many options, configs and states the steps of a call can name, and how many functions."""

Value: TypeAlias = int | Literal["null"] | None


class StepExpect(Struct, frozen=True):
    """What is expected of a step, by which rule. A value of None is not judged; ``config`` is whether a config comes out."""

    rule: str
    code: int = OK
    function: Value = None
    state: Value = None
    config: bool | None = None


class _Registered(Struct, frozen=True):
    """What is registered: a function and a state, or nothing, because it was cleared or never set."""

    function: int | None = None
    state: int | None = None
    cleared: bool = False


@remembered(16)
def step_expectations(steps: tuple[Step, ...]) -> tuple[StepExpect, ...]:
    """What is expected of each step. CaseError, for the first that must not be made, since it uses what is not there."""
    model = _Runtime()
    return tuple(model.make(step) for step in steps)


def expectation(call: Call) -> Expect:
    """What is expected of a ``config`` call; it is decided by the rule that the last telling step is judged by."""
    rules = [e.rule for e in step_expectations(call.steps) if e.rule != STATE]
    why = "the runtime's functions for configs do what the document says of them, step by step"
    return Expect("accept", rules[-1] if rules else STATE, why)


class _Runtime:
    """The runtime as it should be: options and configs by number."""

    def __init__(self) -> None:
        self._options: dict[int, _Registered] = {}
        self._gone: set[int] = set()
        self._configs: dict[int, _Registered | None] = {}

    def make(self, step: Step) -> StepExpect:
        """What a step has to come to."""
        if step.options is not None and step.options in self._gone and step.do not in ("get-read", "get-write", "release-config"):
            raise CaseError(f"options {step.options} were released before")
        match step.do:
            case "set-read" | "set-write":
                return self._set(step)
            case "take" | "cycle":
                return self._take(step)
            case "get-read" | "get-write":
                return self._get(step)
            case "release-config":
                return self._release(step)
            case "release-options":
                if step.options is None or step.options not in self._options:
                    raise CaseError("no options of that number have been used")
                self._gone.add(step.options)
                return StepExpect(STATE)

    def _set(self, step: Step) -> StepExpect:
        if step.options is None:
            return StepExpect(NULL_ARGUMENTS, INVALID_ARGUMENT)
        if step.do == "set-write":
            raise CaseError("compile options need an environment, which leaves files behind; they are NULL here")
        registered = _Registered(cleared=True) if step.function is None else _Registered(step.function, step.state)
        self._options[step.options] = registered
        return StepExpect(STATE)

    def _take(self, step: Step) -> StepExpect:
        if step.options is None or step.without == "config":
            return StepExpect(NULL_ARGUMENTS, INVALID_ARGUMENT, config=None if step.without == "config" else False)
        registered = self._options.setdefault(step.options, _Registered())
        if step.do == "cycle":
            return StepExpect(RELEASE_NULL)
        if step.config is None or step.config in self._configs:
            raise CaseError("a config is taken into a place of its own, which has a number")
        self._configs[step.config] = registered
        return StepExpect(STATE, config=True)

    def _get(self, step: Step) -> StepExpect:
        if step.config is None:
            return StepExpect(NULL_ARGUMENTS, INVALID_ARGUMENT)
        found = self._there(step.config)
        if step.without in ("function", "state"):
            return StepExpect(NULL_ARGUMENTS, INVALID_ARGUMENT)
        if step.do == "get-write":
            return StepExpect(UNSET, function="null", state="null")
        if found.function is None:
            return StepExpect(CLEARED if found.cleared else UNSET, function="null", state="null")
        return StepExpect(SNAPSHOT, function=found.function, state="null" if found.state is None else found.state)

    def _release(self, step: Step) -> StepExpect:
        if step.config is None:
            return StepExpect(RELEASE_NULL)
        self._there(step.config)
        self._configs[step.config] = None
        return StepExpect(RELEASE_NULL)

    def _there(self, config: int) -> _Registered:
        if (found := self._configs.get(config)) is None:
            raise CaseError(f"config {config} is not there: it was not taken, or it was released before")
        return found
