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
from epctx.fuzz.encoding import decode, encoded
from epctx.fuzz.rounds import Command, Round, Rounds
from epctx.fuzz.seeds import listed, standing, words
from epctx.fuzz.store import Setting
from epctx.run.keeper import Keeper
from epctx.target import Fuzzer, Launch, prepare

RUNS, FIRST_RUNS, GENERATION = 1 << 16, 1 << 12, 8
"""Calls of a round besides those by the inputs that it starts from; of the first one, after which each has twice as many up to
that; and how many rounds are a generation."""


class NativeEngine:
    """An engine whose rounds are those of a fuzzer that has the target in its own process.

    It starts from the names of what is in its worlds and from ``seeds``, by default the names of the listed cases, and makes so
    many ``runs`` in each round if that is said.
    """

    fuzzer: ClassVar[Fuzzer]
    sanitizer: ClassVar[Sanitizer | None] = None
    """What its cases are to be judged under, so that what it saw can be seen again."""
    generation = GENERATION

    def __init__(self, setting: Setting, seeds: Sequence[bytes] | None = None, runs: int | None = None) -> None:
        self._setting, self._seeds, self._runs = setting, seeds, runs
        self._always: list[bytes] = []
        self._screened: Round
        self._rounds: Rounds | None = None

    def ready(self) -> None:
        """Build what is needed for the target. TargetError if this engine cannot be had here; BuildError; UsageError."""
        prepare(self._setting.target, fuzzer=self.fuzzer)

    @abstractmethod
    def command(self, launch: Launch) -> Command:
        """How the fuzzer is started for a target that was made ready for it."""

    def check(self, came: Round) -> None:
        """See that a round went as it should. TargetError if it did not."""

    def batch(self, number: int, keeper: Keeper, launch: Launch, inputs: Sequence[bytes]) -> Batch:
        """The round of that number: what looked wrong and what was new in it, and the calls that were made.

        The one of number 0 is a call by each input that there always is. They are looked at once, whichever worker does so.
        """
        if self._rounds is None:
            made = prepare(launch.target, fuzzer=self.fuzzer)
            tokens = [raw(token) for token in self._setting.dictionary]
            self._rounds = Rounds(keeper, made, self.command(made), [*words(), *tokens])
            always = [*standing(), *(encoded(0, 0, token) for token in tokens)]
            always += listed() if self._seeds is None else self._seeds
            self._always, self._screened = self._rounds.screen(always)
        if number:
            given, runs = [*self._always, *inputs], self._runs or min(RUNS, FIRST_RUNS << number - 1)
            came = self._rounds.run(self._setting.seed, number, len(given) + runs, given)
            self.check(came)
        else:
            came = self._screened
        suspicious = _cases(came.suspects)
        cases = list((suspicious | _cases(came.fresh)).values())
        return Batch(cases, came.executions, frozenset(suspicious), came.fresh)


def _cases(inputs: Iterable[bytes]) -> dict[str, Case]:
    return {case.id: case for data in inputs if (case := decode(data)) is not None}
