"""The configuration handle: what the runtime's functions for it give, and whether a helper asks the config of each call."""

from __future__ import annotations

from typing import Literal

from epctx.attack import OPS, Draft, Family, Op, load, node, play, read, scene, write
from epctx.case import Callback, Content, Model, Step

family = Family("config", "The handle that carries the application's callbacks: how it is made, asked, cleared and released.")

Direction = Literal["read", "write"]
SET, TAKE, GET = Step("set-read"), Step("take"), Step("get-read")
CLEAR = Step("set-read", function=None, state=1)
"""Registers NULL, with a state that is to be ignored."""
ANSWER, OTHER, TAKEN = Callback(Content("answer")), Callback(Content("other answer", 200)), Callback()


def steps(*made: Step) -> Draft:
    """A case that is one call of steps."""
    return scene(calls=play(*made))


# --- NULL -------------------------------------------------------------------------------------------------------------------

NULLS: dict[str, tuple[Step, ...]] = {
    "set-read": (Step("set-read", options=None),),
    "set-write": (Step("set-write", options=None),),
    "take-options": (Step("take", options=None),),
    "take-config": (Step("take", without="config"),),
    "get-read-config": (Step("get-read", config=None),),
    "get-read-function": (SET, TAKE, Step("get-read", without="function")),
    "get-read-state": (SET, TAKE, Step("get-read", without="state")),
    "get-write-config": (Step("get-write", config=None),),
    "get-write-function": (SET, TAKE, Step("get-write", without="function")),
    "get-write-state": (SET, TAKE, Step("get-write", without="state")),
}


@family.benign("config.null-arguments", argument=NULLS)
def null_argument(argument: tuple[Step, ...]) -> Draft:
    """A NULL argument ({argument}) is refused, and a config that was there before is not overwritten."""
    return steps(*argument)


@family.benign("config.null-arguments", "config.snapshot")
def null_between() -> Draft:
    """What was refused for a NULL changes nothing for those who ask afterwards."""
    return steps(SET, Step("set-read", options=None, function=1, state=1), TAKE, Step("take", options=None, config=1), GET)


# --- unset and cleared ------------------------------------------------------------------------------------------------------


@family.benign("config.unset-is-null", direction=OPS, other=("nothing", "read"))
def unset(direction: Direction, other: str) -> Draft:
    """A config in which no {direction} callback was registered, but {other}, gives NULL for function and state."""
    ask = Step("get-read" if direction == "read" else "get-write")
    if other == "read" and direction == "read":
        return steps(Step("set-read", options=1), Step("take", options=1, config=1), TAKE, ask)
    return steps(*([SET] if other == "read" else []), TAKE, ask)


@family.benign("config.null-clears", state={"state": 1, "same-state": 0, "null-state": None})
def clear(state: int | None) -> Draft:
    """Registering NULL with a {state} clears function and state."""
    return steps(SET, Step("set-read", function=None, state=state), TAKE, GET)


@family.benign("config.null-clears")
def clear_twice() -> Draft:
    """Clearing what is clear already, and clearing before anything was registered, is no error."""
    return steps(CLEAR, TAKE, GET, SET, CLEAR, CLEAR, Step("take", config=1), Step("get-read", config=1))


@family.benign("config.snapshot", "config.null-clears")
def register_after_clear() -> Draft:
    """What is registered after a clear counts."""
    return steps(SET, CLEAR, Step("set-read", function=1, state=2), TAKE, GET)


# --- snapshots --------------------------------------------------------------------------------------------------------------

CHANGES: dict[str, tuple[Step, ...]] = {
    "replaced": (Step("set-read", function=1, state=1),),
    "other-state": (Step("set-read", state=1),),
    "cleared": (CLEAR,),
    "replaced-and-released": (Step("set-read", function=1, state=1), Step("release-options")),
    "cleared-and-released": (CLEAR, Step("release-options")),
}


@family.benign("config.snapshot", change=CHANGES)
def snapshot(change: tuple[Step, ...]) -> Draft:
    """A config keeps its callback after the options changed ({change})."""
    return steps(SET, TAKE, *change, GET)


@family.benign("config.snapshot")
def registered_without_state() -> Draft:
    """A function that is registered with a NULL state is given with it."""
    return steps(Step("set-read", function=1, state=None), TAKE, GET)


@family.benign("config.snapshot")
def register_again() -> Draft:
    """What is registered last counts, function and state."""
    return steps(SET, Step("set-read", function=1, state=1), TAKE, GET)


@family.benign("config.unset-is-null", "config.snapshot")
def unset_before_set() -> Draft:
    """A config that was taken before anything was registered stays empty."""
    return steps(TAKE, SET, GET, Step("take", config=1), Step("get-read", config=1))


@family.benign("config.snapshot")
def two_configs() -> Draft:
    """Two configs of the same options each keep what was registered when they were taken."""
    second = (Step("set-read", function=1, state=1), Step("take", config=1), Step("get-read", config=1))
    return steps(SET, TAKE, *second, GET, Step("release-config"), Step("get-read", config=1))


@family.benign("config.snapshot")
def two_options() -> Draft:
    """Two options do not share what is registered in them."""
    return steps(
        SET,
        Step("set-read", options=1, function=1, state=1),
        TAKE,
        Step("take", options=1, config=1),
        Step("release-options", options=1),
        Step("get-read", config=1),
        GET,
    )


# --- release and state ------------------------------------------------------------------------------------------------------


@family.benign("config.release-null", times={"once": 1, "twice": 2})
def release_null(times: int) -> Draft:
    """Releasing NULL ({times}) does nothing."""
    return steps(SET, TAKE, *(Step("release-config", config=None),) * times, GET, Step("release-config"))


@family.benign("config.release-null", "own.no-leak", order={"first": (0, 1, 2), "last": (2, 1, 0), "mixed": (1, 0, 2)})
def release_in_any_order(order: tuple[int, ...]) -> Draft:
    """Three configs are released one by one, the {order} first, before or after their options."""
    taken = (Step("take", config=number) for number in range(3))
    first, *others = (Step("release-config", config=number) for number in order)
    return steps(SET, *taken, first, Step("release-options"), *others)


@family.benign("config.release-null", "own.no-leak", callback=("registered", "none"))
def release_what_was_taken(callback: str) -> Draft:
    """Hundreds of configs that are taken and released leave nothing behind (callback: {callback})."""
    return steps(*([SET] if callback == "registered" else []), Step("cycle"))


@family.benign("config.does-not-own-state", end=("config", "options", "clear", "replace"))
def state_is_the_applications(end: str) -> Draft:
    """The memory of a state is neither freed nor written when its {end} is at its end."""
    last = {
        "config": (TAKE, GET, Step("release-config")),
        "options": (Step("release-options"),),
        "clear": (CLEAR,),
        "replace": (Step("set-read", function=1, state=1),),
    }[end]
    return steps(SET, *last)


# --- a helper and the config of each call -----------------------------------------------------------------------------------


@family.benign("cb.state-identity", "own.adopts")
def second_config() -> Draft:
    """A second read with another config is answered by its callback, with its state."""
    return scene(calls=(read("engine", callback=ANSWER), read("engine", callback=OTHER), read("engine", callback=ANSWER)))


@family.benign("cb.state-identity", "chunk.single-write")
def second_config_of_a_write() -> Draft:
    """A second write with another config goes to its callback, with its state."""
    return scene(calls=(write("engine", callback=TAKEN), write("engine", callback=TAKEN)))


@family.benign("cb.state-identity")
def second_config_of_a_load() -> Draft:
    """A second walk over the nodes with another config is answered by its callback."""
    return scene(calls=(load(callback=ANSWER), load(callback=OTHER)), model=Model(nodes=(node("engine"),)))


@family.benign("cb.absent-is-file", op=OPS, config={"none": False, "empty": True})
def callback_is_gone(op: Op, config: bool) -> Draft:
    """A {op} without a callback, after one with it, is the file's (config: {config})."""
    if op == "read":
        return scene(calls=(read("good.bin", callback=ANSWER), read("good.bin", config=config)))
    return scene(calls=(write("new.bin", callback=TAKEN), write("new.bin", config=config)))


@family.benign("cb.no-file-access", "cb.state-identity", op=OPS, config={"none": False, "empty": True})
def callback_comes(op: Op, config: bool) -> Draft:
    """A {op} with a callback, after one without it, is the callback's (config: {config})."""
    if op == "read":
        return scene(calls=(read("good.bin", config=config), read("good.bin", callback=ANSWER)))
    return scene(calls=(write("good.bin", config=config), write("good.bin", callback=TAKEN)))


@family.benign("cb.directions-independent", "cb.absent-is-file")
def other_direction_comes() -> Draft:
    """A read callback does not become that of a write in the next call, nor the other way round."""
    return scene(
        calls=(
            read("good.bin", callback=ANSWER),
            write("new.bin", config=True),
            write("good.bin", callback=TAKEN),
            read("good.bin", config=True),
        )
    )
