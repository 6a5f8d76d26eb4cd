"""A state machine that plays with a target: an application and an attacker who take turns, and the whole oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from hypothesis.strategies import SearchStrategy, integers, none, runner, sampled_from
from msgspec.structs import replace

from epctx.attack import Allocator, Op
from epctx.case import Call, Callback, Case, Content, Entry, Model, Name, Step, World
from epctx.case_check import validate
from epctx.errors import CaseError
from epctx.fuzz.grammar import ALLOCATORS, FAMILY
from epctx.fuzz.scenes import BARE, PLAIN, SIZES, Scene, beside
from epctx.spec.config import FUNCTIONS, PLACES
from epctx.strategies.drawn import callbacks, entries, names
from epctx.strategies.trial import Trial

OPS: tuple[Op, ...] = ("read", "write")


def machine(
    target: str = "reference", *, profile: str | None = None, policies: tuple[str, ...] = (), tokens: Sequence[Name] = ()
) -> type[Play]:
    """A state machine for Hypothesis that plays with ``target`` and fails with ``Broken`` where it breaks a rule.

    Its attribute ``TestCase`` is a class for unittest and pytest. ``tokens`` are further names. A subclass may add rules.
    """
    tried = Trial(target, profile, policies)

    class Machine(Play):
        trial = tried
        own_names = tuple(tokens)

    Machine.__name__ = Machine.__qualname__ = "Machine"
    return Machine


def _number(count: int) -> SearchStrategy[int]:
    return integers(0, count - 1)


def _names(caller: bool = False) -> SearchStrategy[Name]:
    """Names for the world as it is now."""
    return runner().flatmap(lambda p: names(p.scene.cwd if caller else "model", p.special, p.own_names, caller))


class Play(RuleBasedStateMachine):
    """The rules of the machine. They build up a case, which is run and judged with each call that is added to it.

    A case begins with a world, so a change of files begins a new one. Callbacks stay registered until they are cleared. Steps on
    the runtime's own functions for configs that follow each other are one call.
    """

    trial = Trial()
    own_names: tuple[Name, ...] = ()

    def __init__(self) -> None:
        super().__init__()
        self.scene = PLAIN
        self.special: tuple[Entry, ...] = ()
        self.registered: dict[Op, Callback | None] = {}
        self.calls: tuple[Call, ...] = ()

    @property
    def case(self) -> Case:
        """What was played so far."""
        world = World((*beside(self.scene.world.entries, self.special), *self.special), self.scene.cwd)
        model = Model(given=self.scene.given)
        return Case(f"{FAMILY}/played", "A case that a state machine made.", "hostile", (), world, self.calls, model)

    # --- files --------------------------------------------------------------------------------------------------------------

    @rule(special=entries())
    def make(self, special: tuple[Entry, ...]) -> None:
        """Make something special in the world, in place of what is there."""
        self.special = (*beside(self.special, special), *special)
        self.calls = ()

    @precondition(lambda self: self.special)
    @rule(index=runner().flatmap(lambda play: _number(len(play.special))))
    def remove(self, index: int) -> None:
        """Remove it again."""
        self.special = self.special[:index] + self.special[index + 1 :]
        self.calls = ()

    @rule(scene=sampled_from(BARE))
    def open_model(self, scene: Scene) -> None:
        """Give the runtime the model in another way: by another path, from another directory, or from memory."""
        self.scene = scene
        self.calls = ()

    # --- callbacks ----------------------------------------------------------------------------------------------------------

    @rule(callback=callbacks("read"))
    def register_read(self, callback: Callback) -> None:
        """Register a read callback."""
        self.registered["read"] = callback

    @rule(callback=callbacks("write"))
    def register_write(self, callback: Callback) -> None:
        """Register a write callback."""
        self.registered["write"] = callback

    @precondition(lambda self: self.registered)
    @rule(direction=sampled_from(OPS))
    def clear(self, direction: Op) -> None:
        """Register NULL."""
        self.registered[direction] = None

    @precondition(lambda self: self.registered)
    @rule()
    def go_without_config(self) -> None:
        """Have calls get no config at all."""
        self.registered = {}

    # --- calls --------------------------------------------------------------------------------------------------------------

    @rule(name=_names(), allocator=sampled_from(ALLOCATORS))
    def read(self, name: Name, allocator: Allocator) -> None:
        """Read what a model names."""
        self._call(Call("read", name, allocator=allocator))

    @rule(name=_names(), size=sampled_from(SIZES))
    def write(self, name: Name, size: int) -> None:
        """Write what a model names."""
        self._call(Call("write", name, payload=Content("payload", size)))

    @rule(name=_names(caller=True), op=sampled_from(OPS))
    def trusted(self, name: Name, op: Op) -> None:
        """Read or write what a trusted caller names."""
        self._call(Call(op, name, "caller"))

    # --- configs ------------------------------------------------------------------------------------------------------------

    @rule(options=_number(PLACES), function=none() | _number(FUNCTIONS), state=none() | _number(PLACES))
    def set_on_options(self, options: int, function: int | None, state: int | None) -> None:
        """Register a function and a state on session options, or clear them."""
        self._step(Step("set-read", options, function=function, state=state))

    @rule(options=_number(PLACES), config=_number(PLACES))
    def take(self, options: int, config: int) -> None:
        """Take a config from session options."""
        self._step(Step("take", options, config))

    @rule(config=_number(PLACES), do=sampled_from(("get-read", "get-write")))
    def ask(self, config: int, do: Literal["get-read", "get-write"]) -> None:
        """Ask a config for what is registered in it."""
        self._step(Step(do, config=config))

    @rule(config=none() | _number(PLACES))
    def release(self, config: int | None) -> None:
        """Release a config, or NULL."""
        self._step(Step("release-config", config=config))

    @rule(options=_number(PLACES))
    def release_options(self, options: int) -> None:
        """Release session options, from which configs may have been taken."""
        self._step(Step("release-options", options))

    # --- what becomes of them -----------------------------------------------------------------------------------------------

    def _call(self, call: Call) -> None:
        """Make a call with what is registered now."""
        self._play((*self.calls, _with(call, self.registered)))

    def _step(self, step: Step) -> None:
        """Go on with the steps of the last call, or begin with a call of steps."""
        steps = self.calls[-1].steps if self.calls else ()
        self._play((*(self.calls[:-1] if steps else self.calls), Call("config", steps=(*steps, step))))

    def _play(self, calls: tuple[Call, ...]) -> None:
        """Judge the case with these calls. What must not be made, as it uses what is gone or leads too far, is passed over."""
        before, self.calls = self.calls, calls
        try:
            validate(self.case)
        except CaseError:
            self.calls = before
        else:
            self.trial.hold(self.case)


def _with(call: Call, registered: dict[Op, Callback | None]) -> Call:
    """A call with the callbacks that are registered; where they were cleared, the config is there without them."""
    read, write = registered.get("read"), registered.get("write")
    bare = bool(registered) and read is None and write is None
    return replace(call, read_callback=read, write_callback=write, config=bare)
