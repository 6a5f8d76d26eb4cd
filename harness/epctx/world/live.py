"""The world as it stands, for one case after the other: brought about, watched, and compared."""

from __future__ import annotations

import contextlib
import mmap
import os
import stat
from collections.abc import Callable, Sequence
from typing import Literal

from epctx import syscalls
from epctx.case import Content, Fifo, File, Link, Name, World, raw, stream
from epctx.observation import Change, Place, State, Touched, digest
from epctx.world.differences import Signature, open_parent, read_digest, signature, state_of
from epctx.world.entries import ModelFile, content, digest_of, plan_of
from epctx.world.paths import join, path_of, place_of, split, text_of
from epctx.world.plot import SCRATCH, Plot
from epctx.world.standing import Standing
from epctx.world.watch import Event, Inode

_WHAT: dict[int, Literal["open", "create", "modify", "delete", "move", "attributes"]] = {
    syscalls.IN_OPEN: "open",
    syscalls.IN_CREATE: "create",
    syscalls.IN_MODIFY: "modify",
    syscalls.IN_DELETE: "delete",
    syscalls.IN_MOVED_FROM: "move",
    syscalls.IN_MOVED_TO: "move",
    syscalls.IN_ATTRIB: "attributes",
}
_OF_NAMES = syscalls.IN_CREATE | syscalls.IN_DELETE | syscalls.IN_MOVED_FROM | syscalls.IN_MOVED_TO
_WRITTEN = syscalls.IN_MODIFY | syscalls.IN_CLOSE_WRITE


class LiveWorld:
    """The one world on a plot, with its root at the real path ``root``.

    For each case ``change_to``, and for each of its calls ``events``, then, where that saw more than opens (``disturbed``) or the
    call was a write, ``changes``. What a case left is repaired by the next ``change_to``.
    """

    def __init__(self, plot: Plot, *, marked: bool = False) -> None:
        """Start with an empty world. One that is ``marked`` tells apart what each of several calls touched."""
        self.plot, self.root = plot, os.fsdecode(plot.root)
        self.disturbed = False
        self.overrun = False
        """Whether more was touched since ``change_to`` than the kernel kept events of."""
        self._standing = Standing(plot, marked=marked)
        self._held: dict[tuple[int, str], tuple[str, ...]] = {}
        """What ``reads`` answered, as long as nothing changes."""
        self._written: set[Inode] = set()
        self._replaced: set[bytes] = set()
        self._concerned: set[bytes] = set()
        """The paths of all that was touched since ``_settle``."""
        self._vague = False
        """Whether something was done to a directory since then, so that more may differ than these."""

    def change_to(self, world: World, model: ModelFile | None, model_directory: Name | None, *, afresh: bool = False) -> None:
        """Bring the world into the declared state, with the model file in it; undo whatever the last case did.

        ``model_directory`` is the world path of the real directory of the model ("": the root; None: a model from memory). It is
        done by changing what differs, or ``afresh``. Raises CannotBuild, after which the world is half built until the next call,
        and CaseError.
        """
        self.events()  # what came after the last call's is nobody's any more, but has to be repaired
        if self.disturbed:
            self.changes()
        directory = None if model_directory is None else path_of(model_directory) if model_directory else b""
        self._standing.bring(plan_of(world, model), directory, afresh=afresh)
        self._settle()
        self.overrun = False

    def mend(self) -> None:
        """Undo what was done since ``change_to``, of which ``changes`` told. Raises CannotBuild."""
        standing = self._standing
        if standing.dirty:
            standing.bring(standing.plan, standing.directory)
        self._settle()

    def replace_model(self, model: ModelFile) -> None:
        """Give the model file another content, in place. Nothing of that is seen."""
        path = path_of(model.path)
        fd = os.open(self.plot.root + b"/" + path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(fd, "wb") as file:
            file.write(model.data)
        self.events()
        self.changes()

    @property
    def model_names(self) -> frozenset[str]:
        """All world paths of the model file."""
        paths = [path for path, entry in self._standing.plan.items() if isinstance(entry, ModelFile)]
        return frozenset(text_of(name) for path in paths for name in self._standing.inventory.names_at(path) or [path])

    def _settle(self) -> None:
        """What was seen up to now is known, or this process's own doing."""
        self._standing.watch.discard()
        self._held.clear()
        self._written.clear()
        self._replaced.clear()
        self._concerned.clear()
        self.disturbed = self._vague = False

    def close(self) -> None:
        """Remove the world; the plot stays."""
        self._standing.close()

    # --- what a call did ----------------------------------------------------------------------------------------------------

    def events(self) -> tuple[Touched, ...]:
        """What was touched since ``change_to`` or the last ``events``, each (event, inode) once, in order.

        An entry counts as inside only if all its names are. Sets ``disturbed`` if there was more than opens.
        """
        return self._touched(self._standing.watch.read())

    def events_of(self, calls: int) -> list[tuple[Touched, ...]]:
        """As ``events``, for each of so many calls whose ends were marked, in order.

        It ends with the first that did more than open, which then sets ``disturbed``, and where a mark is missing.
        """
        found = []
        for events in self._standing.watch.read_marked(calls):
            found.append(self._touched(events))
            if self.disturbed:
                break
        return found

    def _touched(self, events: Sequence[Event]) -> tuple[Touched, ...]:
        if not events:
            return ()
        touched: dict[tuple[str, tuple[bytes, ...]], Touched] = {}
        for event in events:
            mask = event[0]
            if mask & ~(syscalls.IN_OPEN | syscalls.IN_ISDIR):
                self.disturbed = True
                if mask & syscalls.IN_Q_OVERFLOW:
                    self._standing.lost = self.overrun = True
                    continue
            what = _WHAT.get(mask & ~syscalls.IN_ISDIR)
            paths = self._paths_of(event)
            if mask == syscalls.IN_OPEN | syscalls.IN_ISDIR:
                continue
            self._vague = self._vague or not paths or bool(mask & syscalls.IN_ISDIR)
            self._concerned.update(paths)
            if what is None or not paths:
                continue
            key = (what, tuple(paths))
            if key not in touched:
                touched[key] = Touched(what, tuple(map(text_of, paths)), self._place(paths))
        return tuple(touched.values())

    def _paths_of(self, event: Event) -> list[bytes]:
        """All paths of what an event is about, or the one at which something appeared or went."""
        mask, where, name = event
        inventory = self._standing.inventory
        if not isinstance(where, bytes):
            inode = where
        else:
            path = join(where, name) if name else where
            known = inventory.signatures.get(path)
            if mask & _OF_NAMES:
                self._replaced.add(path)
                return [path]
            if known is None or path in self._replaced or mask & syscalls.IN_ISDIR:
                return [path]
            inode = known[1:3]
        if mask & _WRITTEN:
            self._written.add(inode)
        return inventory.names_of(inode)

    def changes(self, *, of_touched: bool = False) -> tuple[Change, ...]:
        """How world and margin differ from what they were at ``change_to`` or the last ``changes``, sorted by path.

        Call ``events`` first. The differences are the new state that the next ``changes`` starts from. Where files alone were
        touched it is enough to look at those (``of_touched``), as long as somebody looks at all in the end.
        """
        standing = self._standing
        inventory, dirty = standing.inventory, standing.dirty
        before = inventory.signatures
        now = None if not of_touched or self._vague or standing.lost else self._now_at(self._concerned)
        if now is not None:
            before = {path: before[path] for path in self._concerned if path in before}
        else:
            now = standing.scan(before)
        differing = [
            path
            for path in {**before, **now}
            if before.get(path) != now.get(path) or standing.lost or now[path][1:3] in self._written
        ]
        # first what all of them were, then what they are: names of one inode, and names that changed places, share what is known
        olds = {path: self._state(before.get(path), path, self._digest_before) for path in differing}
        found: list[Change] = []
        for path in differing:
            is_now = now.get(path)
            new = self._state(is_now, path, self._digest_now)
            if is_now is None:
                inventory.forget(path)
            else:
                inventory.learn(path, is_now)
            if new != olds[path]:
                found.append(Change(text_of(path), self._place([path]), olds[path], new))
                dirty.add(path)
                if is_now is not None:
                    inventory.digests[path] = new.digest
        self._settle()
        return tuple(sorted(found, key=lambda change: change.path))

    def _now_at(self, paths: set[bytes]) -> dict[bytes, Signature] | None:
        """The signatures of what is at these paths now; None if one lies in no directory of the world."""
        directories, now = self._standing.builder.directories, dict[bytes, Signature]()
        scratch = SCRATCH.encode()
        for path in paths:
            parent, name = split(path)
            if parent in directories:
                with contextlib.suppress(FileNotFoundError):
                    now[path] = signature(os.stat(name, dir_fd=directories[parent], follow_symlinks=False))
            elif parent != scratch:  # of which only the events count
                return None
        return now

    def _state(self, found: Signature | None, path: bytes, held: Callable[[bytes, Signature], str]) -> State:
        return state_of(found, held(path, found)) if found is not None else state_of(None)

    def _digest_before(self, path: bytes, was: Signature) -> str:
        standing = self._standing
        for name in (path, *standing.inventory.names_of(was[1:3])):
            if name in standing.inventory.digests:
                return standing.inventory.digests[name]
            entry = standing.plan.get(name)
            if isinstance(entry, Link):
                return digest(raw(entry.to, self.plot.root))
            if isinstance(entry, File | ModelFile):
                return self._planned_digest(name)
        return ""

    def _digest_now(self, path: bytes, found: Signature) -> str:
        if not (stat.S_ISREG(found[0]) or stat.S_ISLNK(found[0])):
            return ""
        try:
            directory = open_parent(path, self.plot, self._standing.builder.directories)
        except OSError:
            return ""
        try:
            return read_digest(split(path)[1], directory, found)
        finally:
            os.close(directory)

    # --- whose it is --------------------------------------------------------------------------------------------------------

    def _place(self, paths: list[bytes]) -> Place:
        for path in paths:
            place = place_of(path, self._standing.directory)
            if place != "inside":
                return place
        return "inside"

    def place(self, name: Name) -> Place:
        """Where a world path lies."""
        return place_of(path_of(name), self._standing.directory)

    def names(self, name: Name) -> tuple[str, ...]:
        """All world paths of the entry at a world path, by inode; only itself if nothing is there."""
        path = path_of(name)
        return tuple(map(text_of, self._standing.inventory.names_at(path) or [path]))

    def content_at(self, names: Sequence[str]) -> Content | None:
        """What the file is declared to hold that has one of these names; None if none was declared there."""
        declared = {text_of(path): entry for path, entry in self._standing.plan.items() if isinstance(entry, File)}
        return next((content(declared[name]) for name in names if name in declared), None)

    def reads(self, size: int, wanted: str) -> tuple[str, ...]:
        """The world paths of the files whose whole content has this size and digest; none for empty contents."""
        if not size:
            return ()
        if (found := self._held.get((size, wanted))) is None:
            found = self._held[size, wanted] = self._holders(size, wanted)
        return found

    def _holders(self, size: int, wanted: str) -> tuple[str, ...]:
        inventory = self._standing.inventory
        signatures, digests = inventory.signatures, inventory.digests
        holders = [path for path, known in digests.items() if known == wanted]
        for path in self._standing.plan:
            found = signatures.get(path)
            if found and found[3] == size and path not in digests and self._planned_digest(path) == wanted:
                holders.append(path)
        if not holders:
            return ()
        return tuple(dict.fromkeys([text_of(name) for path in holders for name in inventory.names_at(path)]))

    def holds(self, data: bytes) -> tuple[str, ...]:
        """The world paths of the declared files that hold ``data`` among others; none for less than 8 bytes, which say little."""
        if len(data) < 8:
            return ()
        inventory, plan = self._standing.inventory, self._standing.plan
        held = [path for path, e in plan.items() if isinstance(e, File) and _holds(content(e), data)]
        return tuple(dict.fromkeys(text_of(name) for path in held for name in inventory.names_at(path)))

    def _planned_digest(self, path: bytes) -> str:
        """The digest of the file that was declared at a path; empty where none was."""
        standing = self._standing
        known = standing.contents.get(path)
        if known is not None:
            return known
        entry = standing.plan.get(path)
        if not isinstance(entry, File | ModelFile):
            return ""
        standing.contents[path] = known = digest_of(entry)
        return known

    def leaks(self, data: bytes | bytearray | mmap.mmap) -> tuple[str, ...]:
        """The world paths of files outside the model directory of which bytes occur in ``data``.

        Contents of less than 8 bytes are never told; nor are those that a file inside holds too.
        """
        standing = self._standing
        hits = [path for path, mark in standing.marks.items() if data.find(mark) >= 0]
        if not hits:
            return ()
        inside = {
            content(entry).key
            for path, entry in standing.plan.items()
            if isinstance(entry, File) and place_of(path, standing.directory) == "inside"
        }
        told = [path for path in hits if not (isinstance(e := standing.plan[path], File) and content(e).key in inside)]
        return tuple(map(text_of, told))

    def path_at(self, absolute: bytes) -> str:
        """An absolute path as observations write it; one outside world, margin and the directory for temporary files stays so."""
        root, scratch = self.plot.root, self.plot.scratch
        if absolute.startswith(scratch + b"/"):
            return SCRATCH + text_of(absolute[len(scratch) :])
        above = self.plot.places[0]
        return text_of(os.path.relpath(absolute, root) if absolute.startswith(above + b"/") else absolute)

    # --- FIFOs --------------------------------------------------------------------------------------------------------------

    @property
    def fifos(self) -> list[bytes]:
        """The absolute paths of the FIFOs that were declared."""
        return [self.plot.root + b"/" + path for path, entry in self._standing.plan.items() if isinstance(entry, Fifo)]

    @property
    def fed(self) -> bool:
        """Whether there are FIFOs with a writer, so that ``feed`` must be called every few milliseconds while a call runs."""
        return bool(self._standing.feeder)

    def feed(self) -> None:
        """Let the writers of FIFOs write a little; never blocks."""
        self._standing.feeder.feed()


def _holds(held: Content, data: bytes) -> bool:
    return not held.sparse and len(data) < held.size and data in stream(held.key, held.size)
