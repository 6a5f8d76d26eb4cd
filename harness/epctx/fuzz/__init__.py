"""Fuzzing: random cases from a grammar, and campaigns that run, judge, shrink and keep them."""

from epctx.fuzz.choices import Choices, Dice
from epctx.fuzz.grammar import Grammar

__all__ = ["Choices", "Dice", "Grammar"]
