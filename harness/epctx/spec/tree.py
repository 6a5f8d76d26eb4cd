"""A virtual file tree made from a world, and the resolution of paths in it, without any system call.

The tree reaches from ``/`` down to the world's root, which lies at ``ROOT``, ``ROOT_DEPTH`` components deep like every real
one, and holds the few entries of a Linux host that a link may name (/dev/null, /proc/self/cwd and their like). Everything is
bytes.

Two ways to resolve a path are offered. ``Tree.walk`` is what the kernel does when it opens a path. ``Tree.weakly`` is
``std::filesystem::weakly_canonical``, by which the specification defines containment (doc, "Untrusted name handling"): the part
that exists is resolved as the kernel does, the rest by its text alone, so that ``missing/../f`` is ``f``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from epctx.case import (
    ROOT_DEPTH,
    Content,
    Device,
    Dir,
    Entry,
    Fifo,
    File,
    HardLink,
    Link,
    Mount,
    Name,
    Socket,
    World,
    content_of,
    raw,
    shown,
)
from epctx.errors import CaseError

ROOT = b"/dev/shm/epctx-000000/4/3/2/1/world"
"""The virtual place of the world's root; as long as a real one usually is."""

LINKS = 40
"""Links that Linux follows in one resolution; the next one is ELOOP."""
FEW_LINKS = 4
"""Whoever follows more is looked at for going in a circle."""
MANY_LINKS = 1000
"""Links after which even a patient resolver of its own must take a chain for a loop."""
NAME_MAX = 255
PATH_MAX = 4096
"""Longest path that the kernel takes, with the NUL at its end."""
PAGE = 4096
"""Unit in which a declared file system gives out its room, and the least that it has."""

Kind: TypeAlias = Literal["dir", "file", "link", "fifo", "socket", "device"]
Fault: TypeAlias = Literal["", "missing", "not-dir", "loop", "too-long", "denied"]
"""Why a walk ended early: ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EACCES."""


class Node:
    """An inode, or a mount point that shows one (``inode`` is then the one it shows).

    ``homes`` are the paths, from the tree's root, at which it was made: several for hard links. ``unsure`` marks what an earlier
    call may or may not have written. ``magic`` is the jump of a /proc link: a function of the tree.
    """

    __slots__ = (
        "attribute",
        "children",
        "content",
        "homes",
        "inode",
        "kind",
        "magic",
        "mode",
        "mount",
        "readonly",
        "room",
        "text",
        "unsure",
    )

    def __init__(self, kind: Kind, mode: int = 0o755, home: tuple[bytes, ...] = ()) -> None:
        self.kind = kind
        self.mode = mode
        self.children: dict[bytes, Node] = {}
        self.text = b""
        self.content: Content | None = None
        self.attribute = ""
        self.homes: list[tuple[bytes, ...]] = [home]
        self.inode = self
        self.mount = False
        self.readonly = False
        self.room = 0
        self.magic: Literal["", "cwd", "root"] = ""
        self.unsure = False

    def shown_by_mount(self, readonly: bool) -> Node:
        """A mount point that shows this inode."""
        point = Node(self.kind, self.mode, self.homes[0])
        point.children, point.text, point.inode = self.children, self.text, self.inode
        point.mount, point.readonly = True, readonly
        return point


class Place:
    """Where a walk arrived: ``nodes`` from ``/`` down (one more than ``names``), and the names between them.

    ``fault`` says why it went no further, ``rest`` which components were left (by ``weakly``: normalised, without ``..``).
    ``links`` counts the links followed; ``leaf`` is whether the last component was one; ``magic`` whether one led through /proc.
    ``lexical`` is whether a ``..`` was taken by its text alone, after a component that is ``through``; ``trailing`` whether what
    was not found was asked for as a directory, by a slash, ``.`` or ``..`` at the end.
    """

    __slots__ = ("fault", "leaf", "lexical", "links", "magic", "names", "nodes", "rest", "through", "trailing")

    def __init__(self, nodes: list[Node], names: list[bytes]) -> None:
        self.nodes = nodes
        self.names = names
        self.fault: Fault = ""
        self.rest: list[bytes] = []
        self.links = 0
        self.leaf = False
        self.magic = False
        self.lexical = False
        self.through: Fault = ""
        self.trailing = False

    @property
    def node(self) -> Node | None:
        """What is there; None if nothing is."""
        return None if self.rest else self.nodes[-1]

    @property
    def parent(self) -> Node | None:
        """The directory that holds the last component, whether that exists or not; None if it does not exist itself."""
        if len(self.rest) > 1:
            return None
        return self.nodes[-1] if self.rest else self.nodes[-2] if len(self.nodes) > 1 else self.nodes[0]

    @property
    def path(self) -> list[bytes]:
        """All components, from ``/``."""
        return self.names + self.rest if self.rest else self.names


def components(path: bytes) -> list[bytes]:
    """The components of a path; an empty one at the end stands for a trailing slash (which demands a directory)."""
    parts = path.split(b"/")
    if b"" not in parts:
        return parts
    last = parts.pop()
    kept = [part for part in parts if part]
    if kept or last:
        kept.append(last)
    return kept


def normal(start: Sequence[bytes], parts: Iterable[bytes]) -> list[bytes]:
    """``parts`` after ``start`` by their text alone: ``.`` and empty ones dropped, ``..`` takes back what precedes it."""
    out = list(start)
    for part in parts:
        if part == b"..":
            if out:
                out.pop()
        elif part not in (b"", b"."):
            out.append(part)
    return out


def _dev() -> dict[bytes, Node]:
    """The entries of /dev that a link may name."""
    entries: dict[bytes, Node] = {}
    for name in (b"null", b"zero", b"full", b"tty"):
        entries[name] = Node("device", 0o666, (b"dev", name))
    for name, text in ((b"stdin", b"0"), (b"stdout", b"1"), (b"stderr", b"2"), (b"fd", b"")):
        entries[name] = Node("link", 0o777, (b"dev", name))
        entries[name].text = b"/proc/self/fd/" + text
    return entries


_FD = (b"proc", b"self", b"fd")


def _proc() -> Node:
    """What of /proc a link may name."""
    top = Node("dir", 0o755, _FD[:1])
    own = top.children[b"self"] = Node("dir", 0o755, _FD[:2])
    own.children[b"fd"] = Node("dir", 0o755, _FD)
    cwd = own.children[b"cwd"] = Node("link", 0o777, (*_FD[:2], b"cwd"))
    root = own.children[b"root"] = Node("link", 0o777, (*_FD[:2], b"root"))
    cwd.magic, root.magic = "cwd", "root"
    return top


# shared by all trees, so nothing may change them
_DEVICES, _PROC = _dev(), _proc()

_derived = functools.lru_cache(maxsize=4096)(content_of)


class Tree:
    """A world as a tree of nodes; ``start`` is `/`, ``root`` the world's root, ``cwd`` where the target runs.

    Paths are lists of components from `/`. With ``fold``, names are compared without regard to case, as Windows does. Raises
    ``CaseError`` for a world that cannot be built (``epctx.case_file.validate`` says it better).
    """

    def __init__(self, world: World, model: Name | None = None, fold: bool = False) -> None:
        self.fold = fold
        self.folded = False
        """Whether a name was found only because case does not count, since this was last set."""
        self.top = Node("dir")
        self.start = Place([self.top], [])
        nodes = [self.top]
        self.root_names = ROOT[1:].split(b"/")
        for depth, name in enumerate(self.root_names, 1):
            nodes.append(Node("dir", 0o755, tuple(self.root_names[:depth])))
            nodes[-2].children[name] = nodes[-1]
        self.root_nodes = nodes
        self.root = nodes[-1]
        self.top.children[b"dev"].children.update(_DEVICES)
        self.top.children[b"proc"] = _PROC
        self.cwd = Place(self.root_nodes, self.root_names)
        for entry in world.entries:
            self.add(entry)
        if model is not None:
            self.add_model(raw(model))
        if world.cwd:
            self.enter(raw(world.cwd))

    # --- building -----------------------------------------------------------------------------------------------------------

    def _parent(self, path: bytes) -> tuple[Node, bytes, tuple[bytes, ...]]:
        """The directory in which the world path ``path`` is made (with those above it), its last component, and its home."""
        *above, leaf = path.split(b"/")
        node = self.root
        home = node.homes[0]
        for name in above:
            child = node.children.get(name)
            home = (*home, name)
            if child is None:
                child = node.children[name] = Node("dir", 0o755, home)
            elif child.kind != "dir":
                raise CaseError(f"the entry {shown(path)} lies below {shown(name)}, which is not a directory")
            elif child.mount:
                home = child.homes[0]
            node = child
        return node, leaf, (*home, leaf)

    def declared(self, path: bytes) -> Place:
        """The entry that was made at a world path; links are not followed. Raises CaseError if there is none."""
        place = Place(list(self.root_nodes), list(self.root_names))
        for name in path.split(b"/") if path else ():
            child = place.nodes[-1].children.get(name)
            if child is None:
                raise CaseError(f"the world has no entry {shown(path)} at that point")
            place.nodes.append(child)
            place.names.append(name)
        return place

    def add(self, entry: Entry) -> None:
        """Make one more entry. Raises CaseError if it does not fit in."""
        path = raw(entry.path)
        parent, leaf, home = self._parent(path)
        there = parent.children.get(leaf)
        if there is not None and not (there.kind == "dir" and isinstance(entry, Dir | Mount)):
            raise CaseError(f"the world has two entries {shown(path)}")
        if isinstance(entry, Dir):
            if there is not None:
                there.mode = entry.mode
            else:
                parent.children[leaf] = Node("dir", entry.mode, home)
        elif isinstance(entry, File):
            node = parent.children[leaf] = Node("file", entry.mode, home)
            node.content = entry.content if entry.content is not None else _derived(entry)
            node.attribute = entry.attribute
        elif isinstance(entry, Link):
            node = parent.children[leaf] = Node("link", 0o777, home)
            node.text = raw(entry.to, ROOT)
        elif isinstance(entry, HardLink):
            node = self.declared(raw(entry.to)).nodes[-1].inode
            node.homes.append(home)
            parent.children[leaf] = node
        elif isinstance(entry, Mount):
            if entry.of is not None:
                parent.children[leaf] = self.declared(raw(entry.of)).nodes[-1].shown_by_mount(entry.readonly)
            else:
                node = parent.children[leaf] = Node("dir", 0o755, home)
                node.mount, node.readonly, node.room = True, entry.readonly, max(entry.size, PAGE)
        elif isinstance(entry, Fifo):
            parent.children[leaf] = Node("fifo", 0o644, home)
        elif isinstance(entry, Socket):
            parent.children[leaf] = Node("socket", 0o755, home)
        elif isinstance(entry, Device):
            parent.children[leaf] = Node("device", 0o666, home)

    def add_model(self, path: bytes) -> None:
        """Make the model file. Raises CaseError if something else is there."""
        parent, leaf, home = self._parent(path)
        if leaf in parent.children:
            raise CaseError(f"the world has an entry {shown(path)}, where the model lies")
        parent.children[leaf] = Node("file", 0o644, home)

    def enter(self, path: bytes) -> None:
        """Make the directory at a world path the working directory. Raises CaseError if there is none."""
        place = self.declared(path)
        if place.nodes[-1].kind != "dir":
            raise CaseError(f"{shown(path)} is not a directory in which a target could run")
        self.cwd = place

    def put(self, place: Place, node: Node) -> None:
        """Make ``node`` what stands at ``place``, whose parent must exist; the tree must be the caller's own."""
        parent = place.parent
        assert parent is not None
        parent.children[place.path[-1]] = node

    def move(self, a: bytes, b: bytes) -> None:
        """Move the entry at a world path to another one, where nothing is, in a directory that exists."""
        entry = self.declared(a)
        parent, leaf, _ = self._parent(b)
        parent.children[leaf] = entry.nodes[-2].children.pop(entry.names[-1])

    def swap(self, a: bytes, b: bytes) -> None:
        """Exchange what stands at two world paths."""
        first, second = self.declared(a), self.declared(b)
        (one, here), (two, there) = (first.nodes[-2].children, first.names[-1]), (second.nodes[-2].children, second.names[-1])
        one[here], two[there] = two[there], one[here]

    def mount_of(self, place: Place) -> Node | None:
        """The mount point on whose file system a place lies; None for that of the world."""
        return next((node for node in reversed(place.nodes) if node.mount), None)

    # --- resolving ----------------------------------------------------------------------------------------------------------

    def world_path(self, path: Sequence[bytes]) -> bytes | None:
        """The world path of components from ``/``; None for a place that is not in the world."""
        if list(path[:ROOT_DEPTH]) != self.root_names:
            return None
        return b"/".join(path[ROOT_DEPTH:])

    def child(self, node: Node, name: bytes) -> Node | None:
        """The entry ``name`` of a directory."""
        found = node.children.get(name)
        if found is not None or not self.fold:
            return found
        wanted = name.decode("utf-8", "surrogateescape").casefold()
        for other, entry in node.children.items():
            if other.decode("utf-8", "surrogateescape").casefold() == wanted:
                self.folded = True
                return entry
        return None

    def walk(self, start: Place, path: Sequence[bytes], follow: bool = True, limit: int = LINKS) -> Place:
        """Resolve ``path`` (components) from the directory ``start`` as the kernel does when it opens it.

        Without ``follow`` a link at the very end is not followed. On a fault the place is where the failing component lies.
        """
        place = Place(list(start.nodes), list(start.names))
        nodes, names = place.nodes, place.names
        for index, part in enumerate(path):
            here = nodes[-1]
            if here.kind == "dir" and here.mode & 0o100:  # the usual steps, without what a link needs
                child = here.children.get(part)
                if child is not None and child.kind != "link":
                    nodes.append(child)
                    names.append(part)
                    place.leaf = False
                    continue
                if part == b".":
                    continue
                if part == b"..":
                    place.leaf = False
                    if names:
                        nodes.pop()
                        names.pop()
                    continue
            self._step(place, part, follow or index + 1 < len(path), limit)
            if place.fault:
                place.rest = list(path[index:])
                break
        return place

    def _step(self, place: Place, part: bytes, follow: bool, limit: int) -> None:
        """One component further, through links; ``place`` is left where it was if that fails."""
        nodes, names = place.nodes, place.names
        saved = (nodes[:], names[:], place.links, place.leaf)
        pending = [part]
        opened: dict[tuple[bytes, ...], int] = {}
        place.leaf = place.leaf and part in (b"", b".")
        while pending:
            name = pending.pop()
            here = nodes[-1]
            if here.kind != "dir":
                place.fault = "not-dir"
            elif name == b"":
                continue
            elif not here.mode & 0o100:
                place.fault = "denied"
            elif name == b".":
                continue
            elif name == b"..":
                if names:
                    nodes.pop()
                    names.pop()
                continue
            elif len(name) > NAME_MAX:
                place.fault = "too-long"
            elif (child := self.child(here, name)) is None:
                if tuple(names) == _FD and name.isdigit():
                    child = Node("fifo", 0o600, (*_FD, name))  # whatever the process has open: certainly not a file of the world
                    nodes.append(child)
                    names.append(name)
                    place.magic = True
                    continue
                place.fault = "missing"
            elif child.kind != "link" or not follow:
                nodes.append(child)
                names.append(name)
                continue
            elif (place.links + 1) > limit:
                place.fault = "loop"
            elif place.links > FEW_LINKS and _leads_to_itself((*names, name), len(pending), opened):
                place.links, place.fault = limit, "loop"
            else:
                place.links += 1
                place.leaf = True
                if child.magic:
                    place.magic = True
                    jump = self.cwd if child.magic == "cwd" else self.start
                    nodes[:], names[:] = jump.nodes, jump.names
                    continue
                if child.text.startswith(b"/"):
                    del nodes[1:]
                    names.clear()
                    place.magic = place.magic or child.text.startswith(b"/proc/")
                pending.extend(reversed(path_parts(child.text)))
                if not child.text:
                    place.fault = "missing"
            if place.fault:
                nodes[:], names[:] = saved[:2]
                place.leaf = saved[3]
                if place.fault != "loop":
                    place.links = saved[2]
                return

    def weakly(self, start: Place, path: Sequence[bytes], limit: int = LINKS) -> Place:
        """Resolve ``path`` as ``weakly_canonical`` does, and then once more, until what it gives is what an open would reach.

        The second round is not in the standard's function, and needed: for ``missing/../link/f`` that gives ``link/f`` with the
        link unresolved. Only the faults "missing" and "not-dir" are passed over; the others end the walk for good.
        """
        place = self.walk(start, path, limit=limit)
        if place.fault in ("missing", "not-dir"):
            place.through = place.fault
            place.trailing = path[-1] in (b"", b".", b"..")
            if b".." in place.rest:
                again = self.walk(self.start, normal(place.names, place.rest), limit=limit)
                again.through, again.lexical, again.trailing = place.through, True, place.trailing
                again.links += place.links
                again.magic = again.magic or place.magic
                place = again
            elif place.rest[-1] in (b"", b".") or b"." in place.rest:
                place.rest = normal((), place.rest)
                if not place.rest:  # a trailing slash after something that is not a directory
                    place.rest = [b""]
        return place

    def by_steps(self, start: Place, path: Sequence[bytes]) -> Place:
        """Resolve ``path`` as Python's ``realpath`` does: a ``..`` takes back what is missing, after which links count again.

        That is another way to see a name than ``weakly``, which takes all that follows by its text. ``leaf`` is whether something
        that was missing was a dangling link.
        """
        place, rest = Place(list(start.nodes), list(start.names)), list[bytes]()
        dangling = False
        for part in path:
            if part in (b"", b"."):
                continue
            if part == b".." and (rest or place.nodes[-1].kind != "dir"):
                if rest:
                    rest.pop()
                else:
                    place.nodes.pop()
                    place.names.pop()
            elif rest:
                rest.append(part)
            else:
                step = self.walk(place, [part])
                if step.fault in ("missing", "not-dir"):
                    rest.append(part)
                    here = place.nodes[-1]
                    dangling = dangling or (here.kind == "dir" and self.child(here, part) is not None)
                elif step.fault:
                    return step
                else:
                    place = step
        place.rest, place.leaf, place.fault = rest, dangling, "missing" if rest else ""
        return place

    def within(self, base: Place, place: Place) -> bool:
        """Whether ``place`` lies in the directory ``base`` or is it, by its path."""
        size = len(base.path)
        path = place.path
        return len(path) >= size and path[:size] == base.path

    def through_mount(self, base: Place, place: Place) -> bool:
        """Whether a mount below ``base`` shows, at ``place``, something whose home is not below it."""
        home = base.nodes[-1].homes[0]
        return any(node.mount and node.homes[0][: len(home)] != home for node in place.nodes[len(base.nodes) :])

    def other_home(self, base: Place, node: Node) -> tuple[bytes, ...] | None:
        """A name of the inode that lies outside ``base``: it is a hard link to an outside file."""
        if len(node.inode.homes) == 1:
            return None
        home = base.nodes[-1].homes[0]
        return next((other for other in node.inode.homes if other[: len(home)] != home), None)

    def files(self, node: Node) -> Iterator[Node]:
        """The files below a directory, on its own file system."""
        for child in node.children.values():
            if child.kind == "dir" and not child.mount:
                yield from self.files(child)
            elif child.kind == "file":
                yield child


def _leads_to_itself(link: tuple[bytes, ...], behind: int, opened: dict[tuple[bytes, ...], int]) -> bool:
    """Whether a link is met while its own text is resolved, and so for ever. ``behind`` is how many components are pending behind
    it; ``opened`` are the links of which the text is being resolved, outermost first, each with the same number."""
    while opened and next(reversed(opened.values())) > behind:
        opened.popitem()
    if link in opened:
        return True
    opened[link] = behind
    return False


@functools.lru_cache(maxsize=4096)
def _remembered(path: bytes) -> tuple[bytes, ...]:
    return tuple(components(path))


def path_parts(path: bytes) -> tuple[bytes, ...]:
    """``components``, remembered unless the path is longer than any that could be opened."""
    return _remembered(path) if len(path) < PATH_MAX else tuple(components(path))
