"""What stands on a plot, and how it is brought from one plan to the next by the smallest set of operations."""

from __future__ import annotations

import os
import stat

from epctx.case import Fifo, File, HardLink, Mount
from epctx.world.build import Builder
from epctx.world.differences import Signature, scan, signature
from epctx.world.entries import CannotBuild, Declared, ModelFile, Plan, mark_of
from epctx.world.feed import Feeder
from epctx.world.inventory import Inventory
from epctx.world.paths import path_of, place_of, split, text_of
from epctx.world.plot import SCRATCH, Plot


class Standing:
    """The entries that stand on a plot, watched, with all that is known of them.

    ``plan`` is what was declared, ``inventory`` what it looks like, ``directory`` the model directory. ``dirty`` holds the paths
    that are not as planned any more, and ``lost`` is that even this is not known: both are the observer's to set. ``marks`` are
    the bytes that tell each file outside the model directory, ``contents`` the digests of planned files, where anybody asked.
    """

    def __init__(self, plot: Plot, *, marked: bool = False) -> None:
        """Start with an empty world. With ``marked`` the marks are watched, too."""
        self.plot, self._marked = plot, marked
        self.directory: bytes | None = None
        self.feeder = Feeder()
        self._start()

    def _start(self) -> None:
        """Watch, builder and knowledge of a plot that was just laid out."""
        self.watch = self.plot.inotify.watch()
        for number, fd in enumerate(self.plot.margin):
            self.watch.add_directory(fd, b"/".join([b".."] * (len(self.plot.margin) - number)))
        scratch = os.open(self.plot.scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.watch.add_directory(scratch, SCRATCH.encode())
        os.close(scratch)
        for fd in self.plot.marks if self._marked else ():
            self.watch.add_mark(fd)
        self.builder = Builder(self.plot, self.watch)
        self._forget_all(self.scan({}))

    def _forget_all(self, margin: dict[bytes, Signature]) -> None:
        """Know of nothing but the empty root and its margin."""
        self.plan: Plan = {}
        self.inventory = Inventory()
        self.inventory.signatures.update(margin)
        self.marks: dict[bytes, bytes] = {}
        self.dirty: set[bytes] = set()
        self.lost = False
        self.contents: dict[bytes, str] = {}
        self._uses: dict[bytes, int] = {}
        self._hard_links: dict[bytes, bytes] = {}
        self._special = False
        self._broken = False

    def scan(self, known: dict[bytes, Signature]) -> dict[bytes, Signature]:
        """The signatures of everything in the world and its margin, as of now."""
        return scan(self.plot, self.builder.directories, known)

    def bring(self, plan: Plan, directory: bytes | None, *, afresh: bool = False) -> None:
        """Make what stands the plan, whatever was done to it; from nothing if that is safer, or wanted.

        Raises CannotBuild; the next call then starts from nothing.
        """
        moved, self.directory = directory != self.directory, directory
        old = self.plan
        changed = [path for path, entry in plan.items() if (was := old.get(path)) is not entry and was != entry]
        removed = [path for path in old if path not in plan]
        try:
            if afresh or self._in_doubt(plan, changed, removed):
                self._rebuild(plan)
            elif changed or removed or self.dirty:
                self._change(plan, changed, removed)
        except CannotBuild:
            self._broken = True
            raise
        except OSError as error:
            self._broken = True
            raise CannotBuild(f"the world cannot be made here: {error.strerror}") from error
        if moved:
            self.marks.clear()
            for path, entry in plan.items():
                self._look_at(path, entry)

    def close(self) -> None:
        """Remove everything; the plot stays."""
        self.feeder.clear()
        self.builder.clear()
        self.watch.close()

    # --- from nothing -------------------------------------------------------------------------------------------------------

    def _in_doubt(self, plan: Plan, changed: list[bytes], removed: list[bytes]) -> bool:
        """Whether a change could go wrong: directories, mounts, attributes, or an inode with several names are concerned."""
        if self._broken or self.lost:
            return True
        directories = self.builder.directories
        for path in self.dirty:
            if path in directories or path.startswith(b"..") or len(self.inventory.names_at(path)) > 1:
                return True
            if path in self._hard_links.values():
                return True
        if not changed and not removed:
            return self._special and bool(self.dirty)
        if self._special:
            return True
        if not directories.keys().isdisjoint((*changed, *removed)):
            return True
        for path in changed:
            entry = plan[path]
            if isinstance(entry, Mount) or (isinstance(entry, File) and entry.attribute):
                return True
        if not self._hard_links:
            return False
        gone = {path for path in (*changed, *removed) if path in self.plan}
        return any(to in gone and path not in gone for path, to in self._hard_links.items())

    def _rebuild(self, plan: Plan) -> None:
        self.feeder.clear()
        self.builder.clear()
        if self._broken or self.lost or any(path.startswith(b"..") or not path for path in self.dirty):
            self.watch.close()
            self.plot.lay_out()
            self._start()
        else:
            for inode in self.inventory.inodes():
                self.watch.forget(inode)
            signatures = self.inventory.signatures
            self._forget_all({path: signatures[path] for path in signatures if path.startswith(b"..") or not path})
        self._make(plan, list(plan))
        if any(isinstance(entry, Mount) for entry in plan.values()):  # what is bound somewhere has names that no entry says
            for path, found in self.scan({}).items():
                self.inventory.learn(path, found)

    # --- by a change --------------------------------------------------------------------------------------------------------

    def _change(self, plan: Plan, changed: list[bytes], removed: list[bytes]) -> None:
        if self.dirty:
            changed = self._clean_up(plan, changed)
        anew = []
        for path in changed:
            was, entry = self.plan.get(path), plan[path]
            if isinstance(entry, ModelFile) and isinstance(was, ModelFile) and path not in self.dirty:
                self.inventory.learn(path, signature(self.builder.rewrite_model(entry.data)))
                self.contents.pop(path, None)
                continue
            anew.append(path)
            if was is not None:
                self._remove(path, was)
        for path in removed:
            self._remove(path, self.plan[path])
        self.dirty.clear()
        self._make(plan, anew)
        for path in removed:
            self._drop_directories(split(path)[0])
        self.plan = plan

    def _clean_up(self, plan: Plan, changed: list[bytes]) -> list[bytes]:
        """Remove what was never planned; the paths to make anew, those that were spoilt included."""
        again = set(changed)
        for path in self.dirty:
            if path in self.plan:
                if path in plan:
                    again.add(path)
                continue
            if split(path)[0] in self.builder.directories:  # else it goes with the directory that it is in
                self.builder.remove(path)
            self._forget(path)
        return [path for path in plan if path in again]

    def _remove(self, path: bytes, entry: Declared) -> None:
        """Remove an entry of the plan, whatever is there by now; its directory stays."""
        self.builder.remove(path)
        self._uses[split(path)[0]] -= 1
        self._forget(path)
        self.marks.pop(path, None)
        self.contents.pop(path, None)
        if isinstance(entry, HardLink):
            to = self._hard_links.pop(path)
            if to in self.inventory.signatures:
                self._restat(to)
        elif isinstance(entry, Fifo):
            self.feeder.remove(path)

    def _drop_directories(self, path: bytes) -> None:
        """Remove implied directories that no entry needs any more."""
        while path and path not in self.plan and self._uses.get(path) == 0:
            self.builder.remove_directory(path)
            self._forget(path)
            del self._uses[path]
            path = split(path)[0]
            self._uses[path] -= 1

    # --- making -------------------------------------------------------------------------------------------------------------

    def _make(self, plan: Plan, paths: list[bytes]) -> None:
        """Make entries of the plan, and the directories that they imply, and learn what they look like."""
        builder, uses, made = self.builder, self._uses, []
        for path in paths:
            parent = split(path)[0]
            if parent not in builder.directories:
                made += self._make_parents(parent)
            if path not in builder.directories:  # else it is declared for its mode, after it was implied
                uses[parent] = uses.get(parent, 0) + 1
            builder.make(path, plan[path])
            made.append(path)
        builder.finish()
        for path in made:
            self._restat(path)
        for path in paths:
            self._note(path, plan[path])
        self.plan = plan

    def _make_parents(self, path: bytes) -> list[bytes]:
        missing = []
        while path not in self.builder.directories:
            missing.append(path)
            path = split(path)[0]
        missing.reverse()
        for path in missing:
            try:
                self.builder.make_directory(path)
            except FileExistsError:
                raise CannotBuild(f"{text_of(path)} cannot be both a directory and something else") from None
            except OSError as error:
                raise CannotBuild(f"a directory cannot be made here: {error.strerror}") from error
            self._uses.setdefault(path, 0)
            parent = split(path)[0]
            self._uses[parent] = self._uses.get(parent, 0) + 1
        return missing

    def _note(self, path: bytes, entry: Declared) -> None:
        """Keep in mind what is particular about an entry that was just made."""
        if isinstance(entry, HardLink):
            self._hard_links[path] = to = path_of(entry.to)
            for name in list(self.inventory.names_at(to)):
                self._restat(name)
        elif isinstance(entry, Fifo):
            if entry.writer:
                directory, name = split(path)
                self.feeder.add(path, name, self.builder.directories[directory])
        elif isinstance(entry, Mount) or (isinstance(entry, File) and entry.attribute):
            self._special = True
        self._look_at(path, entry)

    def _look_at(self, path: bytes, entry: Declared) -> None:
        """Watch a file outside the model directory by its inode, and know its mark."""
        if place_of(path, self.directory) == "inside":
            return
        found = self.inventory.signatures[path]
        if stat.S_ISREG(found[0]) and not self.watch.watches(found[1:3]):
            self.watch.add_file(self.plot.root + b"/" + path, found[1:3])
        mark = mark_of(entry, path)
        if mark:
            self.marks[path] = mark

    def _restat(self, path: bytes) -> None:
        directory, name = split(path)
        status = os.stat(name, dir_fd=self.builder.directories[directory], follow_symlinks=False)
        self.inventory.learn(path, signature(status))

    def _forget(self, path: bytes) -> None:
        last = self.inventory.forget(path)
        if last is not None:
            self.watch.forget(last)
