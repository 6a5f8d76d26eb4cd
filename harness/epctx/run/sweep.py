"""The sweep: cases that share a world are run in it one after the other, as long as it stays as it is.

To bring a world about costs more than to call the target in it. So the calls of many cases go to the driver at once; it marks
where each ends, which tells apart what each touched. What is to change something is the last that is sent for then, and is put
right before the next. What does so all the same ends the sweep: such a case runs by itself, in a world that was put right.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from epctx.case import Case, Limits, Name
from epctx.observation import Change, Observation, Seen, Touched
from epctx.run.keeper import Keeper, guarded
from epctx.run.lane import observe_all
from epctx.run.quiet import changing, habits, quiet, ways, writes
from epctx.run.session import Answer, Session
from epctx.target import Launch
from epctx.target.driver import BadReply, await_late, callbacks_in
from epctx.world import CannotBuild, mark_of_content

GROUP, LEAST = 16, 3
"""How many calls are sent at once; while the driver runs them, those before are looked at. With fewer a sweep does not pay."""
FULL, ROOM = 1 << 14, 1 << 17
"""Bytes of requests after which a group is full, and that certainly fit into a socket: driver and keeper must not wait for each
other to read."""
PATIENCE = 0.5
"""Seconds after which a call that has not come back is taken to hang."""


def observe_by_world(keeper: Keeper, launch: Launch, cases: Sequence[Case]) -> list[Observation]:
    """Run cases, those that share a world, and the place of the model in it, together; best if they follow each other."""
    return [observation for _, observation in sorted(observed(keeper, launch, cases), key=lambda found: found[0])]


def observed(keeper: Keeper, launch: Launch, cases: Sequence[Case]) -> Iterator[tuple[int, Observation]]:
    """The same, one by one as they come: the index of each case, and what was seen of it."""
    single: list[int] = []
    awaited: dict[int, Observation] = {}
    late: list[Awaited] = []
    for indexes in _by_world(cases):
        if len(indexes) < LEAST or launch.sessions or launch.loader or launch.sanitizer:
            single += indexes
            continue
        plain = [index for index in indexes if not guarded(cases[index])]
        for own in (plain, sorted(set(indexes).difference(plain))):
            sweep = Sweep(keeper, launch, cases, own)
            late += sweep.awaited
            for one in sweep.awaited:
                if one.case in sweep.seen:
                    awaited[one.case] = sweep.seen.pop(one.case)
            yield from sweep.seen.items()
    for index in {one.case for one in late if _comes_late(keeper, one)}:
        awaited[index] = keeper.observe(launch, cases[index])
    yield from awaited.items()
    yield from zip(single, observe_all(keeper, launch, [cases[index] for index in single]), strict=True)


def _by_world(cases: Sequence[Case]) -> list[list[int]]:
    worlds: dict[tuple[int, Name, Name], list[int]] = {}
    for index, case in enumerate(cases):
        worlds.setdefault((id(case.world), case.model.given, case.model.path), []).append(index)
    # what may come late does so while the others run
    return sorted(worlds.values(), key=lambda indexes: not any(call.lingers for index in indexes for call in cases[index].calls))


class Part(NamedTuple):
    """Calls of a case, by its index, that are made one after the other. Those of a case that ``changes`` the world are apart from
    all others, and each that may do so is the last of its part."""

    case: int
    calls: range
    changes: bool


class Group(NamedTuple):
    """Parts that are sent at once, and what is sent. One that changes the world is the last, and nothing is sent after it."""

    parts: Sequence[Part]
    message: bytes

    @property
    def changes(self) -> bool:
        """Whether the world has to be put right before anything else is sent."""
        return self.parts[-1].changes


def _parts(index: int, case: Case, changing: Sequence[int]) -> list[Part]:
    """The parts of a case, of which the calls ``changing`` may change the world."""
    end = len(case.calls)
    if not changing:
        return [Part(index, range(end), False)]
    ends = sorted({call + 1 for call in changing} | {end})
    return [Part(index, range(first, last), True) for first, last in itertools.pairwise((0, *ends))]


def _groups(parts: Iterable[tuple[Part, Iterator[bytes]]]) -> Iterator[Group]:
    """``parts``, each with the requests of its case that have not been sent yet, in groups."""
    group: list[Part] = []
    message, calls = b"", 0
    for part, requests in parts:
        own = b"".join(itertools.islice(requests, len(part.calls)))
        if group and len(message) + len(own) > ROOM:
            yield Group(group, message)
            group, message, calls = [], b"", 0
        group.append(part)
        calls += len(part.calls)
        message += own
        if part.changes or calls >= GROUP or len(message) > FULL:
            yield Group(group, message)
            group, message, calls = [], b"", 0
    if group:
        yield Group(group, message)


def _mixed(others: Sequence[int], changes: Sequence[int]) -> list[int]:
    """Cases that change the world among the others, so that there is something to look at while they run."""
    mixed: list[int] = []
    for number, index in enumerate(changes):
        start, end = (len(others) * n // len(changes) for n in (number, number + 1))
        mixed += [*others[start:end], index]
    return mixed if changes else list(others)


class Looked(NamedTuple):
    """A call that has been made, by the indexes of its case and in that, with all that is to be looked at."""

    case: int
    call: int
    answer: bytes
    touched: tuple[Touched, ...]
    changes: tuple[Change, ...] = ()


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
        self._may_change: dict[int, tuple[int, ...]] = {}
        self._looked: list[Looked] = []
        self._found: dict[int, list[Seen]] = {}
        waiting = [index for index in indexes if quiet(cases[index])]
        if len(waiting) >= LEAST:
            session = keeper.started(launch, Limits(), guarded(cases[waiting[0]]))
            waiting = [index for index in waiting if not keeper.obstacle(session, cases[index])]
        waiting = self._in_order(waiting)
        while len(waiting) >= LEAST:
            waiting = self._swept(waiting)
        for index in indexes:
            if index not in self.seen:
                self.seen[index] = self._by_itself(index)

    def _in_order(self, indexes: Sequence[int]) -> list[int]:
        """Those that may be swept: what is not to change the world, first reads, as writes may do more than they should."""
        hang = habits(self._launch).hang
        waiting = [index for index in indexes if not hang or hang.isdisjoint(ways(self._cases[index]))]
        changes = [index for index in waiting if self._changing(index)]
        others = sorted(set(waiting).difference(changes), key=lambda index: (writes(self._cases[index]), index))
        if changes and guarded(self._cases[waiting[0]]):  # what one case writes may be another's plaintext on the disk
            secret = {content.key for index in waiting for call in self._cases[index].calls for content in call.secrets}
            changes = [index for index in changes if secret.isdisjoint(self._written(index))]
        return _mixed(others, changes)

    def _changing(self, index: int) -> tuple[int, ...]:
        """Which calls of a case may change the world, by what is known now."""
        if (found := self._may_change.get(index)) is None:
            found = self._may_change[index] = changing(self._cases[index], self._launch)
        return found

    def _written(self, index: int) -> set[str]:
        """The keys of what those calls of a case may write that may change the world."""
        calls = self._cases[index].calls
        return {payload.key for call in self._changing(index) if (payload := calls[call].payload)}

    def _by_itself(self, index: int) -> Observation:
        """Run one case by itself. A driver that died in it before, and does not now, died all the same."""
        found = self._keeper.observe(self._launch, self._cases[index])
        if index in self._lost and not any(seen.ended in ("crash", "hang") for seen in found.calls):
            return self._observation(index, (Seen("crash", detail=self._lost[index]),))
        return found

    def _observation(self, index: int, seen: Sequence[Seen]) -> Observation:
        return Observation(self._cases[index].id, self._launch.target, self._keeper.world.root, tuple(seen))

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
        last, alive = self._exchange(session, _groups(self._divided(indexes, requests)))
        if not alive:
            keeper.end(session)
            if session.lookout:
                self._found.clear()
        elif session.lookout and session.lookout.end([session.process.pid]):
            self._found.clear()
        whole = {index: own for index, own in self._found.items() if len(own) == len(self._cases[index].calls)}
        self._found.clear()
        opened = [index for index, own in whole.items() if any(seen.touched for seen in own)]
        if last is None and any(writes(self._cases[index]) for index in opened) and world.changes():
            return []
        self.seen.update((index, self._observation(index, seen)) for index, seen in whole.items())
        for index, own in zip(indexes, tickets, strict=True):
            made = zip(self._cases[index].calls, own, strict=True) if index in whole else ()
            self.awaited += [Awaited(session, index, ticket) for call, ticket in made if call.lingers]
        return [] if last is None else indexes[indexes.index(last) + 1 :]

    def _divided(self, indexes: Sequence[int], requests: Iterable[Iterator[bytes]]) -> Iterator[tuple[Part, Iterator[bytes]]]:
        for index, own in zip(indexes, requests, strict=True):
            for part in _parts(index, self._cases[index], self._changing(index)):
                yield part, own

    def _exchange(self, session: Session, coming: Iterator[Group]) -> tuple[int | None, bool]:
        """Have the calls made and look at them, up to a case that has to run by itself, if there is one; and whether the driver
        is still there."""
        sent: deque[Group] = deque()
        ahead = next(coming, None)
        last, alive = None, True
        while alive and (sent or ahead):
            if ahead and _fits(ahead, sent):
                session.driver.send(ahead.message)
                sent.append(ahead)
                ahead = next(coming, None)
                continue
            self._see(session)  # while the driver is at work
            group = sent.popleft()
            answers = self._answers(session, group)
            alive = len(answers) == len(group.parts)
            if last is None:
                last = self._look(session, group, answers)
            if last is not None:
                ahead = None
        self._see(session)
        return last, alive

    def _answers(self, session: Session, group: Group) -> list[list[bytes]]:
        """The answers to the calls of a group, by part; up to the one at which the driver ended or got stuck."""
        answers: list[list[bytes]] = []
        for part in group.parts:
            own = []
            for _ in part.calls:
                try:
                    data = session.driver.reply(PATIENCE)
                    if data == b"":
                        self._lost[part.case] = session.how_it_ended()
                except BadReply as error:
                    data, self._lost[part.case] = None, str(error)
                if not data:
                    return answers
                own.append(data)
            answers.append(own)
        return answers

    def _look(self, session: Session, group: Group, answers: Sequence[Sequence[bytes]]) -> int | None:
        """Find what the calls of a group touched, up to a case that has to run by itself, which is given back; and put right what
        they changed."""
        world = self._keeper.world
        touched = world.events_of(sum(map(len, answers)))
        at = 0
        for part, own in zip(group.parts, answers, strict=False):
            end = at + len(own)
            if end > len(touched) or (world.disturbed and end == len(touched) and not part.changes):
                if world.disturbed:
                    if not session.lookout:
                        self._may_change.clear()
                    habits(self._launch).change.add(ways(self._cases[part.case])[part.calls[len(touched) - 1 - at]])
                return part.case
            self._looked += map(Looked, itertools.repeat(part.case), part.calls, own, touched[at:end])
            at = end
        if len(answers) == len(group.parts):
            return self._put_right(session, group.parts[-1]) if group.changes else None
        stuck = group.parts[len(answers)].case
        if stuck not in self._lost and len(self._cases[stuck].calls) == 1:
            habits(self._launch).hang.update(ways(self._cases[stuck]))
        return stuck

    def _put_right(self, session: Session, part: Part) -> int | None:
        """Find what the last call of a part changed, and at the end of its case undo it; the case, if that fails."""
        world, end = self._keeper.world, len(self._cases[part.case].calls)
        call = self._looked.pop()
        divided = len(part.calls) < end
        if divided:  # what is read is told by what the world holds now
            self._see(session)
        if session.lookout:
            session.lookout.look()
        self._looked.append(call._replace(changes=world.changes(of_touched=True)))
        if divided:
            self._see(session)
        if part.calls.stop == end:
            try:
                world.mend()
            except CannotBuild:
                return part.case
        if session.lookout:  # which would open again what differs, and that be seen as the target's doing
            session.lookout.renew()
        return None

    def _see(self, session: Session) -> None:
        """What was seen of the calls that have been looked at."""
        gather, world = self._keeper.gather, self._keeper.world
        for index, number, data, touched, changes in self._looked:
            case = self._cases[index]
            with contextlib.suppress(Exception):  # a fault of ours shows again, with its reason, when the case runs by itself
                seen = gather(world, case, case.calls[number], Answer("reply", data), session, found=(touched, changes))
                self._found.setdefault(index, []).append(seen)
        self._looked.clear()


def _fits(group: Group, sent: Sequence[Group]) -> bool:
    """Whether a group may be sent while those that were sent are under way."""
    if not sent:
        return True
    return len(sent) < 2 and not sent[-1].changes and len(sent[0].message) + len(group.message) < ROOM
