"""The quick lane: plain reads, several of them at once.

A plain read is a case with one call that reads a small file by its name, in a world in which nothing can block. Each gets a world
of its own, and so a watch of its own. While the driver reads in some, the keeper makes the others ready.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from epctx.case import Case, Dir, File, HardLink, Limits, Link
from epctx.observation import Observation, Seen
from epctx.remember import remembered
from epctx.run.keeper import Keeper, guarded
from epctx.run.session import Answer, Session
from epctx.target import Launch
from epctx.target.driver import BadReply
from epctx.world import CannotBuild, LiveWorld
from epctx_driver import protocol

GROUP, LEAST = 24, 4
"""How many plain reads are sent at once. While the driver makes them, the worlds of the next group are made."""


def observe_all(keeper: Keeper, launch: Launch, cases: Sequence[Case]) -> list[Observation]:
    """Run cases: the plain reads first, in the lane, then one by one all others and those that the lane came to nothing with."""
    lane = Lane(keeper, launch, cases)
    lane.run()
    others = [index for index in range(len(cases)) if index not in lane.seen]
    others.sort(key=lambda index: guarded(cases[index]))  # each kind of driver is started once
    one_by_one = {index: keeper.observe(launch, cases[index]) for index in others}
    seen = [lane.seen.get(index) or one_by_one[index] for index in range(len(cases))]
    if lane.lost is not None and not _ended(seen[lane.lost]):  # the driver died in that read, and does not if it is made again
        seen[lane.lost] = lane.observation(lane.lost, keeper.world, Seen("crash", detail=lane.how_lost))
    return seen


class Lane:
    """One run of the plain reads among ``cases``. ``seen`` holds what was seen of each, by its index.

    Where the driver ended, or sent what is no answer, ``lost`` is the index of the read that it was at, ``how_lost`` the words.
    """

    def __init__(self, keeper: Keeper, launch: Launch, cases: Sequence[Case]) -> None:
        self.seen: dict[int, Observation] = {}
        self.lost: int | None = None
        self.how_lost = ""
        self._keeper, self._launch, self._cases = keeper, launch, cases
        self._waiting: deque[tuple[int, LiveWorld]] = deque()

    def run(self) -> None:
        """Make all plain reads, or as many as the driver answers in time."""
        if self._launch.sanitizer:  # whose reports belong to a case only where it runs by itself
            return
        if self._launch.loader:  # a session takes longer than its world, and is waited for
            return
        if self._launch.emulated:  # what is seen of a world is part of a reply
            return
        plain = [index for index, case in enumerate(self._cases) if _plain(case)]
        if not plain:
            return
        session, worlds = self._keeper.started(self._launch, Limits()), self._keeper.more_worlds
        plain = [index for index in plain if not self._keeper.obstacle(session, self._cases[index])]
        while len(worlds) < min(2 * GROUP, len(plain)):
            worlds.append(LiveWorld(self._keeper.ground.plot()))
        free = itertools.cycle(worlds)  # two groups are under way at most, so that each world is done with when its turn comes
        for group in groups_of(plain):
            ready, messages = self._set_up(session, zip(group, free, strict=False))
            session.driver.send(b"".join(messages))  # where nobody is there to take it, no answer comes either
            self._waiting.extend(ready)
            if not self._take(session, leave=len(ready)):
                return
        self._take(session, leave=0)

    def observation(self, index: int, world: LiveWorld, seen: Seen) -> Observation:
        """What was seen of one of the cases in its world."""
        return Observation(self._cases[index].id, self._launch.target, world.root, (seen,))

    def _set_up(
        self, session: Session, group: Iterable[tuple[int, LiveWorld]]
    ) -> tuple[list[tuple[int, LiveWorld]], list[bytes]]:
        """Bring the worlds of a group of cases about; those that are ready, and the requests for their reads."""
        ready: list[tuple[int, LiveWorld]] = []
        messages: list[bytes] = []
        with self._keeper.ground.inotify.at_once():
            for index, world in group:
                try:
                    messages += self._keeper.set_up(world, self._cases[index], session)
                except CannotBuild:
                    continue
                ready.append((index, world))
        return ready, messages

    def _take(self, session: Session, leave: int) -> bool:
        """Take what was seen of the oldest reads, until ``leave`` wait. False if the driver is gone or stuck, and was ended."""
        answered: list[tuple[int, LiveWorld, bytes]] = []
        alive = True
        while alive and len(self._waiting) > leave:
            index, world = self._waiting.popleft()
            try:
                data = session.driver.reply()
                if data == b"":
                    self.lost, self.how_lost = index, session.how_it_ended()
            except BadReply as error:
                data, self.lost, self.how_lost = None, index, str(error)
            if data:
                answered.append((index, world, data))
            alive = bool(data)
        with self._keeper.ground.inotify.at_once():
            for index, world, data in answered:
                case = self._cases[index]
                try:
                    seen = self._keeper.gather(world, case, case.calls[0], Answer("reply", data), session)
                except Exception:  # a fault of ours shows again, with its reason, when the case runs by itself
                    continue
                if "above" in [touched.place for touched in seen.touched]:  # in what worlds share: whose it is shows only then
                    continue
                self.seen[index] = self.observation(index, world, seen)
        if not alive:
            self._keeper.end()
        return alive


def groups_of(plain: Sequence[int]) -> Iterator[Sequence[int]]:
    """What is sent at once, smaller and smaller at the end: while the driver makes the last reads, nothing else is made ready."""
    start = 0
    while start < len(plain):
        size = min(GROUP, max(LEAST, (len(plain) - start) // 2))
        yield plain[start : start + size]
        start += size


def _ended(observation: Observation) -> bool:
    """Whether a case ended its driver."""
    return any(seen.ended in ("crash", "hang") for seen in observation.calls)


@remembered()
def _plain(case: Case) -> bool:
    """Whether a case is a single read of small files by name, in a world in which nothing can block."""
    if len(case.calls) != 1 or case.limits != Limits():
        return False
    call = case.calls[0]
    if call.op != "read" or call.read_callback or call.race or call.resize or call.held:
        return False
    if not isinstance(call.name, str) or len(call.name) > 4096:
        return False
    for entry in case.world.entries:
        if isinstance(entry, File):
            if entry.attribute or (entry.content is not None and entry.content.size > protocol.INLINE_LIMIT):
                return False
        elif not isinstance(entry, Link | Dir | HardLink):
            return False
    return True
