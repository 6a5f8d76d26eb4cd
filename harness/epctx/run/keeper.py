"""The keeper: it owns worlds, has a boxed driver make the calls of cases in them, and says what was seen.

It lives in a worker process of its own. The target runs in another process, so that whatever the target does to itself, the
keeper still sees it: a crash or a hang ends the driver, is pinned on the case that ran, and a new driver goes on.
"""

from __future__ import annotations

import functools
import mmap
import os
import traceback
from collections.abc import Iterator, Sequence, Set

import msgspec
from msgspec.structs import replace

from epctx.box import Box, Strength
from epctx.case import Call, Case, Dir, File, Limits, Name, Node, Struct, World, content_of, raw, stream
from epctx.errors import HarnessError, TargetError
from epctx.external import external_model
from epctx.lookout import Sighting
from epctx.model import model_bytes, names_in, nodes_in, session_models, shared_in, shared_model
from epctx.observation import Change, Observation, Seen, Touched
from epctx.oracle import LARGE
from epctx.product import Products, product_models
from epctx.run import emulated, proof
from epctx.run.session import Answer, Session
from epctx.spec import from_memory, model_directory, predict
from epctx.target import Launch, adaptable, contexts, emulation, loads, products, programs, sessions, wire
from epctx.target.driver import Reply, read_reply, request
from epctx.target.launch import Loader
from epctx.world import CannotBuild, Ground, LiveWorld, ModelFile, mark_of_content
from epctx.world.paths import text_of
from epctx_driver import protocol
from epctx_driver.processes import family

CANNOT = {
    "read": "the target has no read",
    "write": "the target has no write",
    "config": "the functions for configs are asked where a library is called, not in a session",
    "load": "the target does not walk the nodes of a model (it has no epctx_load)",
}
"""Why a case is skipped whose calls a target does not have."""
PLAINTEXT = "plain.no-plaintext"
"""The rule of which nothing can be said without a lookout."""
DRIVERS = 3
"""So many drivers are up at most: most cases need one, or one that is guarded, and some one with less memory."""


class Conditions(Struct, frozen=True):
    """How a target runs here: the strength of its box, that in words, the ONNX Runtime that it meets, and what it can.

    ``met`` says in words what it is, with its release, where that is not the target's own name. ``lent`` is whether it looks for
    functions that this ONNX Runtime does not have, and gets them from the driver.
    """

    strength: Strength
    box: str
    ort: str
    can: frozenset[str]
    lent: bool = False
    met: str = ""


class Keeper:
    """A ground with worlds, and a driver, in a box of the given strength (None: the strongest to be had).

    The drivers of the last few kinds stay up, so that cases that take turns on them wait for none.
    """

    def __init__(self, box: Strength | None = None) -> None:
        self.ground = Ground()
        self.world = LiveWorld(self.ground.plot(), marked=True)
        self.box = Box(self.ground, box)
        self._drivers: list[Session] = []
        """Those that are up, the one that was used last first."""
        self.afresh = False
        """Whether each world is built from nothing rather than changed."""
        self._spoilt = False
        """Whether a driver died in the midst of something that it would have put right, such as a race."""
        self._alone = False
        """Whether what runs now runs in a process of its own, which comes from the driver's."""
        self._untouched = False
        """Whether the driver's own process has made no call."""
        self.more_worlds: list[LiveWorld] = []
        """Worlds beside the one, for cases that are made ready at once."""

    def conditions(self, launch: Launch) -> Conditions:
        """Start the target and say how it runs. TargetError if it does not load."""
        hello = self.started(launch, Limits()).hello
        met = hello.target if launch.loader or launch.adapter else ""
        return Conditions(self.box.strength, self.box.describe(), hello.ort, hello.can, hello.lent, met)

    def observe(self, launch: Launch, case: Case) -> Observation:
        """Run a case. A crash or a hang that ends the driver is that of the call that was made."""
        root = self.world.root
        try:
            obstacle = self.obstacle(self.started(launch, case.limits, guarded(case) and not launch.emulated), case)
            if obstacle:
                return Observation(case.id, launch.target, root, skipped=obstacle)
            if launch.emulated:
                session = self.started(launch, case.limits)
                return Observation(case.id, launch.target, emulated.ROOT.decode(), self._emulate(session, case))
            return Observation(case.id, launch.target, root, self._run(launch, case))
        except CannotBuild as error:
            return Observation(case.id, launch.target, root, skipped=str(error))
        except TargetError:
            raise
        except Exception as error:  # a fault of ours in one case must not take the others with it
            self.end()
            where = traceback.extract_tb(error.__traceback__)[-1]
            told = str(error) if isinstance(error, HarnessError) else f"{error!r} at {where.name}, line {where.lineno}"
            return Observation(case.id, launch.target, root, error=told)

    def observe_alone(self, launch: Launch, case: Case) -> Observation:
        """Run a case in a driver of its own, so that nothing that ran before it has a part in what is seen."""
        self._alone = launch.forks
        if not (self._alone and self._untouched):
            self._end_all()
        try:
            return self.observe(launch, case)
        finally:
            self._alone = False

    def close(self) -> None:
        """End the drivers and remove the worlds."""
        self._end_all()
        for world in (self.world, *self.more_worlds):
            world.close()
        self.ground.close()

    def started(self, launch: Launch, limits: Limits, guarded: bool = False) -> Session:
        """The driver for a target under these limits, started if need be. TargetError if the target does not load."""
        drivers = self._drivers
        serving = next((driver for driver in drivers if driver.serves(launch, limits, guarded)), None)
        if serving is None:
            # a box is forked where there is no other thread, such as that of a lookout: it may hold what the child waits for
            for other in [d for n, d in enumerate(drivers) if n >= DRIVERS - 1 or d.launch != launch or d.lookout]:
                drivers.remove(other)
                other.end()
            serving = Session(self.box, launch, limits, self.world.root + "/outside", guarded=guarded)
            drivers.insert(0, serving)
            self._untouched = True
        elif serving is not drivers[0]:
            drivers.remove(serving)
            drivers.insert(0, serving)
            self._untouched = False
        self._untouched = self._untouched and self._alone
        return serving

    @property
    def session(self) -> Session | None:
        """The driver that was used last, if one is up."""
        return self._drivers[0] if self._drivers else None

    def up(self, session: Session) -> bool:
        """Whether a driver has not been ended."""
        return session in self._drivers

    def end(self, session: Session | None = None) -> None:
        """End a driver that is up, without ``session`` the one that was used last, if there is one."""
        if session := session or self.session:
            self._drivers.remove(session)
            session.end()

    def _end_all(self) -> None:
        while self._drivers:
            self.end()

    def obstacle(self, session: Session, case: Case) -> str:
        """Why a case cannot be run on this target, or on this machine; else nothing."""
        can, loader = session.hello.can, session.launch.loader
        if loader and (words := _loader_obstacle(loader, case, can)):
            return words
        if session.launch.adapter and (words := adaptable.obstacle(case, can, session.hello.cannot)):
            return words
        if session.launch.emulated:
            return emulation.obstacle(case, session.launch.platform)
        if session.launch.program and (words := programs.obstacle(case)):
            return words
        for call in case.calls:
            if call.op not in can:
                return CANNOT[call.op]
            if case.model.external is not None and not _external(session.launch):
                return "the target loads no tensors, and so no external data"
            if call.fallback is not msgspec.UNSET and "fallback" not in can:
                return "the target has no write with a separate fallback name"
            if (call.embeds or call.runs) and not session.launch.sessions:
                return "a helper compiles no model; that is done in sessions (see the target ep:bundled)"
            if call.support and not session.launch.sessions:
                return "nobody asks a helper which callbacks it uses; that is asked in sessions (see the target ep:bundled)"
        if session.unseen_because and PLAINTEXT in case.rules:
            return f"what is written and removed again during a call cannot be seen here: {session.unseen_because}"
        if session.launch.sessions and not _external(session.launch) and (words := sessions.obstacle(case)):
            return words
        if session.launch.sanitizer:
            if case.heavy:
                return "it is too heavy for a run under a sanitizer"
            if case.limits.memory != Limits().memory:
                return "it limits the address space, which a sanitizer reserves as a whole"
        entries = case.world.entries
        if self.ground.account.uid == 0 and any(isinstance(e, Dir | File) and e.mode & 0o600 != 0o600 for e in entries):
            return "the target runs as root, for whom the modes of files do not count"
        if case.heavy:
            needed = 3 * max((content_of(e).size for e in entries if isinstance(e, File)), default=0)
            if needed > _free_memory():
                return f"it takes {needed >> 20} MiB of memory, and {_free_memory() >> 20} are free"
        return ""

    # --- one case -----------------------------------------------------------------------------------------------------------

    def _run(self, launch: Launch, case: Case) -> tuple[Seen, ...]:
        """Build the world and make the calls, up to the first that does not come back."""
        session, seen = self.started(launch, case.limits, guarded(case)), []
        afresh, self._spoilt = self._spoilt, False
        for call, message in zip(case.calls, self.set_up(self.world, case, session, afresh), strict=True):
            # a session has memory of its own, and a sanitizer some for each byte of the target's
            measured = _large(case, call) and launch.measured and not launch.sanitizer
            resident = session.reset_peak_memory() if measured else 0
            marks = tuple(filter(None, map(mark_of_content, call.secrets)))
            lookout = session.lookout if marks else None
            if lookout:
                lookout.begin(marks, self.world.plot.places)
            answer = session.exchange(message, max(case.limits.seconds, launch.patience), self.world)
            sightings = lookout.end(family(session.process.pid)) if lookout else ()
            peak = session.peak_memory() - resident if resident and answer.how == "reply" else 0
            found = self.gather(self.world, case, call, answer, session, peak)
            seen.append(replace(found, plaintext=tuple(map(self._told, sightings))) if sightings else found)
            if found.ended in ("hang", "crash"):
                self.end()
                self._spoilt = True
                break
        return tuple(seen)

    def _emulate(self, session: Session, case: Case) -> tuple[Seen, ...]:
        """Make the calls of a case in a world that the driver emulates."""
        seen = emulated.observe(session, case, self.world, afresh=self._alone)
        if seen[-1].ended in ("hang", "crash"):
            self.end()
        return seen

    def _told(self, sighting: Sighting) -> str:
        return self.world.path_at(sighting.path) + (" (deleted)" if sighting.gone else "")

    def set_up(self, world: LiveWorld, case: Case, session: Session, afresh: bool = False) -> Iterator[bytes]:
        """Bring a case's world about; the requests for its calls, each made when it is asked for."""
        root, afresh = world.plot.root, afresh or self.afresh
        if session.launch.sessions:
            models, made = _models(session.launch, case, root), _products(session.launch)
            around = proof.with_products(case.world, made) if made else case.world
            directory = model_directory(_as_met(case, session.launch))
            self._bring(world, around, case, models[0][0], directory, afresh)
            if case.model.given and not _lies_at_given(case, root):
                raise CannotBuild("no model lies at the path that is given, so it cannot be loaded")
            return self._session_requests(world, case, models)
        data = model_bytes(case, root)
        self._bring(world, case.world, case, data, model_directory(case), afresh)
        return self._requests(world, case, names_in(data), nodes_in(data) if case.model.nodes else (), session.bulk)

    def set_up_for_all(
        self, world: LiveWorld, cases: Sequence[Case], session: Session, tickets: Iterator[int]
    ) -> Iterator[Iterator[bytes]]:
        """Bring about the world that cases for a library have in common, with a model that holds the names of all of them; for
        each case the requests for its calls, each with a ticket."""
        case, root = cases[0], world.plot.root
        data = shared_model(cases, root)
        self._bring(world, case.world, case, data, model_directory(case), self.afresh)
        return (
            self._requests(world, case, names, nodes, session.bulk, tickets)
            for case, (names, nodes) in zip(cases, shared_in(data, cases), strict=True)
        )

    def _bring(self, world: LiveWorld, around: World, case: Case, data: bytes, directory: Name | None, afresh: bool) -> None:
        model = ModelFile(case.model.path, data) if case.model.given else None
        world.change_to(around, model, directory, afresh=afresh)

    def _session_requests(self, world: LiveWorld, case: Case, models: list[list[bytes]]) -> Iterator[bytes]:
        root, file_size, last = world.plot.root, case.limits.file_size, models[0][0]
        given, cwd = raw(case.model.given, root), root + b"/" + raw(case.world.cwd)
        for index, (call, own) in enumerate(zip(case.calls, models, strict=True)):
            if case.model.given and own[0] != last:
                world.replace_model(ModelFile(case.model.path, own[0]))
                last = own[0]
            yield sessions.request(call, given, own, cwd, root, file_size, afresh=self._alone and not index)

    def _requests(
        self,
        world: LiveWorld,
        case: Case,
        held_names: Sequence[bytes],
        held: Sequence[Node],
        bulk: int,
        tickets: Iterator[int] | None = None,
    ) -> Iterator[bytes]:
        """The requests for the calls of a case whose model holds these names, or these nodes, as they were read back from it."""
        root, names = world.plot.root, iter(held_names)
        nodes = b"".join(map(wire.node, held)) if held else b""
        given, cwd = _raw(case.model.given, root), root + b"/" + _raw(case.world.cwd, root)
        for index, call in enumerate(case.calls):
            # a model's name is read back from the model that holds it
            own = [next(names) if call.source == "model" else raw(name, root) for name in call.names]
            name = None if call.name is None else own[0]
            extra = nodes + _interference(case, index, root) if nodes or call.resize or call.race else b""
            extra += wire.threads(call, own) if call.threads else b""
            yield request(
                call,
                name,
                given,
                cwd,
                root,
                case.limits.file_size,
                extra,
                bulk,
                ticket=next(tickets) if tickets else None,
                afresh=self._alone and not index,
            )

    def gather(
        self,
        world: LiveWorld,
        case: Case,
        call: Call,
        answer: Answer,
        session: Session,
        resident_peak: int = 0,
        found: tuple[tuple[Touched, ...], tuple[Change, ...]] | None = None,
    ) -> Seen:
        """Everything that was seen of a call. Raises CannotBuild if what the case takes for granted could not be had.

        ``found`` is what the call touched and changed, where somebody else asked the world for that.
        """
        if answer.how == "reply":
            reply = read_reply(call, answer.data, session.bulk)
            if reply.not_held:
                raise CannotBuild(
                    "the target takes no data through a read callback, so its output cannot be filled before the call"
                )
            if reply.skipped:
                raise CannotBuild(reply.skipped)
            if reply.fault:
                raise HarnessError(reply.fault)
        else:
            reply = Reply(Seen("crash" if answer.how == "crash" else "hang", detail=answer.detail), b"", False)
        seen = reply.seen if session.launch.measured else replace(reply.seen, unmeasured=True)
        if resident_peak:
            seen = replace(seen, memory=replace(seen.memory, resident_peak=resident_peak))
        touched = world.events() if found is None else found[0]
        if session.launch.sessions:  # ONNX Runtime itself reads the model
            touched = tuple(t for t in touched if t.what != "open" or not world.model_names.intersection(t.names))
            touched = tuple(t for t in touched if t.place != "above" or not all(map(_telemetry, t.names)))
        if world.overrun and not call.race:  # the exchanges of a race alone are more than that
            raise HarnessError("so much was touched that the kernel did not keep all of it; nothing can be said about the rest")
        if reports := session.reports():
            seen = replace(seen, reports=reports)
        leaks = world.leaks(reply.output)
        if seen.message:
            leaks += world.leaks(seen.message.encode("utf-8", "surrogateescape"))
        reads = world.reads(seen.output.size, seen.output.digest) if seen.output else ()
        changes = found[1] if found is not None else ()
        if found is None and (call.op == "write" or world.disturbed or answer.how != "reply"):
            changes = world.changes()
        if _external(session.launch):
            if seen.output and not reads and not isinstance(reply.output, mmap.mmap):
                reads = world.holds(reply.output)
            # the model is saved, too
            changes = tuple(c for c in changes if c.path not in world.model_names)
            touched = tuple(t for t in touched if not world.model_names.intersection(t.names))
        if (made := _products(session.launch)) is not None:
            seen = proof.told(case, call, made, world, replace(seen, touched=touched, reads=reads), bytes(reply.output))
            leaks, reads = (*leaks, *seen.leaks), seen.reads
        if not (touched or leaks or reads or changes):
            return seen
        if call.resize or call.race:
            ours = {name for path in _ours(call) for name in world.names(path)}
            touched = tuple(t for t in touched if t.what == "open" or not ours.intersection(t.names))
            changes = tuple(c for c in changes if c.path not in ours)
        if answer.how != "reply":
            touched = tuple(t for t in touched if not _of_fifo(world, t))
        return replace(seen, touched=touched, leaks=tuple(dict.fromkeys(leaks)), reads=reads, changes=changes)


def _external(launch: Launch) -> bool:
    """Whether a target loads tensors that lie outside of their models."""
    return launch.loader is not None and launch.loader.models == "external"


def _as_met(case: Case, launch: Launch) -> Case:
    """The case as a loader takes it that has a directory for models from memory."""
    return from_memory(case) if launch.loader and launch.loader.from_memory else case


def _models(launch: Launch, case: Case, root: bytes) -> list[list[bytes]]:
    """The models that each call loads, or that it saves or compiles."""
    if (made := _products(launch)) is not None:
        return [product_models(case, call, root, made.template) for call in case.calls]
    if launch.loader is None:
        return [session_models(case, call, root) for call in case.calls]
    met, place = _as_met(case, launch), launch.loader.tensor
    expects = met.expect or predict(met)
    if any(call.op == "write" and expect.file == met.model.path for call, expect in zip(met.calls, expects, strict=True)):
        raise CannotBuild("what is saved at that name is the model itself")
    return [[external_model(met, call, expect, root, place)] for call, expect in zip(met.calls, expects, strict=True)]


_raw = functools.lru_cache(maxsize=256)(raw)


def guarded(case: Case) -> bool:
    """Whether a case runs on a guarded driver: whether plaintext is at stake that must not get to the disk at any time."""
    return any(call.secrets for call in case.calls)


def _products(launch: Launch) -> Products | None:
    """What a loader made beforehand; None for what is no such loader."""
    return products.read(launch.loader.products) if launch.loader and launch.loader.models == "product" else None


def _loader_obstacle(loader: Loader, case: Case, can: Set[str]) -> str:
    """Why a case cannot be run on a loader that is met in Python; else nothing."""
    if loader.models == "external":
        return loads.obstacle(case, loader, can)
    met = from_memory(case) if loader.from_memory else case
    return contexts.obstacle(case) or proof.obstacle(met, products.read(loader.products))


def _telemetry(path: str) -> bool:
    """Whether a path is that of the log which the telemetry of ONNX Runtime 1.30 keeps among the temporary files."""
    return path.rpartition("/")[2].startswith("mat-debug-")


def _lies_at_given(case: Case, root: bytes) -> bool:
    """Whether the path that the runtime is given leads to the model."""
    given = os.path.join(root, raw(case.world.cwd), raw(case.model.given, root))
    try:
        return os.path.samefile(given, os.path.join(root, raw(case.model.path)))
    except OSError:
        return False


def _interference(case: Case, index: int, root: bytes) -> bytes:
    """The fields for what happens during a call: a file that changes its size, entries that change places."""
    call, parts = case.calls[index], []
    if call.resize:
        parts.append(protocol.field(protocol.RESIZE, protocol.SIZE.pack(call.resize.size) + root + b"/" + raw(call.resize.path)))
    if call.race:
        a, b = (root + b"/" + raw(path) for path in (call.race.a, call.race.b))
        parts.append(
            protocol.field(
                protocol.RACE, protocol.RACE_PLAN.pack(call.race.rounds, protocol.RACE_KINDS[call.race.how], len(a)) + a + b
            )
        )
        content = case.expect[index].content if case.expect else None
        if content:
            parts.append(protocol.field(protocol.RACE_INSIDE, stream(content.key, content.size)))
    return b"".join(parts)


def _large(case: Case, call: Call) -> bool:
    """Whether a read may bring so much that its peak memory says something."""
    if call.op != "read" or call.race:
        return False
    script = call.read_callback
    sizes = [content_of(e).size for e in case.world.entries if isinstance(e, File)]
    sizes += [script.content.size] if script and script.content else []
    return any(LARGE <= size < (1 << 40) for size in sizes)


def _ours(call: Call) -> list[Name]:
    """World paths of what the driver itself changes during a call, as the script of the case says."""
    return ([call.resize.path] if call.resize else []) + ([call.race.a, call.race.b] if call.race else [])


def _of_fifo(world: LiveWorld, touched: Touched) -> bool:
    """Whether an event is of a FIFO, which the watchdog may have opened."""
    prefix = world.plot.root + b"/"
    return any(text_of(path.removeprefix(prefix)) in touched.names for path in world.fifos)


def _free_memory() -> int:
    """Bytes of memory that are free or can be freed."""
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable"))
