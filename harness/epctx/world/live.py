"""The world as it stands: brought from one declared state to the next, watched, and compared."""

from __future__ import annotations

import contextlib
import mmap
import os
import stat

from epctx import syscalls
from epctx.case import Dir, Entry, Fifo, File, HardLink, Link, Mount, Name, World, content_of, raw, shown, token
from epctx.observation import Change, Place, Touched, digest
from epctx.world.build import Builder, CannotBuild, ModelFile
from epctx.world.differences import Signature, open_parent, read_digest, scan, signature, state_of
from epctx.world.feed import Feeder
from epctx.world.ground import Ground
from epctx.world.identity import Names, digest_of, mark_of, size_of
from epctx.world.paths import join, path_of, place_of, split, text_of
from epctx.world.watch import Watch

_WHAT = {
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
    """The one world on a ground. For each case ``change_to``, and for each of its calls ``events``, then, where that saw more
    than opens (``disturbed``) or the call was a write, ``changes``. What a case left is repaired by the next ``change_to``.
    """

    def __init__(self, ground: Ground) -> None:
        """Start with an empty world."""
        self.ground = ground
        self.disturbed = False
        self._plan: dict[bytes, Entry | ModelFile] = {}
        self._directory: bytes | None = None
        self._broken = False
        self._snapshot: dict[bytes, Signature] = {}
        self._feeder = Feeder()
        self._start()

    def _start(self) -> None:
        """Watch and builder for a ground that was just laid out."""
        self._watch = Watch()
        for number, fd in enumerate(self.ground.margin):
            self._watch.add_directory(fd, b"/".join([b".."] * (len(self.ground.margin) - number)))
        self._builder = Builder(self.ground, self._watch)
        self._forget_all()
        self._snapshot = scan(self.ground, self._builder.directories, {})

    def _forget_all(self) -> None:
        self._plan = {}
        self._uses: dict[bytes, int] = {}
        self._hard_links: dict[bytes, bytes] = {}
        self._special = False
        self._snapshot = {}
        self._names = Names()
        self._digests: dict[bytes, str] = {}
        self._marks: dict[bytes, bytes] = {}
        self._dirty: set[bytes] = set()
        self._written: set[tuple[int, int]] = set()
        self._replaced: set[bytes] = set()
        self._lost = False

    # --- from one case to the next ------------------------------------------------------------------------------------------

    def change_to(self, world: World, model: ModelFile | None, model_directory: Name | None) -> None:
        """Bring the world into the declared state, with the model file in it; undo whatever the last case did.

        ``model_directory`` is the world path of the real directory of the model ("": the root; None: a model from memory).
        Raises CannotBuild, after which the world is empty or half built until the next call, and CaseError.
        """
        plan = _plan_of(world, model)
        directory = path_of(model_directory) if model_directory else None if model_directory is None else b""
        moved, self._directory = directory != self._directory, directory
        old = self._plan
        changed = [path for path, entry in plan.items() if (was := old.get(path)) is not entry and was != entry]
        removed = [path for path in old if path not in plan]
        try:
            if self._in_doubt(plan, changed, removed):
                self._rebuild(plan)
            elif changed or removed or self._dirty:
                self._apply(plan, changed, removed)
        except (CannotBuild, OSError) as error:
            self._broken = True
            if isinstance(error, OSError):
                raise CannotBuild(f"the world cannot be made here: {error.strerror}") from error
            raise
        if moved:
            self._look_again()
        self._watch.discard()
        self.disturbed = False
        self._written.clear()
        self._replaced.clear()

    def _in_doubt(self, plan: dict[bytes, Entry | ModelFile], changed: list[bytes], removed: list[bytes]) -> bool:
        """Whether to start from nothing rather than to change what is there."""
        if self._broken or self._lost:
            return True
        directories = self._builder.directories
        for path in self._dirty:
            if path in directories or path.startswith(b"..") or self._names_of(path)[1:] or path in self._hard_links.values():
                return True
        if not changed and not removed:
            return bool(self._special and self._dirty)
        if self._special:
            return True
        gone = {*removed, *(path for path in changed if path in self._plan)}
        for path in changed:
            entry = plan[path]
            if path in directories or isinstance(entry, Mount) or (isinstance(entry, File) and entry.attribute):
                return True
        if any(isinstance(self._plan[path], Dir) for path in gone):
            return True
        return any(to in gone for path, to in self._hard_links.items() if path not in gone)

    def _rebuild(self, plan: dict[bytes, Entry | ModelFile]) -> None:
        """Remove everything and make the plan."""
        self._feeder.clear()
        if self._broken or self._lost or any(path.startswith(b"..") or not path for path in self._dirty):
            self._builder.clear()
            self._watch.close()
            self.ground.lay_out()
            self._start()
        else:
            self._builder.clear()
            margin = {path: found for path, found in self._snapshot.items() if path.startswith(b"..") or not path}
            for inode in {found[1:3] for found in self._snapshot.values()}:
                self._watch.forget(inode)
            self._forget_all()
            self._snapshot = margin
        self._broken = True  # until it stands
        self._make(plan, list(plan))
        if any(isinstance(entry, Mount) for entry in plan.values()):  # what is bound somewhere has names that no entry says
            self._snapshot = scan(self.ground, self._builder.directories, {})
            for path, found in self._snapshot.items():
                self._learn(path, found)
        self._broken = False

    def _apply(self, plan: dict[bytes, Entry | ModelFile], changed: list[bytes], removed: list[bytes]) -> None:
        """Make the difference."""
        old, builder = self._plan, self._builder
        again = set(changed)
        for path in self._dirty:
            if path in plan and path not in again:
                again.add(path)
            elif path not in old and split(path)[0] in builder.directories:
                with contextlib.suppress(FileNotFoundError):
                    builder.remove(path)
            if path not in old:
                self._forget(path)
        order = changed if len(again) == len(changed) else [path for path in plan if path in again]
        rest = []
        for path in order:
            was = old.get(path)
            if type(was) is ModelFile and path not in self._dirty and type(entry := plan[path]) is ModelFile:
                self._learn(path, signature(builder.rewrite_model(entry.data)))
                old[path] = entry
                continue
            rest.append(path)
            if was is not None:
                self._remove(path, was)
        for path in removed:
            self._remove(path, old[path])
        self._dirty.clear()
        self._make(plan, rest)
        for path in removed:
            self._drop_directories(split(path)[0])
        self._plan = plan

    def _remove(self, path: bytes, entry: Entry | ModelFile) -> None:
        """Remove an entry of the plan; its directory stays for now."""
        with contextlib.suppress(FileNotFoundError):
            self._builder.remove(path)
        self._uses[split(path)[0]] -= 1
        self._forget(path)
        del self._plan[path]
        self._marks.pop(path, None)
        if type(entry) is HardLink:
            to = self._hard_links.pop(path)
            if to in self._snapshot:
                self._restat(to)
        elif type(entry) is Fifo:
            self._feeder.remove(path)

    def _drop_directories(self, path: bytes) -> None:
        """Remove implied directories that no entry needs any more."""
        while path and path not in self._plan and self._uses.get(path) == 0:
            self._builder.remove_directory(path)
            self._forget(path)
            del self._uses[path]
            path = split(path)[0]
            self._uses[path] -= 1

    def _make(self, plan: dict[bytes, Entry | ModelFile], paths: list[bytes]) -> None:
        """Make entries of the plan, and the directories that they imply, and learn what they look like."""
        builder, made = self._builder, []
        for path in paths:
            entry = plan[path]
            parent = split(path)[0]
            if parent not in builder.directories:
                made += self._make_parents(parent)
            if path not in builder.directories:  # else declared for its mode, after it was implied
                self._uses[parent] = self._uses.get(parent, 0) + 1
            builder.make(path, entry)
            made.append(path)
            self._plan[path] = entry
        builder.finish()
        for path in made:
            self._restat(path)
            entry_ = plan.get(path)
            kind = type(entry_)
            if kind is HardLink:
                assert isinstance(entry_, HardLink)
                self._hard_links[path] = to = path_of(entry_.to)
                for name in self._names_of(to):
                    self._restat(name)
            elif kind is Fifo:
                assert isinstance(entry_, Fifo)
                if entry_.writer:
                    directory, name = split(path)
                    self._feeder.add(path, name, builder.directories[directory])
            elif kind is Mount or (kind is File and entry_.attribute):  # type: ignore[union-attr]
                self._special = True
            if kind is File or kind is ModelFile or kind is Fifo or kind is HardLink:
                self._look_at(path, entry_)

    def _make_parents(self, path: bytes) -> list[bytes]:
        missing = []
        while path not in self._builder.directories:
            missing.append(path)
            path = split(path)[0]
        missing.reverse()
        for path in missing:
            try:
                self._builder.make_directory(path)
            except FileExistsError:
                raise CannotBuild(f"{text_of(path)} cannot be both a directory and something else") from None
            except OSError as error:
                raise CannotBuild(f"a directory cannot be made here: {error.strerror}") from error
            self._uses.setdefault(path, 0)
            parent = split(path)[0]
            self._uses[parent] = self._uses.get(parent, 0) + 1
        return missing

    # --- what is known of it ------------------------------------------------------------------------------------------------

    def _names_of(self, path: bytes) -> list[bytes]:
        found = self._snapshot.get(path)
        return self._names.of(found[1:3]) if found is not None else []

    def _restat(self, path: bytes) -> None:
        directory, name = split(path)
        self._learn(path, signature(os.stat(name, dir_fd=self._builder.directories[directory], follow_symlinks=False)))

    def _learn(self, path: bytes, found: Signature) -> None:
        was = self._snapshot.get(path)
        if was is not None and was[1:3] != found[1:3]:
            self._names.remove(was[1:3], path)
        self._snapshot[path] = found
        if not stat.S_ISDIR(found[0]):
            self._names.add(found[1:3], path)

    def _forget(self, path: bytes) -> None:
        found = self._snapshot.pop(path, None)
        self._digests.pop(path, None)
        if found is not None:
            inode = found[1:3]
            self._names.remove(inode, path)
            if not self._names.of(inode):
                self._watch.forget(inode)

    def _look_at(self, path: bytes, entry: Entry | ModelFile | None) -> None:
        """Watch a file outside the model directory by its inode, and know its mark."""
        if place_of(path, self._directory) == "inside":
            return
        found = self._snapshot[path]
        if stat.S_ISREG(found[0]) and not self._watch.watches(found[1:3]):
            self._watch.add_file(self.ground.root + b"/" + path, found[1:3])
        if type(entry) is File:
            mark = mark_of(content_of(entry))
        elif type(entry) is Fifo and entry.writer:
            mark = token(text_of(path))
        else:
            return
        if mark:
            self._marks[path] = mark

    def _look_again(self) -> None:
        """The model directory is another one: other files lie outside."""
        self._marks.clear()
        for path, entry in self._plan.items():
            self._look_at(path, entry)

    # --- what a call did ----------------------------------------------------------------------------------------------------

    def events(self) -> tuple[Touched, ...]:
        """What was touched since ``change_to`` or the last ``events``, each (event, inode) once, in order.

        An entry counts as inside only if all its names are. Sets ``disturbed`` if there was more than opens.
        """
        events = self._watch.read()
        if not events:
            return ()
        touched: dict[tuple[str, tuple[str, ...]], Touched] = {}
        for mask, where, name in events:
            if mask == syscalls.IN_OPEN | syscalls.IN_ISDIR:
                continue
            if mask & syscalls.IN_Q_OVERFLOW:
                self._lost = self.disturbed = True
                continue
            if isinstance(where, bytes):
                path = join(where, name) if name else where
                known = self._snapshot.get(path)
                if mask & _OF_NAMES:
                    self._replaced.add(path)
                    paths = [path]
                elif known is None or path in self._replaced or mask & syscalls.IN_ISDIR:
                    paths = [path]
                else:
                    paths = self._names.of(known[1:3]) or [path]
                    if mask & _WRITTEN:
                        self._written.add(known[1:3])
            else:
                paths = self._names.of(where)
                if mask & _WRITTEN:
                    self._written.add(where)
            if mask & ~(syscalls.IN_OPEN | syscalls.IN_ISDIR):
                self.disturbed = True
            what = _WHAT.get(mask & ~syscalls.IN_ISDIR)
            if what is None or not paths:
                continue
            names = tuple([text_of(path) for path in paths])
            if (what, names) not in touched:
                touched[what, names] = Touched(what, names, self._place(paths))  # type: ignore[arg-type]
        return tuple(touched.values())

    def changes(self) -> tuple[Change, ...]:
        """How world and margin differ from what they were at ``change_to`` or the last ``changes``, sorted by path.

        Call ``events`` first. The differences are the new state that the next ``changes`` starts from.
        """
        before, now = self._snapshot, scan(self.ground, self._builder.directories, self._snapshot)
        found: list[Change] = []
        for path, is_now in now.items():
            was = before.get(path)
            if was == is_now and is_now[1:3] not in self._written and not self._lost:
                continue
            old = state_of(was, self._digest_before(path, was) if was else "")
            content = self._digest_now(path, is_now)
            new = state_of(is_now, content)
            if new != old:
                found.append(Change(text_of(path), self._place([path]), old, new))
                self._dirty.add(path)
                self._digests[path] = content
            self._learn(path, is_now)
        for path in before.keys() - now.keys():
            was = before[path]
            old = state_of(was, self._digest_before(path, was))
            found.append(Change(text_of(path), self._place([path]), old, state_of(None)))
            self._dirty.add(path)
            self._forget(path)
        self._watch.discard()
        self._written.clear()
        self._replaced.clear()
        self.disturbed = False
        return tuple(sorted(found, key=lambda change: change.path))

    def _digest_before(self, path: bytes, was: Signature) -> str:
        for name in (path, *self._names.of(was[1:3])):
            if name in self._digests:
                return self._digests[name]
            entry = self._plan.get(name)
            if isinstance(entry, File | ModelFile):
                return digest_of(entry)
            if isinstance(entry, Link):
                return digest(raw(entry.to, self.ground.root))
        return ""

    def _digest_now(self, path: bytes, found: Signature) -> str:
        if not (stat.S_ISREG(found[0]) or stat.S_ISLNK(found[0])):
            return ""
        try:
            directory = open_parent(path, self.ground, self._builder.directories)
        except OSError:
            return ""
        try:
            return read_digest(split(path)[1], directory, found)
        finally:
            os.close(directory)

    def _place(self, paths: list[bytes]) -> Place:
        for path in paths:
            place = place_of(path, self._directory)
            if place != "inside":
                return place
        return "inside"

    def place(self, name: Name) -> Place:
        """Where a world path lies."""
        return place_of(path_of(name), self._directory)

    def names(self, name: Name) -> tuple[str, ...]:
        """All world paths of the entry at a world path, by inode; only itself if nothing is there."""
        path = path_of(name)
        return tuple(text_of(other) for other in self._names_of(path) or [path])

    # --- whose bytes --------------------------------------------------------------------------------------------------------

    def reads(self, size: int, wanted: str) -> tuple[str, ...]:
        """The world paths of the files whose whole content has this size and digest; none for empty contents."""
        if not size:
            return ()
        paths: dict[bytes, None] = {}
        for path, entry in self._plan.items():
            if isinstance(entry, File | ModelFile) and path not in self._digests and size_of(entry) == size:
                found = self._snapshot.get(path)
                if found is not None and digest_of(entry) == wanted:
                    paths.update(dict.fromkeys(self._names.of(found[1:3])))
        for path, known in self._digests.items():
            if known == wanted and path in self._snapshot and self._snapshot[path][3] == size:
                paths.update(dict.fromkeys(self._names_of(path)))
        return tuple(map(text_of, paths))

    def leaks(self, data: bytes | bytearray | mmap.mmap) -> tuple[str, ...]:
        """The world paths of files outside the model directory of which bytes occur in ``data``.

        Contents of less than 8 bytes are never told; nor are those that a file inside holds too.
        """
        hits = [path for path, mark in self._marks.items() if data.find(mark) >= 0]
        if hits:
            inside = {
                content_of(entry).key
                for path, entry in self._plan.items()
                if type(entry) is File and place_of(path, self._directory) == "inside"
            }
            hits = [path for path in hits if not (type(e := self._plan[path]) is File and content_of(e).key in inside)]
        return tuple(map(text_of, hits))

    # --- FIFOs --------------------------------------------------------------------------------------------------------------

    @property
    def fifos(self) -> list[bytes]:
        """The absolute paths of the FIFOs that were declared."""
        return [self.ground.root + b"/" + path for path, entry in self._plan.items() if type(entry) is Fifo]

    @property
    def fed(self) -> bool:
        """Whether there are FIFOs with a writer, so that ``feed`` must be called every few milliseconds while a call runs."""
        return bool(self._feeder)

    def feed(self) -> None:
        """Let the writers of FIFOs write a little; never blocks."""
        self._feeder.feed()

    def close(self) -> None:
        """Remove the world; the ground stays."""
        self._feeder.clear()
        self._builder.clear()
        self._watch.close()


def _plan_of(world: World, model: ModelFile | None) -> dict[bytes, Entry | ModelFile]:
    plan: dict[bytes, Entry | ModelFile] = {}
    for entry in world.entries:
        path = path_of(entry.path)
        if path in plan:
            raise CannotBuild(f"{shown(entry.path)} is declared twice")
        plan[path] = entry
    if model is not None and plan.setdefault(path_of(model.path), model) is not model:
        raise CannotBuild(f"{shown(model.path)} is declared, and the model file must lie there")
    return plan
