"""The grammar's parts with Hypothesis making the decisions."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from hypothesis import assume
from hypothesis.strategies import DrawFn, SearchStrategy, composite, integers

from epctx.attack import Op
from epctx.case import Callback, Case, Entry, Name, World
from epctx.fuzz import scenes, scripts
from epctx.fuzz.grammar import FAMILY, Grammar


def cases(tokens: Sequence[Name] = ()) -> SearchStrategy[Case]:
    """Whole cases; ``tokens`` are further names. Each may be built and run, and ``epctx.spec.predict`` says what must happen."""
    return _cases(Grammar(tokens))


def names(
    start: str = "model", entries: Sequence[Entry] = (), tokens: Sequence[Name] = (), caller: bool = False
) -> SearchStrategy[Name]:
    """Names as a model gives them, or a trusted ``caller``. Most lead somewhere from the directory ``start`` of a world, often to
    one of ``entries``.

    ``epctx.case.raw`` gives the bytes of a name, with the world's root in place of ``{root}``.
    """
    return _names(Grammar(tokens), start, tuple(entries), caller)


@composite
def worlds(draw: DrawFn) -> World:
    """Files, links and what else may lie around a model, the model left out: ``model/`` is its directory."""
    return scenes.scene(Drawn(draw)).world


@composite
def callbacks(draw: DrawFn, direction: Op = "read") -> Callback:
    """Callbacks of an application: good ones, and ones that fail, lie, or leave a buffer behind."""
    return scripts.callback(Drawn(draw), direction)


@composite
def entries(draw: DrawFn) -> tuple[Entry, ...]:
    """What may be special in a world, a link mostly: one entry, or two that belong together."""
    return scenes.entry(Drawn(draw))


class Drawn:
    """Decisions that Hypothesis makes and shrinks; the ``Choices`` of a grammar."""

    def __init__(self, draw: DrawFn) -> None:
        self._draw = draw

    def below(self, count: int) -> int:
        """A number from 0 to ``count`` - 1."""
        return self._draw(_below(count))


@functools.cache
def _below(count: int) -> SearchStrategy[int]:
    return integers(0, count - 1)


@composite
def _cases(draw: DrawFn, grammar: Grammar) -> Case:
    case = grammar.case(Drawn(draw), f"{FAMILY}/drawn")
    assume(case is not None)
    assert case is not None
    return case


@composite
def _names(draw: DrawFn, grammar: Grammar, start: str, entries: tuple[Entry, ...], caller: bool) -> Name:
    return grammar.name(Drawn(draw), start, entries, caller)
