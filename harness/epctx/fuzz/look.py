"""What a worker does with a case that fails: it looks for the smallest one that fails alike, and runs that one alone."""

from __future__ import annotations

from collections.abc import Sequence

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
    """Looks at one case."""

    def __init__(self, order: Order, case: Case, observation: Observation) -> None:
        self._order, self._keeper, self._case = order, worker.keeper(), case
        self._seen: dict[Case, tuple[dict[Sign, int], Observation]] = {}
        """What was seen of the case and of candidates that fail."""
        self._smallest: list[Case] = []
        self._note(case, observation)

    def at(self, sign: Sign) -> Looked | None:
        """What comes of looking at one way in which the case fails."""
        # what is smallest for one of its failures often is so for others
        start = next((c for c in self._smallest if self._as(sign, c)), self._case)
        looked = self._shrunk(sign, start)
        if not looked.confirmed and sign.outcome != "hang" and self._fails_alone(sign):
            # what ran before had a part in what candidates did: each is now run alone, too
            looked = self._shrunk(sign, self._case, alone=True)
        return looked if looked.confirmed or sign.outcome != "hang" else None

    def _shrunk(self, sign: Sign, start: Case, alone: bool = False) -> Looked:
        """The smallest case that fails alike, and what is seen of it alone; candidates are run in company, or ``alone``."""
        most = HANGS if sign.outcome == "hang" or alone else MOST
        smallest = shrink(start, lambda some: self._hold(sign, some, alone), most)
        self._smallest.append(smallest)
        sign = self._as(sign, smallest) or sign
        observation = self._seen[smallest][1]
        mark = fingerprint(sign, smallest)
        kept = replace(smallest, id=f"{FAMILY}/{sign.rule.replace('.', '-')}-{mark}", rules=(sign.rule,))
        for _ in range(ALONE if any(call.threads for call in kept.calls) else 1):
            by_itself = self._keeper.observe_alone(self._order.launch, kept)
            self._note(kept, by_itself)
            if self._as(sign, kept):
                return Looked(sign, mark, self._case.id, kept, by_itself, True)
        return Looked(sign, mark, self._case.id, kept, replace(observation, case=kept.id), False)

    def _fails_alone(self, sign: Sign) -> bool:
        """Whether the case fails alone; if so, nothing else is known any more of what fails."""
        observation = self._keeper.observe_alone(self._order.launch, self._case)
        if sign not in signs(self._case, judge(self._case, observation, self._order.profile), self._order.profile):
            return False
        self._seen.clear()
        self._smallest.clear()
        self._note(self._case, observation)
        return True

    def _hold(self, sign: Sign, candidates: Sequence[Case], alone: bool) -> list[bool]:
        if alone:
            observations = [self._keeper.observe_alone(self._order.launch, case) for case in candidates]
        else:
            observations = observe_all(self._keeper, self._order.launch, candidates)
        for case, observation in zip(candidates, observations, strict=True):
            self._note(case, observation)
        return [self._as(sign, case) is not None for case in candidates]

    def _note(self, case: Case, observation: Observation) -> None:
        verdict = judge(case, observation, self._order.profile)
        if verdict.fails:
            self._seen[case] = signs(case, verdict, self._order.profile), observation

    def _as(self, sign: Sign, case: Case) -> Sign | None:
        """The sign of a case that was seen and fails alike, the very same one if it is among them."""
        found = self._seen[case][0] if case in self._seen else {}
        return sign if sign in found else next((other for other in found if sign.alike(other)), None)


_cases, _observations = msgspec.msgpack.Decoder(Case), msgspec.msgpack.Decoder(Observation)
_looked = msgspec.msgpack.Decoder(list[Looked])
