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
from epctx.fuzz.engine import engine
from epctx.fuzz.fingerprint import Sign
from epctx.fuzz.inputs import Inputs
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
RARER = 4
"""So many times as many cases of a sign make another one of them be looked at: it may have a cause of its own."""

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
    errors: tuple[str, ...] = ()
    """What the harness itself failed at, each with the case."""


class Campaign:
    """A campaign of ``launch`` under ``profile``, in whose ``store`` everything is kept that matters."""

    def __init__(
        self, workers: Workers, launch: Launch, profile: Profile, store: Store, ort: str, options: Sequence[str]
    ) -> None:
        """``ort`` is the ONNX Runtime that the target meets, ``options`` what a replay has to be given besides."""
        self._workers, self._launch, self._profile, self._store = workers, launch, profile, store
        self._ort, self._options = ort, options
        self._order = msgspec.msgpack.encode(Order(launch, profile, store.setting))
        self._generation = engine(store.setting).generation
        self._known = {found.fingerprint for found in store.found()}

    def run(self) -> Iterator[Progress]:
        """Go on from where the store is, for as long as somebody asks."""
        state = self._store.state
        inputs = Inputs(self._generation, self._store.inputs(state.batch) if self._generation else {})
        course = _Course(state, self._workers, self._order, inputs)
        start, saved, before = time.monotonic(), 0.0, state.seconds
        try:
            while True:
                course.feed(state.batch)
                errors = course.take()
                yield Progress(state, (), course.ahead, course.looking, course.lost, tuple(errors))
                while (settled := course.settled(state.batch)) is not None:
                    judged, looked = settled
                    self._store.keep_inputs(state.batch, judged.inputs)
                    found = tuple(self._kept(looked))
                    state = _after(state, judged, before + time.monotonic() - start)
                    if found or time.monotonic() - saved > SAVED:
                        self._store.save(state)
                        saved = time.monotonic()
                    yield Progress(state, found, course.ahead, course.looking, course.lost)
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


class _Course:
    """What is under way in a campaign that goes on from ``state``: batches that are run, and failing cases that are looked at."""

    def __init__(self, state: State, workers: Workers, order: bytes, inputs: Inputs) -> None:
        self._jobs, self._order, self._inputs = workers.jobs, order, inputs
        self._tasks: Tasks[_Key] = Tasks(workers)
        self._seen = Counter(dict(state.signs))
        self._next = self._opened = state.batch
        self._judged: dict[int, Judged] = {}
        self._left: dict[int, int] = {}
        """Of each batch that is judged, and all before it: how many of its cases are still to be looked at."""
        self._looked: defaultdict[int, dict[int, list[Looked]]] = defaultdict(dict)

    @property
    def ahead(self) -> int:
        """Cases that are judged, in batches that are not settled."""
        return sum(judged.executions for judged in self._judged.values())

    @property
    def looking(self) -> int:
        """Cases that are still to be looked at."""
        return sum(self._left.values())

    @property
    def lost(self) -> int:
        """How often workers were lost."""
        return self._tasks.lost

    def feed(self, first: int) -> None:
        """See to it that the workers have batches to run, not too far from the ``first`` that is not settled."""
        while len(self._tasks) - self.looking < 2 * self._jobs and self._next - first < AHEAD * self._jobs:
            if self._inputs.first(self._next) > self._opened:  # what the generation before it found is not known
                return
            self._tasks.add(self._next, work.work, self._order, self._next, self._inputs.before(self._next))
            self._next += 1

    def take(self) -> list[str]:
        """Take what workers did, if they do something soon, and have them look at what fails; what the harness failed at."""
        errors: list[str] = []
        for key, result in self._tasks.done(WAIT):
            if isinstance(key, int):
                self._judged[key] = judged = work.unpacked(result)
                self._inputs.add(key, judged.inputs)
                errors += judged.errors
            else:
                number, index = key
                self._looked[number][index] = look.unpacked(result)
                self._left[number] -= 1
        while self._opened in self._judged:  # in order: which cases are looked at depends on those before
            chosen = list(_chosen(self._judged[self._opened], self._seen))
            for index, (case, observation, signs) in enumerate(chosen):
                failing = msgspec.msgpack.encode(case), msgspec.msgpack.encode(observation)
                self._tasks.add((self._opened, index), look.look, self._order, *failing, signs)
            self._left[self._opened] = len(chosen)
            self._opened += 1
        return errors

    def settled(self, number: int) -> tuple[Judged, list[Looked]] | None:
        """All that came of a batch, if nothing of it is under way any more."""
        if self._left.get(number) != 0:
            return None
        del self._left[number]
        looked = self._looked.pop(number, {})
        return self._judged.pop(number), [one for index in sorted(looked) for one in looked[index]]


def _after(state: State, judged: Judged, seconds: float) -> State:
    """The state after one more batch."""
    signs = Counter(dict(state.signs))
    signs.update(dict(judged.signs))
    return State(
        state.batch + 1,
        state.cases + judged.executions,
        state.failing + judged.failing,
        seconds,
        tuple(signs.items()),
        state.skipped + judged.skipped,
        state.errors + len(judged.errors),
        state.cleared + judged.cleared,
    )


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
    due = EACH
    while due < number:
        due *= RARER
    return number in (*range(1, EACH), due)
