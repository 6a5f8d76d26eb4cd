"""Answers that are given again, where an immutable object is asked about many times."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def remembered(most: int = 4096) -> Callable[[Callable[[K], V]], Callable[[K], V]]:
    """Have a function of one immutable object remember its last ``most`` answers, by the object's identity.

    To compare objects by value, as ``functools.lru_cache`` does, often costs more than the answer. An object is kept beside its
    answer, so that no other one can be given its identity.
    """

    def decorate(function: Callable[[K], V]) -> Callable[[K], V]:
        kept: OrderedDict[int, tuple[K, V]] = OrderedDict()  # of which the oldest is found at once

        @functools.wraps(function)
        def answer(what: K) -> V:
            found = kept.get(id(what))
            if found is None:
                if len(kept) >= most:
                    kept.popitem(last=False)
                found = kept[id(what)] = what, function(what)
            return found[1]

        return answer

    return decorate
