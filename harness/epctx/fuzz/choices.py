"""Where the decisions of a grammar come from."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Choices(Protocol):
    """A source of decisions: a seeded generator, Hypothesis, the bytes of a fuzzer. The simplest decision is always 0."""

    def below(self, count: int) -> int:
        """A number from 0 to ``count`` - 1."""


class Dice:
    """Decisions that follow from a seed: the same ones on every machine and for every version of Python."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def below(self, count: int) -> int:
        """A number from 0 to ``count`` - 1."""
        return int(self._random() * count)


def pick(choices: Choices, options: Sequence[T]) -> T:
    """One of the options; what is to come more often is among them more often."""
    return options[choices.below(len(options))]


def bag(*weighted: tuple[int, T]) -> tuple[T, ...]:
    """Options for ``pick`` by weight, the simplest first."""
    return tuple(option for weight, option in weighted for _ in range(weight))
