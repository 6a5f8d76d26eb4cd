"""A mutator of inputs that knows the grammar: names from it, components of names, and bytes."""

from __future__ import annotations

from collections.abc import Callable

from epctx.case import ROOT_TOKEN, raw
from epctx.fuzz.choices import Dice, pick
from epctx.fuzz.encoding import CALLS, HEAD, WORLDS, encoded
from epctx.fuzz.grammar import Grammar
from epctx.fuzz.seeds import words

SHORT = 32
"""Bytes that an input may always become."""


class Mutator:
    """Changes inputs, half of the times by bytes: with ``change``, which is given bytes and how many they may become."""

    def __init__(self, change: Callable[[bytes, int], bytes]) -> None:
        self._change, self._grammar, self._words = change, Grammar(), words()

    def mutate(self, data: bytes, longest: int, seed: int) -> bytes:
        """What follows from an input and a seed, of at most that many bytes."""
        dice = Dice(seed)
        longest = min(longest, max(SHORT, 2 * len(data)))  # who says how long inputs become, is a mutator where there is one
        if len(data) < HEAD or dice.below(2):
            return self._change(data, longest)
        head, name = data[:HEAD], data[HEAD:]
        what = dice.below(4)
        if what == 0:
            head = encoded(dice.below(len(WORLDS)), dice.below(len(CALLS)), b"")
        elif what == 1:
            name = self._of_grammar(dice, head[0] % len(WORLDS))
        else:
            name = self._other_component(dice, name)
        return (head + name)[:longest]

    def _of_grammar(self, dice: Dice, world: int) -> bytes:
        """A name as the grammar makes it for that world."""
        made = raw(self._grammar.name(dice, "model", WORLDS[world].world.entries))
        root = ROOT_TOKEN.encode()
        return made.removeprefix(root) if made.startswith(root + b"/") else made

    def _other_component(self, dice: Dice, name: bytes) -> bytes:
        """The name with a component put in, taken out, or changed for another."""
        parts = name.split(b"/")
        at, how = dice.below(len(parts)), dice.below(3)
        parts[at : at + (how > 0)] = [] if how == 1 else [pick(dice, self._words)]
        return b"/".join(parts)
