"""Campaigns: cases are made, run and judged without end; what breaks a rule is confirmed, shrunk and kept.

The cases follow from the seed and their number, and are taken in that order whoever runs them first. So a seed gives the same
cases, verdicts and findings on any number of workers.
"""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count

import msgspec
from msgspec.structs import replace

from epctx import __version__
from epctx.case import Case, Struct
from epctx.fuzz.fingerprint import Sign, fingerprint, signs
from epctx.fuzz.grammar import FAMILY
from epctx.fuzz.shrink import shrink
from epctx.fuzz.store import Found, State, Store
from epctx.fuzz.work import EACH, Judged, Order, unpacked, work
from epctx.observation import Observation
from epctx.oracle import RULES, Profile, judge
from epctx.run.runner import Runner
from epctx.target import Launch

SAVED = 2.0
"""Seconds after which the state is saved again."""


class Progress(Struct, frozen=True):
    """A batch was judged: how far the campaign is, and what it found in it that is new."""

    state: State
    signs: int
    """How many kinds of failure were seen, before shrinking."""
    found: tuple[Found, ...] = ()


class Campaign:
    """A campaign of ``launch`` under ``profile``, in whose ``store`` everything is kept that matters."""

    def __init__(self, runner: Runner, launch: Launch, profile: Profile, store: Store, ort: str, options: Sequence[str]) -> None:
        """``ort`` is the ONNX Runtime that the target meets, ``options`` what a replay has to be given besides."""
        self._runner, self._launch, self._profile, self._store = runner, launch, profile, store
        self._ort, self._options = ort, options
        self._known = {found.fingerprint for found in store.found()}
        self._seen: Counter[Sign] = Counter()

    def run(self) -> Iterator[Progress]:
        """Go on from where the store is, for as long as somebody asks."""
        state = self._store.state
        start, saved, before = time.monotonic(), 0.0, state.seconds
        first, order = state.batch, msgspec.msgpack.encode(Order(self._launch, self._profile, self._store.setting))
        ready: dict[int, Judged] = {}
        try:
            for index, packed in self._runner.each(work, ((order, number) for number in count(first))):
                ready[first + index] = unpacked(packed)
                while state.batch in ready:
                    judged = ready.pop(state.batch)
                    found = list(self._look(judged))
                    state = State(
                        state.batch + 1,
                        state.cases + judged.executions,
                        state.failing + judged.failing,
                        before + time.monotonic() - start,
                    )
                    if found or time.monotonic() - saved > SAVED:
                        self._store.save(state)
                        saved = time.monotonic()
                    yield Progress(state, len(self._seen), tuple(found))
        finally:
            self._store.save(state)

    def _look(self, judged: Judged) -> Iterator[Found]:
        """What is new among the cases of a batch that fail: confirmed, shrunk and kept."""
        looked = Counter({sign: self._seen[sign] for sign, _ in judged.signs})
        for sign, times in judged.signs:
            self._seen[sign] += times
        for sign, case in judged.examples:
            looked[sign] += 1
            if looked[sign] > EACH:
                continue
            smallest = shrink(case, partial(self._break, sign))
            smallest = replace(
                smallest, id=f"{FAMILY}/{sign.rule.replace('.', '-')}-{fingerprint(sign, smallest)}", rules=(sign.rule,)
            )
            observation, confirmed = self._alone(smallest, sign)
            mark = fingerprint(sign, smallest)
            if mark in self._known:
                continue
            self._known.add(mark)
            found = self._told(sign, mark, case, smallest, observation, confirmed)
            self._store.keep(found, smallest, observation)
            yield found

    def _break(self, sign: Sign, candidates: Sequence[Case]) -> list[bool]:
        held = [False] * len(candidates)
        for index, observation in self._runner.run(self._launch, candidates):
            found = self._signs(candidates[index], observation)
            held[index] = any(sign.alike(other) for other in found)
        return held

    def _signs(self, case: Case, observation: Observation) -> dict[Sign, int]:
        return signs(case, judge(case, observation, self._profile), self._profile)

    def _alone(self, case: Case, sign: Sign) -> tuple[Observation, bool]:
        """What is seen of a case in a driver of its own, and whether it breaks the rule there, too."""
        _, observation = next(self._runner.run(self._launch, [case], alone=True))
        return observation, any(sign.alike(other) for other in self._signs(case, observation))

    def _told(self, sign: Sign, mark: str, case: Case, smallest: Case, observation: Observation, confirmed: bool) -> Found:
        verdict = judge(smallest, observation, self._profile)
        evidence = next((f for f in verdict.findings if f.rule == sign.rule), None)
        again = shlex.join(("epctx", "replay", "case.json", self._launch.target, *self._options))
        return Found(
            mark,
            sign.rule,
            RULES[sign.rule].severity,
            case.id,
            evidence.expected if evidence else "",
            evidence.happened if evidence else "",
            evidence.file if evidence else "",
            self._launch.target,
            self._ort,
            __version__,
            again,
            confirmed,
        )
