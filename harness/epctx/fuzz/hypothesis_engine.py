"""The engine ``hypothesis``: what Hypothesis makes of the grammar. It tries what is simple first, and varies what it tried."""

from __future__ import annotations

import os
from collections.abc import Sequence

from hypothesis import HealthCheck, Phase, given, seed, settings
from msgspec.structs import replace

from epctx.case import Case
from epctx.fuzz.batch import Batch
from epctx.fuzz.grammar import FAMILY
from epctx.fuzz.store import Setting
from epctx.run.keeper import Keeper
from epctx.run.runner import BATCH
from epctx.strategies import cases
from epctx.target import Launch
from epctx.target.build import cache_directory


class HypothesisEngine:
    """Random cases that Hypothesis draws, a few hundred a second."""

    generation = 0

    def __init__(self, setting: Setting) -> None:
        self._seed, self._cases = setting.seed, cases(setting.dictionary)
        # what it keeps by itself, tables of characters and the like, is not for the directory that we happen to be in
        os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(cache_directory() / "hypothesis"))

    def batch(self, number: int, keeper: Keeper, launch: Launch, inputs: Sequence[bytes]) -> Batch:
        """The batch of that number."""
        made: list[Case] = []

        @seed(self._seed << 32 | number)
        @settings(
            max_examples=BATCH,
            phases=[Phase.generate],
            database=None,
            derandomize=False,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(self._cases)
        def draw(case: Case) -> None:
            made.append(replace(case, id=f"{FAMILY}/{self._seed}-{number * BATCH + len(made)}"))

        draw()
        return Batch(made)
