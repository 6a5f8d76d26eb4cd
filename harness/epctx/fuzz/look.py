"""What a worker does with a case that fails: it looks for the smallest one that fails alike, and runs that one alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from epctx.case import Case, Struct
from epctx.fuzz.fingerprint import Sign, fingerprint, signs
from epctx.fuzz.grammar import FAMILY
from epctx.fuzz.shrink import MOST, shrink
from epctx.fuzz.work import Order, order_of
from epctx.observation import Observation
from epctx.oracle import judge
from epctx.run import worker
from epctx.run.lane import observe_all

HANGS = MOST // 8
"""So many candidates are tried where each that hangs takes as long as a call may."""
ALONE = 3
"""So often a case of threads is run alone, until it fails there, too."""


class Looked(Struct, frozen=True):
    """What came of looking at a failing case: the smallest case that fails in the same way, under its id, and what was seen."""

    sign: Sign
    fingerprint: str
    source: str
    """The id of the case that was looked at."""
    case: Case
    observation: Observation
    confirmed: bool
    """Whether it fails alone, too."""


def look(order: bytes, case: bytes, observation: bytes, failures: Sequence[Sign]) -> bytes:
    """Look at a packed case that fails in these ways, of which that was seen; packed ``Looked``, one for each or fewer.

    A hang that does not come again is not one.
    """
    search = _Look(order_of(order), _cases.decode(case), _observations.decode(observation))
    looked = [found for sign in failures if (found := search.at(sign)) is not None]
    return msgspec.msgpack.encode(looked)


def unpacked(data: bytes) -> list[Looked]:
    """What ``look`` tells."""
    return _looked.decode(data)


class _Look:
    """Looks at one case.

    It runs alone before anything else. What fails there, too, is shrunk to what does so alone: in company, as that is soon done,
    and if what is left does not fail alone, once more with each candidate alone.
    """

    def __init__(self, order: Order, case: Case, observation: Observation) -> None:
        self._order, self._keeper, self._case = order, worker.keeper(), case
        self._bare = replace(case, expect=())
        """What a case says of itself is expected of no smaller one."""
        self._company: _Seen = {}
        self._alone: _Seen = {}
        self._smallest: list[Case] = []
        both = dict.fromkeys((self._bare, case))
        for made in both:
            self._note(made, observation, self._company)
        self._fails_alone = [sign for made in both for sign in self._run_alone(made)]

    def at(self, sign: Sign) -> Looked | None:
        """What comes of looking at one way in which the case fails."""
        alone = any(sign == other or sign.alike(other) for other in self._fails_alone)
        smallest = self._shrunk(sign, self._company, self._hold)
        self._run_alone(smallest)
        if alone and not _as(sign, smallest, self._alone):  # what candidates did was not all their own doing
            smallest = self._shrunk(sign, self._alone, self._hold_alone)
        self._smallest.append(smallest)
        sign = _as(sign, smallest, self._alone if alone else self._company) or sign
        mark = fingerprint(sign, smallest)
        kept = replace(smallest, id=f"{FAMILY}/{sign.rule.replace('.', '-')}-{mark}", rules=(sign.rule,))
        confirmed = _as(sign, smallest, self._alone) is not None
        observation = (self._alone if confirmed else self._company)[smallest][1]
        if not confirmed and sign.outcome == "hang":
            return None
        by_luck = any(call.threads or call.race for call in smallest.calls)
        return Looked(sign, mark, self._case.id, kept, replace(observation, case=kept.id), confirmed or by_luck)

    def _shrunk(self, sign: Sign, seen: _Seen, hold: Callable[[Sign, Sequence[Case]], list[bool]]) -> Case:
        """The smallest case that fails alike, as was ``seen``."""
        start = self._bare if _as(sign, self._bare, seen) else self._case
        # what is smallest for one of its failures often is so for others
        start = next((c for c in self._smallest if _as(sign, c, seen)), start)
        return start if start.expect else shrink(start, partial(hold, sign), HANGS if sign.outcome == "hang" else MOST)

    def _run_alone(self, case: Case) -> dict[Sign, int]:
        """Run a case alone, of threads until it fails; the signs of that."""
        for _ in range(ALONE if any(call.threads for call in case.calls) else 1):
            self._note(case, self._keeper.observe_alone(self._order.launch, case), self._alone)
            if case in self._alone:
                return self._alone[case][0]
        return {}

    def _hold(self, sign: Sign, candidates: Sequence[Case]) -> list[bool]:
        for case, observation in zip(candidates, observe_all(self._keeper, self._order.launch, candidates), strict=True):
            self._note(case, observation, self._company)
        return [_as(sign, case, self._company) is not None for case in candidates]

    def _hold_alone(self, sign: Sign, candidates: Sequence[Case]) -> list[bool]:
        """Those that hold in company are looked for, as that is soon done, and the first that does so alone, too, will do."""
        held = self._hold(sign, candidates)
        for index, case in enumerate(candidates):
            if held[index]:
                self._run_alone(case)
                if _as(sign, case, self._alone):
                    return [index == other for other in range(len(candidates))]
        return [False] * len(candidates)

    def _note(self, case: Case, observation: Observation, seen: _Seen) -> None:
        verdict = judge(case, observation, self._order.profile)
        if verdict.fails:
            seen[case] = signs(case, observation, verdict, self._order.profile), observation


_Seen: TypeAlias = dict[Case, tuple[dict[Sign, int], Observation]]
"""What was seen of cases that fail."""


def _as(sign: Sign, case: Case, seen: _Seen) -> Sign | None:
    """The sign of a case that was seen and fails alike, the very same one if it is among them."""
    found = seen[case][0] if case in seen else {}
    return sign if sign in found else next((other for other in found if sign.alike(other)), None)


_cases, _observations = msgspec.msgpack.Decoder(Case), msgspec.msgpack.Decoder(Observation)
_looked = msgspec.msgpack.Decoder(list[Looked])
