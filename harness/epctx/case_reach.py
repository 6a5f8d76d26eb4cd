"""How far the names and link texts of a case reach: its world, the margin above it, a few places of the host, and no further.

Two looks are taken at each text. By itself, ``..`` and ``{root}`` are counted. And it is resolved in the world's tree, through
all links, from where it is used. The box holds what a loader makes of a name in a way of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from epctx.case import ROOT_DEPTH, ROOT_TOKEN, Attribute, Case, Link, Name, raw, shown
from epctx.spec.scene import Scene
from epctx.spec.tree import PATH_MAX, ROOT, Place, Tree, components

MARGIN = 4
"""Directories above the world's root that are made for it and watched; so far a text may climb without ``{root}``."""

_MARK = b"\x01\x02root\x02\x01"
_ENDS = frozenset(b"null zero full tty stdin stdout stderr".split())
_NOWHERE = frozenset((b"host", b"?", b"C:"))
"""First components of absolute names that exist on no host: shares, drives and device paths of Windows with slashes."""


class Wrong(Exception):
    """A case must not be built or run: at which JSON path, and why."""

    def __init__(self, at: str, what: str) -> None:
        super().__init__(what)
        self.at = at


def reach(case: Case, tree: Tree) -> None:
    """Raise ``Wrong`` for the first text of ``case``, whose world is ``tree``, that reaches too far."""
    reach_of_world(case, tree)
    reach_of_names(case, Scene(tree, case.model.given, "posix"))


def reach_of_world(case: Case, tree: Tree) -> None:
    """The same for the texts of links, and for the path of the model that the runtime is given."""
    cwd = len(tree.cwd.names) - ROOT_DEPTH
    for index, entry in enumerate(case.world.entries):
        if isinstance(entry, Link):
            at = f"$.world.entries[{index}].to"
            place = tree.declared(raw(entry.path))
            home = Place(place.nodes[:-1], place.names[:-1])
            _counts(at, entry.to, len(home.names) - ROOT_DEPTH, cwd, link=True)
            _lands(at, entry.to, tree, home, link=True)
    given = raw(case.model.given, ROOT)
    if b"\0" in given or len(given) >= PATH_MAX:
        raise Wrong("$.model.given", f"the path given to the runtime holds no NUL and less than {PATH_MAX} bytes")
    if given:
        _counts("$.model.given", case.model.given, cwd, cwd)
        _lands("$.model.given", case.model.given, tree, tree.cwd)


def reach_of_names(case: Case, scene: Scene) -> None:
    """The same for all other texts, in a ``scene`` of which the texts reach no further."""
    tree, base = scene.tree, scene.base
    bases = [place for place in (base.place, base.real) if place is not None] if base is not None else [tree.cwd]
    for at, attribute in attributes_of(case):
        for name in (attribute.text, *(attribute.texts or ())):
            if name is not None:
                _name(at, name, tree, bases)
    for index, pair in enumerate(case.model.external.pairs if case.model.external else ()):
        _name(f"$.model.external.pairs[{index}].value", pair.value, tree, bases)
    for index, call in enumerate(case.calls):
        starts = [tree.cwd] if call.source == "caller" else bases
        fallback = None if call.fallback is msgspec.UNSET else call.fallback
        names = [("name", call.name), ("fallback", fallback)]
        names += [("read_callback.reenters", call.read_callback.reenters)] if call.read_callback else []
        names += [("write_callback.reenters", call.write_callback.reenters)] if call.write_callback else []
        for which, name in names:
            if name is not None:
                _name(f"$.calls[{index}].{which}", name, tree, starts)
        for number, share in enumerate(call.threads.shares if call.threads else ()):
            _name(f"$.calls[{index}].threads.shares[{number}].name", share.name, tree, starts)


def attributes_of(case: Case) -> Iterator[tuple[str, Attribute]]:
    """The attributes of the model's nodes, each with its JSON path."""
    for index, node in enumerate(case.model.nodes):
        for number, attribute in enumerate(node.attributes):
            yield f"$.model.nodes[{index}].attributes[{number}]", attribute


def _name(at: str, name: Name, tree: Tree, starts: list[Place]) -> None:
    _counts(at, name, min(len(start.path) for start in starts) - ROOT_DEPTH, len(tree.cwd.names) - ROOT_DEPTH)
    for start in starts:
        if not start.rest:
            _lands(at, name, tree, start)


def _counts(at: str, name: Name, depth: int, cwd: int, link: bool = False) -> None:
    """Check a text by itself, taken from ``depth`` components below the world's root.

    Beyond the margin only `..` and `.` may follow, until ``{root}`` leads back; below that it must not climb out again.
    """
    if _MARK in raw(name, b""):
        raise Wrong(at, "the text holds bytes that are kept for epctx itself; change one of them")
    parts = raw(name, b"/" + _MARK).partition(b"\0")[0].split(b"/")
    beyond, rooted, index = len(parts) > 1 and not parts[0], False, 0
    while index < len(parts):
        part = parts[index]
        index += 1
        if part in (b"", b"."):
            continue
        if part == b"..":
            depth -= 0 if beyond else 1
            if depth < -MARGIN:
                if rooted:
                    raise Wrong(at, f"{shown(name)} climbs out of the world again after {ROOT_TOKEN}; stay below it")
                beyond, depth = True, 0
        elif part == _MARK:
            beyond, rooted, depth = False, rooted or beyond, 0 if beyond else depth + ROOT_DEPTH
        elif not beyond:
            depth += 1
        else:
            place = _special(parts[index - 1 :])
            if place == "end" or (not link and part in _NOWHERE):
                return
            if not place:
                where = f"{shown(name)} names {shown(part)!r} outside the world"
                raise Wrong(at, f"{where}; lead it back through {ROOT_TOKEN}, or climb less")
            index += 2
            beyond, depth = place == "root", cwd


def _special(parts: list[bytes]) -> str:
    """What an absolute text with these components first is: "cwd", "root", an "end" in itself, or "" for none of them."""
    rest = [part for part in parts if part not in (b"", b".")]
    if parts[:3] == [b"proc", b"self", b"cwd"]:
        return "cwd"
    if parts[:3] == [b"proc", b"self", b"root"]:
        return "root"
    if len(rest) == 2 and rest[0] == b"dev" and rest[1] in _ENDS:
        return "end"
    descriptor = rest[2:] if rest[:2] == [b"dev", b"fd"] else rest[3:] if rest[:3] == [b"proc", b"self", b"fd"] else []
    return "end" if len(descriptor) == 1 and descriptor[0].isdigit() else ""


def _lands(at: str, name: Name, tree: Tree, start: Place, link: bool = False) -> None:
    """Check where a text leads, resolved from a directory of the world; a name may end at `/` itself, which is a directory."""
    path = raw(name, ROOT).partition(b"\0")[0]
    if not path:
        return
    place = tree.weakly(tree.start if path.startswith(b"/") else start, components(path))
    end = place.path
    above = ROOT_DEPTH - MARGIN
    if not end or end[:above] == tree.root_names[:above] or end[0] == b"proc" or (not link and end[0] in _NOWHERE):
        return
    if end[0] != b"dev" or end[1:2] == [b"shm"]:
        raise Wrong(at, f"{shown(name)} leads, through the links of the world, to {shown(b'/' + b'/'.join(end))} outside of it")
