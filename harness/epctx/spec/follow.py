"""What is expected of calls in the world that those before them really left, which need not be the one that they should leave.

A write that is refused although it is good leaves the old file, and one that is done although it is not leaves something new: a
later call is right if it takes the world as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from epctx.case import Case, Content, Expect, File, Platform, content_of
from epctx.observation import Change, State, content_digest
from epctx.spec.answers import EMPTY
from epctx.spec.predict import expectation, settle_resize
from epctx.spec.scene import Scene, new_scene
from epctx.spec.tree import Node, Tree

_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")
_PLAIN = {"file": 0o644, "dir": 0o755, "fifo": 0o644, "socket": 0o755}


def follow(
    case: Case, came: Sequence[Sequence[Change]], platform: Platform = "posix", *, negotiates: bool = True
) -> tuple[Expect, ...]:
    """One expectation for each call of ``case``, as ``predict`` gives them, where call after call ``came`` to these changes."""
    scene, lost, out = new_scene(case, platform), False, list[Expect]()
    for call, changes in zip(case.calls, (*came, *[()] * len(case.calls)), strict=False):
        found = expectation(scene, case, call, negotiates)
        out.append(_anything(found) if lost else found)
        scene.written = scene.elsewhere = None
        settle_resize(scene, call)
        for change in sorted(changes, key=_depth):
            lost = not _happens(scene.tree, change, case) or lost
        if changes:
            scene = Scene(scene.tree, case.model.given, platform)
    return tuple(out)


def _depth(change: Change) -> int:
    return change.path.count("/")


def _anything(found: Expect) -> Expect:
    """What can be said where an earlier call made something of which is not known where it leads."""
    why = "an earlier call made something of which is not known where it leads"
    return replace(found, outcome="either", why=why, status=None, file=None, content=None, instead=None)


def _happens(tree: Tree, change: Change, case: Case) -> bool:
    """Let a change happen in a tree. Whether that is possible: of a link only the digest is known, of a device nothing."""
    *above, leaf = change.path.split("/")
    ups = above.count("..")
    parent = tree.root_nodes[-1 - ups]
    for part in above[ups:]:
        parent = parent.children.get(_name(parent, part), parent)
    after, name = change.after, _name(parent, leaf)
    old = parent.children.get(name)
    home = (*parent.homes[0], name)
    if after.kind not in (*_PLAIN, "absent"):
        return False
    if old is not None and (after.kind, after.inode) == (old.kind, change.before.inode):
        node = old.inode  # all its names show what became of it
    else:
        if old is not None and len(old.inode.homes) > 1 and home in old.inode.homes:
            old.inode.homes.remove(home)
        parent.children.pop(name, None)
        if after.kind == "absent" or leaf in ("..", "."):
            return True
        node = parent.children[name] = Node(after.kind, _PLAIN[after.kind], home)
    node.mode, node.unsure = after.mode, False
    if after.kind == "file":
        node.content = _content(after, case)
    return True


def _name(parent: Node, text: str) -> bytes:
    """The name that an observation writes as ``text``: of an entry that is there, else as it would be written."""
    there = (name for name in parent.children if name.decode("utf-8", "backslashreplace") == text)
    return next(there, None) or _ESCAPED.sub(lambda found: bytes.fromhex(found[1].decode()), text.encode())


def _content(state: State, case: Case) -> Content:
    """What a file holds, if it is any content of the case; else one of that size that nothing else holds."""
    if not state.size:
        return EMPTY
    alike = (content for content in _contents(case) if content.size == state.size)
    unknown = Content(f"as it was seen: {state.digest}", state.size)
    return next((content for content in alike if state.digest and content_digest(content) == state.digest), unknown)


def _contents(case: Case) -> Iterator[Content]:
    yield from (content_of(entry) for entry in case.world.entries if isinstance(entry, File))
    for call in case.calls:
        yield from (payload for payload in (call.payload,) if payload is not None)
        yield from (share.content for share in (call.threads.shares if call.threads else ()) if share.content is not None)
