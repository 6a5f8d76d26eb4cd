"""Engines that have the target in their own process, and come to cases by what they reach in it.

A round of such an engine is one batch. What looked wrong in it, and what reached something new, are cases that the whole oracle
judges: what the fuzzer itself sees is only suspicious.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from epctx.case import Case, Sanitizer, raw
from epctx.fuzz.batch import Batch
from epctx.fuzz.encoding import WORLDS, decode, encoded
from epctx.fuzz.rounds import Command, Round, Rounds
from epctx.fuzz.seeds import listed, words
from epctx.fuzz.store import Setting
from epctx.run.keeper import Keeper
from epctx.target import Fuzzer, Launch, prepare

RUNS = 1 << 16
"""Calls of a round."""
FIRST = tuple(encoded(world, 0, b"good.bin") for world in range(len(WORLDS)))
"""The inputs that there always are."""


class NativeEngine:
    """An engine whose rounds are those of a fuzzer that has the target in its own process.

    It starts from ``seeds``, by default the names of the listed cases.
    """

    fuzzer: ClassVar[Fuzzer]
    sanitizer: ClassVar[Sanitizer | None] = None
    """What its cases are to be judged under, so that what it saw can be seen again."""

    def __init__(self, setting: Setting, seeds: Sequence[bytes] | None = None, runs: int = RUNS) -> None:
        self._setting, self._seeds, self._runs = setting, seeds, runs
        self._inputs: list[bytes] = []
        self._rounds: Rounds | None = None

    def ready(self) -> None:
        """Build what is needed for the target. TargetError if this engine cannot be had here; BuildError; UsageError."""
        prepare(self._setting.target, fuzzer=self.fuzzer)

    @abstractmethod
    def command(self, launch: Launch) -> Command:
        """How the fuzzer is started for a target that was made ready for it."""

    def check(self, came: Round) -> None:
        """See that a round went as it should. TargetError if it did not."""

    def batch(self, number: int, keeper: Keeper, launch: Launch) -> Batch:
        """The round of that number: what looked wrong and what was new in it, and the calls that were made."""
        first = None
        if self._rounds is None:
            made = prepare(launch.target, fuzzer=self.fuzzer)
            tokens = [raw(token) for token in self._setting.dictionary]
            self._rounds = Rounds(keeper, made, self.command(made), [*words(), *tokens])
            inputs = [*FIRST, *(encoded(0, 0, token) for token in tokens)]
            inputs += listed() if self._seeds is None else self._seeds
            self._inputs, first = self._rounds.screen(inputs)
        came = self._rounds.run(self._setting.seed, number, self._runs, self._inputs)
        self.check(came)
        suspects, executions = came.suspects, came.executions
        if first is not None and not number:
            # what the inputs themselves came to is told once, whichever worker makes the first batch
            suspects, executions = (*first.suspects, *suspects), first.executions + executions
        suspicious = _cases(suspects)
        return Batch(list((suspicious | _cases(came.fresh)).values()), executions, frozenset(suspicious))


def _cases(inputs: Iterable[bytes]) -> dict[str, Case]:
    return {case.id: case for data in inputs if (case := decode(data)) is not None}
