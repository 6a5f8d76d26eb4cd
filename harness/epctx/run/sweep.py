"""The sweep: cases that share a world are run in it one after the other, as long as it stays as it is.

To bring a world about costs more than to call the target in it. So the calls of many cases go to the driver at once; it marks
where each ends, which tells apart what each touched. What is to change something has no part in that, and what does so all the
same ends it: such a case runs by itself, in a world that was put right.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from epctx.case import Call, Case, Dir, Fifo, File, HardLink, Limits, Link, Name, Socket, World, content_of
from epctx.observation import Observation, Seen, Touched
from epctx.remember import remembered
from epctx.run.keeper import Keeper, guarded
from epctx.run.lane import observe_all
from epctx.run.session import Answer, Session
from epctx.spec import predict
from epctx.target import Launch
from epctx.target.driver import BadReply, await_late, callbacks_in
from epctx.world import CannotBuild, mark_of_content
from epctx_driver import protocol

GROUP, LEAST = 16, 3
"""How many cases are sent at once; while the driver runs them, those before are looked at. With fewer a sweep does not pay."""
FULL, ROOM = 1 << 14, 1 << 17
"""Bytes of requests after which a group is full, and that certainly fit into a socket: driver and keeper must not wait for each
other to read."""
PATIENCE = 0.5
"""Seconds after which a call that has not come back is taken to hang."""
USUAL = Limits()
Way: TypeAlias = tuple[str, str, bool]
LONGEST = 4096
"""Bytes of a name that goes through a sweep, so that a group never fills the socket."""


def observe_by_world(keeper: Keeper, launch: Launch, cases: Sequence[Case]) -> list[Observation]:
    """Run cases, those that share a world, and the place of the model in it, together; best if they follow each other."""
    seen: dict[int, Observation] = {}
    single: list[int] = []
    awaited: list[Awaited] = []
    for indexes in _by_world(cases):
        if len(indexes) < LEAST or launch.sessions or launch.loader or launch.sanitizer:
            single += indexes
            continue
        plain = [index for index in indexes if not guarded(cases[index])]
        for own in (plain, sorted(set(indexes).difference(plain))):
            sweep = Sweep(keeper, launch, cases, own)
            seen.update(sweep.seen)
            awaited += sweep.awaited
    for index in [one.case for one in awaited if _comes_late(keeper, one)]:
        seen[index] = keeper.observe(launch, cases[index])
    seen.update(zip(single, observe_all(keeper, launch, [cases[index] for index in single]), strict=True))
    return [seen[index] for index in range(len(cases))]


def _by_world(cases: Sequence[Case]) -> list[list[int]]:
    worlds: dict[tuple[int, Name, Name], list[int]] = {}
    for index, case in enumerate(cases):
        worlds.setdefault((id(case.world), case.model.given, case.model.path), []).append(index)
    # what may come late does so while the others run
    return sorted(worlds.values(), key=lambda indexes: not any(call.lingers for index in indexes for call in cases[index].calls))


class Group(NamedTuple):
    """Cases that are sent at once, by their indexes, and what is sent."""

    cases: Sequence[int]
    message: bytes


def _groups(indexes: Sequence[int], requests: Iterable[Iterable[bytes]]) -> Iterator[Group]:
    group: list[int] = []
    message = b""
    for index, own in zip(indexes, requests, strict=True):
        group.append(index)
        message += b"".join(own)
        if len(group) == GROUP or len(message) > FULL:
            yield Group(group, message)
            group, message = [], b""
    if group:
        yield Group(group, message)


class Awaited(NamedTuple):
    """A call that lingers, of the case with an index, made by ``session`` with a ticket."""

    session: Session
    case: int
    ticket: int


def _comes_late(keeper: Keeper, awaited: Awaited) -> bool:
    """Whether something came late of a call that has ended, or may have come."""
    session = awaited.session
    if not keeper.up(session):
        return True
    session.driver.send(await_late(awaited.ticket))
    try:
        data = session.driver.reply(PATIENCE)
    except BadReply:
        data = b""
    if not data:
        keeper.end(session)
        return True
    return any(callback.late for callback in callbacks_in(data, session.bulk))


class Sweep:
    """One run of those of ``cases`` that ``indexes`` says: they share a world and the kind of driver that they need.

    ``seen`` holds what was seen of each, by its index; ``awaited`` are calls among them of which something may still come.
    """

    def __init__(self, keeper: Keeper, launch: Launch, cases: Sequence[Case], indexes: Sequence[int]) -> None:
        self.seen: dict[int, Observation] = {}
        self.awaited: list[Awaited] = []
        self._keeper, self._launch, self._cases = keeper, launch, cases
        self._lost: dict[int, str] = {}
        restless = _restless(launch)
        waiting = [index for index in indexes if _quiet(cases[index]) and restless.isdisjoint(_ways(cases[index]))]
        if len(waiting) >= LEAST:
            session = keeper.started(launch, Limits(), guarded(cases[waiting[0]]))
            waiting = [index for index in waiting if not keeper.obstacle(session, cases[index])]
        waiting.sort(key=lambda index: _writes(cases[index]))  # which may do more than they should
        while len(waiting) >= LEAST:
            waiting = self._swept(waiting)
        for index in indexes:
            if index not in self.seen:
                self.seen[index] = self._by_itself(index)

    def _by_itself(self, index: int) -> Observation:
        """Run one case by itself. A driver that died in it before, and does not now, died all the same."""
        found = self._keeper.observe(self._launch, self._cases[index])
        if index in self._lost and not any(seen.ended in ("crash", "hang") for seen in found.calls):
            return self._observation(index, (Seen("crash", detail=self._lost[index]),))
        return found

    def _observation(self, index: int, seen: tuple[Seen, ...]) -> Observation:
        return Observation(self._cases[index].id, self._launch.target, self._keeper.world.root, seen)

    def _swept(self, indexes: list[int]) -> list[int]:
        """Run cases up to the first that has to run by itself; those behind it."""
        keeper, world = self._keeper, self._keeper.world
        cases = [self._cases[index] for index in indexes]
        session = keeper.started(self._launch, Limits(), guarded(cases[0]))
        tickets = [[next(session.tickets) for _ in case.calls] for case in cases]
        try:
            requests = keeper.set_up_for_all(world, cases, session, itertools.chain.from_iterable(tickets))
        except CannotBuild:
            return []
        if session.lookout:
            secrets = dict.fromkeys(content for case in cases for call in case.calls for content in call.secrets)
            session.lookout.begin(tuple(filter(None, map(mark_of_content, secrets))), world.plot.places)
        found: dict[int, tuple[Seen, ...]] = {}
        sent: deque[Group] = deque()
        coming = _groups(indexes, requests)
        ahead = next(coming, None)
        last, alive = None, True
        while alive and (sent or ahead):
            if ahead and (not sent or (len(sent) < 2 and len(sent[0].message) + len(ahead.message) < ROOM)):
                session.driver.send(ahead.message)
                sent.append(ahead)
                ahead = next(coming, None)
                continue
            group = sent.popleft().cases
            answers = self._answers(session, group)
            alive = len(answers) == len(group)
            if last is None:
                last = self._look(session, group, answers, found)
            if last is not None:
                ahead = None
        if not alive:
            keeper.end(session)
            if session.lookout:
                found.clear()
        elif session.lookout and session.lookout.end(session.process.pid):
            return indexes[indexes.index(last) + 1 :] if last is not None else []
        opened = [index for index, own in found.items() if any(seen.touched for seen in own)]
        if last is None and any(_writes(self._cases[index]) for index in opened) and world.changes():
            return []
        self.seen.update((index, self._observation(index, seen)) for index, seen in found.items())
        for index, own in zip(indexes, tickets, strict=True):
            made = zip(self._cases[index].calls, own, strict=True) if index in found else ()
            self.awaited += [Awaited(session, index, ticket) for call, ticket in made if call.lingers]
        return [] if last is None else indexes[indexes.index(last) + 1 :]

    def _answers(self, session: Session, group: Sequence[int]) -> list[list[bytes]]:
        """The answers to the calls of a group, by case; up to the one at which the driver ended or got stuck."""
        answers: list[list[bytes]] = []
        for index in group:
            own = []
            for _ in self._cases[index].calls:
                try:
                    data = session.driver.reply(PATIENCE)
                    if data == b"":
                        self._lost[index] = session.how_it_ended()
                except BadReply as error:
                    data, self._lost[index] = None, str(error)
                if not data:
                    return answers
                own.append(data)
            answers.append(own)
        return answers

    def _look(
        self, session: Session, group: Sequence[int], answers: Sequence[Sequence[bytes]], found: dict[int, tuple[Seen, ...]]
    ) -> int | None:
        """Find what was seen of the cases of a group, up to the first that has to run by itself, which is given back."""
        world = self._keeper.world
        touched = world.events_of(sum(map(len, answers)))
        at = 0
        for index, own in zip(group, answers, strict=False):
            case, end = self._cases[index], at + len(own)
            if end > len(touched) or (world.disturbed and end == len(touched)):
                if world.disturbed:
                    _restless(self._launch).add(_ways(case)[len(touched) - 1 - at])
                return index
            with contextlib.suppress(Exception):  # a fault of ours shows again, with its reason, when the case runs by itself
                found[index] = self._seen(session, case, own, touched[at:end])
            at = end
        if len(answers) == len(group):
            return None
        stuck = group[len(answers)]
        if stuck not in self._lost and len(self._cases[stuck].calls) == 1:
            _restless(self._launch).update(_ways(self._cases[stuck]))
        return stuck

    def _seen(
        self, session: Session, case: Case, answers: Sequence[bytes], touched: Sequence[tuple[Touched, ...]]
    ) -> tuple[Seen, ...]:
        gather, world = self._keeper.gather, self._keeper.world
        return tuple(
            [
                gather(world, case, call, Answer("reply", data), session, opened=opened)
                for call, data, opened in zip(case.calls, answers, touched, strict=True)
            ]
        )


def _writes(case: Case) -> bool:
    return any(call.op == "write" for call in case.calls)


@remembered(16)
def _restless(_launch: Launch) -> set[Way]:
    """The ways of calls that changed something, or hung, in a sweep of this target: those like them run by themselves then."""
    return set()


def _ways(case: Case) -> list[Way]:
    """What each call of a case does, the rule that decides it, and whether its name goes back up."""
    calls = zip(case.calls, predict(case), strict=True)
    return [(call.op, expect.rule, isinstance(call.name, str) and "/../" in call.name) for call, expect in calls]


def _quiet(case: Case) -> bool:
    """Whether a case is to change nothing, needs no time, and nothing large."""
    limits = case.limits
    if limits is not USUAL and (limits.seconds < USUAL.seconds or limits.memory != USUAL.memory):
        return False
    if not _still(case.world) or sum(map(_size, case.calls)) > protocol.INLINE_LIMIT or not all(map(_small, case.calls)):
        return False
    for call, expect in zip(case.calls, predict(case), strict=True):
        if call.op == "write" and expect.outcome != "refuse" and call.as_used.write_callback is None:
            return False
    return True


def _size(call: Call) -> int:
    """How many bytes a call takes along."""
    size = call.payload.size if call.op == "write" and call.payload else 0
    return size + sum([script.content.size for script in (call.read_callback, call.write_callback) if script and script.content])


def _small(call: Call) -> bool:
    """Whether a call comes to its end by itself, and has no very long names."""
    if call.race or call.resize or call.threads:
        return False
    if any(script and (script.waits or script.reenters) for script in (call.read_callback, call.write_callback)):
        return False
    names = (*call.names, call.fallback) if call.fallback else call.names
    return all(
        not isinstance(name, tuple) or sum(p.times * max(len(p.text), len(p.hex)) for p in name) <= LONGEST
        for name in names
        if name
    )


@remembered()
def _still(world: World) -> bool:
    """Whether the files of a world are small, and nothing in it goes on by itself or is particular."""
    for entry in world.entries:
        if isinstance(entry, File):
            if entry.attribute or content_of(entry).size > protocol.INLINE_LIMIT:
                return False
        elif isinstance(entry, Fifo):
            if entry.writer:
                return False
        elif not isinstance(entry, Link | Dir | HardLink | Socket):
            return False
    return True
