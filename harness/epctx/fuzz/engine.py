"""Engines: what makes the cases of a campaign. Each is asked for one batch after the other, in a worker.

A batch follows from the campaign's setting and its number alone, so that it does not matter which worker makes it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from epctx.case import Case, Sanitizer
from epctx.errors import UsageError
from epctx.fuzz import scenes
from epctx.fuzz.atheris import AtherisEngine
from epctx.fuzz.batch import Batch, Engine
from epctx.fuzz.choices import Dice
from epctx.fuzz.grammar import FAMILY, Grammar
from epctx.fuzz.libfuzzer import LibFuzzerEngine
from epctx.fuzz.mutate import listed
from epctx.fuzz.native import NativeEngine
from epctx.fuzz.store import Setting
from epctx.run.keeper import Keeper
from epctx.target import Launch


class GrammarEngine:
    """Random cases from the grammar, and listed cases that it changed."""

    generation = 0

    def __init__(self, setting: Setting) -> None:
        self._seed, self._grammar = setting.seed, Grammar(setting.dictionary, listed())

    def batch(self, number: int, keeper: Keeper, launch: Launch, inputs: Sequence[bytes]) -> Batch:
        """The batch of that number."""
        return Batch(cases(self._grammar, self._seed, number))


BATCH = 768
"""Cases in a batch of the grammar's."""
ALIKE, APART = 96, 120
"""How many cases of a batch are in one scene, since where a world stands a case takes little time; and one in how many is in
none. The first batches, in which the most is found that is new, have many more scenes."""
FIRST = 12


def _hypothesis(setting: Setting) -> Engine:
    try:
        from epctx.fuzz.hypothesis_engine import HypothesisEngine
    except ImportError:
        raise UsageError("The engine hypothesis needs Hypothesis; install it with `pip install 'epctx[hypothesis]'`.") from None
    return HypothesisEngine(setting)


ENGINES: dict[str, Callable[[Setting], Engine]] = {
    "grammar": GrammarEngine,
    "hypothesis": _hypothesis,
    "libfuzzer": LibFuzzerEngine,
    "atheris": AtherisEngine,
}
"""What makes an engine for a campaign, by name. UsageError where what it needs is not installed."""


def cases(grammar: Grammar, seed: int, number: int) -> list[Case]:
    """The cases of a batch of the grammar's."""
    dice, made = Dice(seed << 32 | number), []
    alike, apart = (min(most, FIRST << min(number, 8)) for most in (ALIKE, APART))
    for index in range(BATCH):
        if index % alike == 0:
            scene = scenes.scene(dice)
        made.append(grammar.case(dice, f"{FAMILY}/{seed}-{number * BATCH + index}", scene, apart))
    return [case for case in made if case is not None]


def ready(setting: Setting) -> Sanitizer | None:
    """Have all at hand that the engine of a campaign needs; the sanitizer that its cases are to be judged under, if any.

    TargetError if this engine cannot be had here, in a sentence that says what to do; BuildError; UsageError.
    """
    made = engine(setting)
    if not isinstance(made, NativeEngine):
        return None
    made.ready()
    return made.sanitizer


@functools.lru_cache(maxsize=1)
def engine(setting: Setting) -> Engine:
    """The engine of a campaign, kept from batch to batch. UsageError if there is none of that name."""
    if setting.engine not in ENGINES:
        raise UsageError(f"There is no engine {setting.engine!r}; choose one of {', '.join(ENGINES)}.")
    return ENGINES[setting.engine](setting)
