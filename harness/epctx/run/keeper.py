"""The keeper: it owns a world, has a boxed driver make the calls of a case in it, and says what was seen.

It lives in a worker process of its own. The target runs in another process, so that whatever the target does to itself, the
keeper still sees it: a crash or a hang ends the driver, is pinned on the case that ran, and a new driver goes on.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from epctx.box import Box, Strength
from epctx.case import Call, Case, Dir, File, Limits, Struct, content_of, raw, stream
from epctx.errors import HarnessError, TargetError
from epctx.model import model_bytes, names_in, nodes_in
from epctx.observation import Observation, Seen, Touched
from epctx.run.session import Session
from epctx.spec import model_directory
from epctx.target import Launch, wire
from epctx.target.driver import Reply, read_reply, request
from epctx.world import CannotBuild, Ground, LiveWorld, ModelFile

LARGE = 1 << 20
"""Contents from this size on (bytes) are worth a look at the resident memory."""


class Conditions(Struct, frozen=True):
    """How a target runs here: the strength of its box, that in words, the ONNX Runtime that it meets, and what it can."""

    strength: Strength
    box: str
    ort: str
    can: frozenset[str]


class Keeper:
    """A ground with a world, and at most one driver at a time, in a box of the given strength (None: the strongest to be had)."""

    def __init__(self, box: Strength | None = None) -> None:
        self.ground = Ground()
        self.world = LiveWorld(self.ground)
        self.box = Box(self.ground, box)
        self.session: Session | None = None
        self.afresh = False
        """Whether each world is built from nothing rather than changed."""

    def conditions(self, launch: Launch) -> Conditions:
        """Start the target and say how it runs. TargetError if it does not load."""
        hello = self._started(launch, Limits()).hello
        return Conditions(self.box.strength, self.box.describe(), hello.ort, hello.can)

    def observe(self, launch: Launch, case: Case) -> Observation:
        """Run a case. A crash or a hang is confirmed by running it again, alone, in a new driver."""
        root = os.fsdecode(self.ground.root)
        try:
            obstacle = self._obstacle(self._started(launch, case.limits), case)
            if obstacle:
                return Observation(case.id, launch.target, root, skipped=obstacle)
            seen, confirmed = self._confirmed(launch, case)
            return Observation(case.id, launch.target, root, seen, confirmed=confirmed)
        except CannotBuild as error:
            return Observation(case.id, launch.target, root, skipped=str(error))
        except TargetError:
            raise
        except Exception as error:  # a fault of ours in one case must not take the others with it
            self._end()
            where = traceback.extract_tb(error.__traceback__)[-1]
            told = str(error) if isinstance(error, HarnessError) else f"{error!r} at {where.name}, line {where.lineno}"
            return Observation(case.id, launch.target, root, error=told)

    def _confirmed(self, launch: Launch, case: Case) -> tuple[tuple[Seen, ...], bool]:
        """What was seen of a case, and whether a crash or hang that ended the driver came again."""
        seen = self._run(launch, case)
        if self.session is not None:
            return seen, True
        again = self._run(launch, case)
        if self.session is None or seen[-1].ended == "hang":  # a hang that does not come again was a slow machine
            return again, True
        return seen, False

    def close(self) -> None:
        """End the driver and remove the world."""
        self._end()
        self.world.close()
        self.ground.close()

    def _started(self, launch: Launch, limits: Limits) -> Session:
        if self.session is None or not self.session.serves(launch, limits):
            self._end()
            self.session = Session(self.box, launch, limits, os.fsdecode(self.ground.root + b"/outside"))
        return self.session

    def _end(self) -> None:
        if self.session:
            self.session.end()
            self.session = None

    def _obstacle(self, session: Session, case: Case) -> str:
        """Why a case cannot be run on this target, or on this machine; else nothing."""
        can = session.hello.can
        for call in case.calls:
            if call.op not in can:
                return f"the target does not {call.op}"
            if call.fallback is not msgspec.UNSET and "fallback" not in can:
                return "the target has no write with a separate fallback name"
        entries = case.world.entries
        if self.ground.account.uid == 0 and any(isinstance(e, Dir | File) and e.mode & 0o600 != 0o600 for e in entries):
            return "the target runs as root, for whom the modes of files do not count"
        if case.heavy:
            needed = 3 * max((content_of(e).size for e in entries if isinstance(e, File)), default=0)
            if needed > _free_memory():
                return f"it takes {needed >> 20} MiB of memory, and {_free_memory() >> 20} are free"
        return ""

    # --- a case ---------------------------------------------------------------------------------------------------------------

    def _run(self, launch: Launch, case: Case) -> tuple[Seen, ...]:
        """Build the world and make the calls, up to the first that does not come back."""
        session, root = self._started(launch, case.limits), self.ground.root
        data = model_bytes(case, root)
        model = ModelFile(case.model.path, data) if case.model.given else None
        self.world.change_to(case.world, model, model_directory(case), afresh=self.afresh)
        names = iter(names_in(data))
        nodes = b"".join(map(wire.node, nodes_in(data))) if case.model.nodes else b""
        given, cwd = raw(case.model.given, root), os.path.join(root, raw(case.world.cwd))
        seen: list[Seen] = []
        for index, call in enumerate(case.calls):
            name = self._name(call, names)
            extra = nodes + self._interference(case, index)
            message = request(call, name, given, cwd, root, case.limits.file_size, extra, session.bulk)
            seen.append(self._call(session, call, message, case.limits.seconds, large=_large(case, call)))
            if seen[-1].ended in ("hang", "crash"):
                break
        return tuple(seen)

    def _name(self, call: Call, names: Iterator[bytes]) -> bytes | None:
        """The name of a call: read back from the model that holds it, or the caller's own."""
        if call.name is None:
            return None
        return next(names) if call.source == "model" else raw(call.name, self.ground.root)

    def _interference(self, case: Case, index: int) -> bytes:
        """The fields for what happens during a call: a file that changes its size, entries that change places."""
        call, parts = case.calls[index], []
        if call.resize:
            path = os.path.join(self.ground.root, raw(call.resize.path))
            parts.append(wire.field(wire.RESIZE, wire.SIZE.pack(call.resize.size) + path))
        if call.race:
            a, b = (os.path.join(self.ground.root, raw(p)) for p in (call.race.a, call.race.b))
            parts.append(wire.field(wire.RACE, wire.PAIR.pack(call.race.rounds, len(a)) + a + b))
            content = case.expect[index].content if case.expect else None
            if content:
                parts.append(wire.field(wire.RACE_INSIDE, stream(content.key, content.size)))
        return b"".join(parts)

    def _call(self, session: Session, call: Call, message: bytes, seconds: float, *, large: bool) -> Seen:
        """Make one call, and gather everything that was seen of it."""
        resident = session.reset_peak_memory() if large else 0
        how, data, detail = session.exchange(message, seconds, self.world)
        if how == "reply":
            reply = read_reply(call, data, session.bulk)
            if reply.not_held:
                raise HarnessError(
                    "The target took no data through a read callback, so its output could not be filled before the call."
                )
        else:
            reply = Reply(Seen("crash" if how == "crash" else "hang", detail=detail, seconds=seconds), b"", False)
        seen, world = reply.seen, self.world
        if large and how == "reply":
            seen = replace(seen, memory=replace(seen.memory, resident_peak=session.peak_memory() - resident))
        touched = world.events()
        leaks = world.leaks(reply.output)
        if seen.message:
            leaks += world.leaks(seen.message.encode("utf-8", "surrogateescape"))
        reads = world.reads(seen.output.size, seen.output.digest) if seen.output else ()
        changes = world.changes() if call.op == "write" or world.disturbed or how != "reply" else ()
        if how in ("hang", "crash"):
            self._end()
        if not (touched or leaks or reads or changes):
            return seen
        if call.resize or call.race:
            ours = _ours(call)
            touched = tuple(t for t in touched if t.what == "open" or not ours.intersection(t.names))
            changes = tuple(c for c in changes if c.path not in ours)
        if how != "reply":
            touched = tuple(t for t in touched if not self._fifo(t))
        return replace(seen, touched=touched, leaks=tuple(dict.fromkeys(leaks)), reads=reads, changes=changes)

    def _fifo(self, touched: Touched) -> bool:
        """Whether an event is of a FIFO that the watchdog opened."""
        prefix = self.ground.root + b"/"
        paths = {path.removeprefix(prefix).decode("utf-8", "backslashreplace") for path in self.world.fifos}
        return bool(paths.intersection(touched.names))


def _large(case: Case, call: Call) -> bool:
    """Whether a read may bring so much that its peak memory says something."""
    if call.op != "read" or call.race:
        return False
    script = call.read_callback
    sizes = [content_of(e).size for e in case.world.entries if isinstance(e, File)]
    sizes += [script.content.size] if script and script.content else []
    return any(LARGE <= size < (1 << 40) for size in sizes)


def _ours(call: Call) -> set[str]:
    """World paths that the driver itself changes during a call, as the script of the case says."""
    paths = [call.resize.path] if call.resize else []
    paths += [call.race.a, call.race.b] if call.race else []
    return {raw(path).decode("utf-8", "backslashreplace") for path in paths}


def _free_memory() -> int:
    """Bytes of memory that are free or can be freed."""
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable"))
