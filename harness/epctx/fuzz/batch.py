"""What engines of campaigns have in common: they make batches of cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from epctx.case import Case
from epctx.run.keeper import Keeper
from epctx.target import Launch


class Batch(NamedTuple):
    """Cases that are to be run and judged, and how many executions it took to come to them besides."""

    cases: Sequence[Case]
    executions: int = 0
    """Calls that the engine made by itself; its cases are then those among them that looked wrong, or reached something new."""
    suspects: frozenset[str] = frozenset()
    """The ids of the cases whose calls looked wrong to the engine."""
    inputs: Sequence[bytes] = ()
    """What reached something new, from which batches of later generations start, too."""


class Engine(Protocol):
    """Makes batches of cases."""

    generation: int
    """So many batches start from the same inputs (``epctx.fuzz.inputs``); 0 for an engine that has none."""

    def batch(self, number: int, keeper: Keeper, launch: Launch, inputs: Sequence[bytes]) -> Batch:
        """The batch of that number, for a target that this worker's keeper runs, from what batches before it found."""
