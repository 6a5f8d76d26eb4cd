"""The setting in which the calls of a case are predicted: its tree, and the model directory as the specification sees it."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from msgspec.structs import replace

from epctx.case import Case, Content, Link, Mount, Name, Platform, World, name_of, raw
from epctx.remember import remembered
from epctx.spec.tree import ROOT, Node, Place, Tree, components

KEPT = 512
"""Worlds whose settings are remembered; the cases of a family, and of a campaign, share few."""


@dataclass(slots=True)
class Base:
    """The model directory: the directory part of what the runtime was given, resolved.

    ``plain`` is whether it was given as an absolute path without links, ``.`` or ``..``; ``real`` the directory of the real file
    where the model is a link to one elsewhere; ``length`` the bytes of the directory as given, for the limits on paths.
    """

    place: Place
    plain: bool
    length: int
    real: Place | None


class Scene:
    """A tree and the model directory in it (None for a model from memory), and what the last write did."""

    __slots__ = ("base", "elsewhere", "platform", "tree", "written")

    def __init__(self, tree: Tree, given: Name, platform: Platform) -> None:
        self.tree = tree
        self.platform = platform
        path = raw(given, ROOT)
        self.base = _base(tree, path.replace(b"\\", b"/") if platform == "windows" else path) if path else None
        self.written: tuple[Place, Content, bool] | None = None
        """Where the last predicted write would put which content, and whether that is certain."""
        self.elsewhere: Place | None = None
        """Where else it might put that."""

    @property
    def windows(self) -> bool:
        """Whether names follow the rules of Windows."""
        return self.platform == "windows"

    def settle(self) -> None:
        """Let the last predicted write happen in the tree, so that the next call sees it."""
        if self.written is None:
            return
        (place, content, sure), self.written = self.written, None
        if self.elsewhere is not None:
            other, self.elsewhere, sure = self.elsewhere, None, False
            self._write(other, content, sure)
        self._write(place, content, sure)

    def _write(self, place: Place, content: Content, sure: bool) -> None:
        old = place.node
        if old is not None and len(old.inode.homes) == 1:
            node = old.inode
        elif old is not None:  # a rename gives this name a new inode, a truncation changes all names: who knows
            old.inode.unsure, node, sure = True, Node("file", 0o644, tuple(place.path)), False
            self.tree.put(place, node)
        else:
            node = Node("file", 0o644, tuple(place.path))
            self.tree.put(place, node)
        node.content, node.unsure = content, node.unsure or not sure


def _base(tree: Tree, given: bytes) -> Base:
    head, _, leaf = given.rpartition(b"/")
    absolute = given.startswith(b"/")
    start = tree.start if absolute else tree.cwd
    parts = components(head.rstrip(b"/")) if head.rstrip(b"/") else []
    place = tree.weakly(start, parts)
    node, real = place.node, None
    if node is not None and node.kind == "dir" and (model := tree.child(node, leaf)) is not None and model.kind == "link":
        target = tree.walk(place, [leaf])
        if not target.fault and target.names[:-1] != place.names:
            real = Place(target.nodes[:-1], target.names[:-1])
    plain = absolute and not place.links and b"//" not in given and not {b".", b".."} & set(parts)
    length = len(head) if absolute else len(ROOT) + sum(map(len, tree.cwd.names[8:])) + len(head) + 1
    return Base(place, plain, length, real)


def scene_of(case: Case, platform: Platform) -> Scene:
    """The setting of a case, shared between cases with the same world object: nothing may be changed in it."""
    scenes, key = _scenes(case.world), (case.model.path, case.model.given, platform)
    if key not in scenes:
        scenes[key] = new_scene(case, platform)
    return scenes[key]


@remembered(KEPT)
def _scenes(_world: World) -> dict[tuple[Name, Name, Platform], Scene]:
    return {}


def new_scene(case: Case, platform: Platform) -> Scene:
    """A setting of one's own, for a case whose calls change its world."""
    return Scene(new_tree(case, platform), case.model.given, platform)


def new_tree(case: Case, platform: Platform) -> Tree:
    """The tree of a case's world, in which its model lies unless it is one from memory."""
    return Tree(case.world, case.model.path if case.model.given else None, fold=platform != "posix")


@remembered()
def model_directory(case: Case) -> Name | None:
    """The world path of the model directory of a case, links resolved ("": the root); None for a model from memory.

    A model that was given by a path which leads out of the world has none either: nothing in the world is then inside.
    """
    plain = _plain_directory(case.model.given)
    if plain is not None:
        for entry in case.world.entries:
            if isinstance(entry, Link | Mount) and plain.startswith(raw(entry.path)):
                break
        else:
            return plain.decode()
    scene = scene_of(case, "posix")
    path = scene.tree.world_path(scene.base.place.path) if scene.base else None
    return None if path is None else name_of(path)


def from_memory(case: Case) -> Case:
    """The case as a loader takes it for which the directory of a model from memory is the working directory: as with a model
    that was given by its bare name. Other cases stay as they are."""
    if case.model.given:
        return case
    return replace(case, model=replace(case.model, given="model.onnx"), expect=())


@functools.lru_cache(maxsize=64)
def _plain_directory(given: Name) -> bytes | None:
    """The world path of the directory of an absolute path in the world in which nothing needs to be resolved, else None."""
    head, _, leaf = raw(given).rpartition(b"/")
    parts = head.split(b"/")
    plain = parts[0] == b"{root}" and leaf not in (b"", b".", b"..") and not {b"", b".", b".."}.intersection(parts)
    return b"/".join(parts[1:]) if plain and head.isascii() else None
