"""Campaigns: cases are made, run and judged without end; what breaks a rule is confirmed, shrunk and kept.

The cases follow from the seed and their number, and are taken in that order whoever runs them first. So a seed gives the same
cases, verdicts and findings on any number of workers, however often the campaign ends and goes on.
"""

from __future__ import annotations

import shlex
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from epctx import __version__
from epctx.case import Case, Struct
from epctx.fuzz import look, work
from epctx.fuzz.fingerprint import Sign
from epctx.fuzz.look import Looked
from epctx.fuzz.store import Found, State, Store
from epctx.fuzz.tasks import Tasks, Workers
from epctx.fuzz.work import EACH, Judged, Order
from epctx.observation import Observation
from epctx.oracle import RULES, Profile, judge
from epctx.target import Launch

SAVED = 2.0
"""Seconds after which the state is saved again."""
WAIT = 0.5
"""Seconds after which progress is told, also if there is none."""
AHEAD = 16
"""So many batches for each job may be judged before it is known what came of looking at those before them."""

_Key: TypeAlias = int | tuple[int, int]
"""The task of a batch, by its number, or of looking at one of the cases of a batch."""


class Progress(Struct, frozen=True):
    """How far a campaign is, and what it found since the last time that is new."""

    state: State
    found: tuple[Found, ...] = ()
    ahead: int = 0
    """Cases that were judged, and of which it is not yet known what comes of looking at those that fail."""
    looking: int = 0
    """How many failing cases are being looked at."""
    lost: int = 0
    """How often workers were lost, and replaced."""


class Campaign:
    """A campaign of ``launch`` under ``profile``, in whose ``store`` everything is kept that matters."""

    def __init__(
        self, workers: Workers, launch: Launch, profile: Profile, store: Store, ort: str, options: Sequence[str]
    ) -> None:
        """``ort`` is the ONNX Runtime that the target meets, ``options`` what a replay has to be given besides."""
        self._workers, self._launch, self._profile, self._store = workers, launch, profile, store
        self._ort, self._options = ort, options
        self._order = msgspec.msgpack.encode(Order(launch, profile, store.setting))
        self._known = {found.fingerprint for found in store.found()}

    def run(self) -> Iterator[Progress]:
        """Go on from where the store is, for as long as somebody asks."""
        state = self._store.state
        jobs, start, saved, before = self._workers.jobs, time.monotonic(), 0.0, state.seconds
        seen, batch, opened = Counter(dict(state.signs)), state.batch, state.batch
        tasks: Tasks[_Key] = Tasks(self._workers)
        judged: dict[int, Judged] = {}
        left: dict[int, int] = {}  # of each batch that was judged, how many of its cases are still looked at
        looked: defaultdict[int, dict[int, list[Looked]]] = defaultdict(dict)
        try:
            while True:
                while len(tasks) - sum(left.values()) < 2 * jobs and batch - state.batch < AHEAD * jobs:
                    tasks.add(batch, work.work, self._order, batch)
                    batch += 1
                for key, result in tasks.done(WAIT):
                    if isinstance(key, int):
                        judged[key] = work.unpacked(result)
                    else:
                        looked[key[0]][key[1]] = look.unpacked(result)
                        left[key[0]] -= 1
                while opened in judged:
                    chosen = list(_chosen(judged[opened], seen))
                    for index, (case, observation, signs) in enumerate(chosen):
                        tasks.add(
                            (opened, index), look.look, self._order, *map(msgspec.msgpack.encode, (case, observation)), signs
                        )
                    left[opened] = len(chosen)
                    opened += 1
                found: list[Found] = []
                while left.get(state.batch) == 0:
                    del left[state.batch]
                    for _, some in sorted(looked.pop(state.batch, {}).items()):
                        found += self._kept(some)
                    state = _after(state, judged.pop(state.batch), before + time.monotonic() - start)
                if found or time.monotonic() - saved > SAVED:
                    self._store.save(state)
                    saved = time.monotonic()
                ahead = sum(j.executions for j in judged.values())
                yield Progress(state, tuple(found), ahead, sum(left.values()), tasks.lost)
        finally:
            self._store.save(state)

    def _kept(self, looked: Sequence[Looked]) -> Iterator[Found]:
        """What is new among what came of looking at a case, kept."""
        for one in looked:
            if one.fingerprint not in self._known:
                self._known.add(one.fingerprint)
                found = self._told(one)
                self._store.keep(found, one.case, one.observation)
                yield found

    def _told(self, looked: Looked) -> Found:
        verdict = judge(looked.case, looked.observation, self._profile)
        evidence = next((f for f in verdict.findings if f.rule == looked.sign.rule), None)
        again = shlex.join(("epctx", "replay", "case.json", self._launch.target, *self._options))
        return Found(
            looked.fingerprint,
            looked.sign.rule,
            RULES[looked.sign.rule].severity,
            looked.source,
            evidence.expected if evidence else "",
            evidence.happened if evidence else "",
            evidence.file if evidence else "",
            self._launch.target,
            self._ort,
            __version__,
            again,
            looked.confirmed,
        )


def _after(state: State, judged: Judged, seconds: float) -> State:
    """The state after one more batch."""
    signs = Counter(dict(state.signs))
    signs.update(dict(judged.signs))
    return State(state.batch + 1, state.cases + judged.executions, state.failing + judged.failing, seconds, tuple(signs.items()))


def _chosen(judged: Judged, seen: Counter[Sign]) -> Iterator[tuple[Case, Observation, list[Sign]]]:
    """The cases of a batch that are to be looked at, each with the signs for which; ``seen`` is brought up to date."""
    chosen: dict[str, tuple[Case, Observation, list[Sign]]] = {}
    for sign, times in judged.signs:
        examples = [(case, observation) for other, case, observation in judged.examples if other == sign]
        due = [n for n in range(times) if _due(seen[sign] + n + 1)]
        seen[sign] += times
        for case, observation in dict.fromkeys(examples[min(n, len(examples) - 1)] for n in due):
            chosen.setdefault(case.id, (case, observation, []))[2].append(sign)
    yield from chosen.values()


def _due(number: int) -> bool:
    """Whether a failing case is looked at that is the so-and-so-many-th of its sign: the first few, and then ever fewer."""
    while number > EACH and number % 2 == 0:
        number //= 2
    return number <= EACH
