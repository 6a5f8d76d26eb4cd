"""What engines that change bytes start from, and the words that they try."""

from __future__ import annotations

import functools
import itertools
import re

from epctx.attack import families
from epctx.case import raw
from epctx.fuzz import paths
from epctx.fuzz.encoding import CALLS, WORLDS, encoded, nearest

LONGEST_WORD = 64
"""Bytes of the longest word; libFuzzer takes none that is longer."""


@functools.cache
def listed() -> tuple[bytes, ...]:
    """The names of all listed cases as inputs, each by calls that are like those of its cases; sorted."""
    cases = [case for family in families().values() for case in family.cases()]
    return tuple(sorted({data for case in cases for data in nearest(case)}, key=lambda data: (len(data), data)))


@functools.cache
def standing() -> tuple[bytes, ...]:
    """The names of all that is in the standing worlds, as inputs that read them and that write to them."""
    calls = [next(number for number, call in enumerate(CALLS) if call.op == op) for op in ("read", "write")]
    return tuple(
        encoded(number, call, "/".join(paths.relative("model", str(entry.path))).encode())
        for number, place in enumerate(WORLDS)
        for call in calls
        for entry in place.world.entries
    )


@functools.cache
def words() -> tuple[bytes, ...]:
    """What names are strung together from: components and separators, and whatever else the grammar takes for special."""
    names = (*itertools.chain(*paths.FOREIGN), *paths.LITERAL, *paths.COMPONENTS, *paths.INSIDE, *paths.OUTSIDE)
    texts = {raw(name) for name in names}
    parts = {part for text in texts for part in re.split(rb"(/+)", text)}
    return tuple(sorted(word for word in texts | parts if 0 < len(word) <= LONGEST_WORD and b"{root}" not in word))
