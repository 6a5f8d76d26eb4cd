"""What engines that are led by coverage reached, from one generation of their rounds to the next.

All rounds of a generation start from the same inputs, whichever worker runs them and when: those that there always are, and those
that reached something new in the generations before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

MOST = 4096
"""So many inputs are handed on at most, those that were found first: each round begins with a call by every one of them."""


class Inputs:
    """The inputs that batches found, by their numbers. So many batches are a ``generation``; with 0 none starts from any."""

    def __init__(self, generation: int, found: Mapping[int, Sequence[bytes]]) -> None:
        self._generation = generation
        self._found = dict(found)
        self._packed: tuple[int, bytes] = (0, NONE)

    def add(self, number: int, found: Sequence[bytes]) -> None:
        """Know what the batch of that number found."""
        if self._generation:
            self._found[number] = tuple(found)

    def first(self, number: int) -> int:
        """The number of the first batch of its generation: all those before it must be known."""
        return number - number % self._generation if self._generation else 0

    def before(self, number: int) -> bytes:
        """What the batch of that number starts from besides, packed."""
        first = self.first(number)
        if self._packed[0] != first:
            handed_on = dict.fromkeys(data for batch in range(first) for data in self._found[batch])
            self._packed = first, packed(list(handed_on)[:MOST])
        return self._packed[1]


def packed(inputs: Sequence[bytes]) -> bytes:
    """Inputs as they are handed to a worker."""
    return msgspec.msgpack.encode(inputs)


def unpacked(data: bytes) -> list[bytes]:
    """The inputs that were packed."""
    return _inputs.decode(data)


NONE = packed(())
_inputs = msgspec.msgpack.Decoder(list[bytes])
