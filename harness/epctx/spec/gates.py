"""What stands at the path: the gates of type, permission and size, for a read and for a write."""

from __future__ import annotations

import re

from msgspec.structs import replace

from epctx.case import FAIL, INVALID_ARGUMENT, Call, Case, Content, Expect, shown
from epctx.spec import windows
from epctx.spec.answers import EMPTY, allocator_fault, doubtful, prefix, refuse, where_is, world_name
from epctx.spec.scene import Scene
from epctx.spec.tree import PAGE, Node, Place, components

HUGE = 64 << 30
"""A file of at least so many bytes must be refused before its size is allocated (``size.cap``)."""

_LITERAL = re.compile(rb"\A~|[$%*?\[]|://")
"""Names that something might expand: home directories, variables, globs, percent-encoding, URLs."""


def gates(scene: Scene, case: Case, call: Call, name: bytes, place: Place, text: str) -> Expect:
    """Read or write at ``place``, which a name led to that is spelled ``name`` and shown as ``text``; containment is settled."""
    return _write(scene, case, call, name, place, text) if call.op == "write" else _read(scene, case, call, name, place, text)


def _link_in_the_way(scene: Scene, place: Place) -> Node | None:
    """The dangling link at which the resolution ended."""
    node = scene.tree.child(place.nodes[-1], place.rest[0]) if place.nodes[-1].kind == "dir" else None
    return node if node is not None and node.kind == "link" else None


_KINDS = {"fifo": "a FIFO", "socket": "a socket", "device": "a device", "dir": "a directory", "link": "a link", "file": "a file"}


def _read(scene: Scene, case: Case, call: Call, name: bytes, place: Place, text: str) -> Expect:
    node = place.node
    where = where_is(scene, place)
    if node is None:
        link = _link_in_the_way(scene, place)
        if link is not None and len(place.rest) > 1:
            return refuse(
                "contain.dangling-dir", f"{text} leads through {prefix(scene, place, 1)}, a link whose target does not exist"
            )
        if link is not None:
            code = _dangling_code(scene, place, link)
            return refuse("type.read-missing", f"{text} is a link whose target does not exist", code)
        if place.rest[-1] == b"":
            return refuse("type.read-missing", f"{text} takes something that is not a directory for one")
        rule = "name.no-expansion" if _LITERAL.search(name) else "type.read-missing"
        return refuse(rule, f"there is no file {where}", FAIL)
    if node.kind == "dir":
        return refuse("type.read-directory", f"{text} is the directory {where}", INVALID_ARGUMENT)
    if node.kind != "file":
        return refuse("type.read-regular", f"{text} is {_KINDS[node.kind]}, {where}", INVALID_ARGUMENT)
    inode = node.inode
    if not inode.mode & 0o400:
        return refuse("type.read-missing", f"{where} may not be read")
    content = inode.content
    size = 1 if content is None else content.size
    file = world_name(scene, place)
    if size >= HUGE:
        return refuse("size.cap", f"{where} has {size} bytes, more than any loader should allocate")
    if size and call.allocator in ("null", "error"):
        return refuse("own.alloc-fails", f"the allocator gives {allocator_fault(call)}", file=file)
    if call.resize is not None:
        why = f"{shown(call.resize.path)} is given another size while {where} is read"
        return Expect("either", "size.file-changes", why, None, file, content)
    found = Expect("accept", _read_rule(scene, call, name, place, content), f"{text} is the file {where}", None, file, content)
    if inode.unsure:  # and so it holds what it held before, or what was to be written
        found = replace(found, content=None)
        return doubtful(found, f"an earlier call may or may not have written {where}")
    if size > case.limits.memory // 2:
        return doubtful(found, f"{where} has {size} bytes, for which there may not be memory", "size.cap")
    return found


def _dangling_code(scene: Scene, place: Place, link: Node) -> int | None:
    """The code for reading a dangling link: a missing file, or, if its target lies outside, as well an escape."""
    base = scene.base
    if base is None:
        return FAIL
    start = Place([scene.tree.top], []) if link.text.startswith(b"/") else Place(place.nodes, place.names)
    return FAIL if scene.tree.within(base.place, scene.tree.weakly(start, components(link.text))) else None


def _read_rule(scene: Scene, call: Call, name: bytes, place: Place, content: Content | None) -> str:
    if call.moves:
        return "own.moves"
    if call.held:
        return "own.freed-once"
    if call.allocator == "caller":
        return "own.caller-allocator"
    if content is not None and not content.size:
        return "size.empty-file"
    return _accept_rule(scene, call, name, place, content)


def _accept_rule(scene: Scene, call: Call, name: bytes, place: Place, content: Content | None) -> str:
    """The rule that a plain acceptance shows best."""
    if call.source == "caller":
        return "trusted.any-path"
    if scene.base is not None and not scene.base.plain:
        return "contain.model-path-forms"
    if place.links:
        return "contain.accept-inner-link"
    if _LITERAL.search(name):
        return "name.no-expansion"
    if not name.isascii() and not windows.valid_utf8(name):
        return "name.invalid-utf8"
    if content is not None and content.size != 96:
        return "size.exact"
    return "contain.accept-inside"


def _write(scene: Scene, case: Case, call: Call, name: bytes, place: Place, text: str) -> Expect:
    node, where = place.node, where_is(scene, place)
    payload = call.payload or EMPTY
    if node is None:
        link = _link_in_the_way(scene, place)
        if link is not None and len(place.rest) > 1:
            return refuse(
                "contain.dangling-dir", f"{text} leads through {prefix(scene, place, 1)}, a link whose target does not exist"
            )
        if link is not None:
            # where a directory is asked for, that it is missing is as good a reason
            code = None if place.trailing or place.rest[-1] == b"" else INVALID_ARGUMENT
            return refuse("type.write-symlink-leaf", f"{text} is a link whose target does not exist", code)
        if place.rest[-1] == b"" or place.trailing:
            return refuse("type.write-parent-missing", f"{text} ends like a directory, and there is none")
        if len(place.rest) > 1 or place.nodes[-1].kind != "dir":
            return refuse("type.write-parent-missing", f"the directory in which {where} would lie does not exist", FAIL)
    elif node.kind != "file":
        return refuse("type.write-regular", f"{text} is {_KINDS[node.kind]}, {where}", INVALID_ARGUMENT)
    parent = place.parent
    assert parent is not None
    if _readonly(scene, place):
        return refuse("type.write-parent-missing", f"{where} lies on a file system that is mounted read-only", FAIL)
    enterable = parent.inode.mode & 0o300 == 0o300
    doubt = ""
    rule = "type.write-replaces"
    if node is None:
        if not enterable:
            return refuse("type.write-parent-missing", f"the directory of {where} may not be written", FAIL)
    else:
        inode = node.inode
        if inode.attribute:
            return refuse("type.write-replaces", f"{where} is {inode.attribute} and cannot be replaced")
        writable = bool(inode.mode & 0o200)
        if not writable and not enterable:
            return refuse("type.write-parent-missing", f"neither {where} nor its directory may be written", FAIL)
        if not writable or not enterable or node.mount:
            # writing in place needs a writable file, replacing it by a rename a writable directory (and no mount point)
            doubt = f"{where} can be written in place or be replaced by a new file, but not both"
        elif inode.content is None and not inode.unsure:
            doubt = f"{where} is the model itself"
        elif inode.unsure:
            doubt = f"an earlier call may or may not have written {where}"
    limit = case.limits.file_size
    if limit is not None and payload.size > limit:
        scene.written = place, payload, False
        why = f"the payload of {payload.size} bytes is larger than the file size limit of {limit}"
        return refuse("size.short-write-reported", why, file=world_name(scene, place))
    if (room := _room(scene, place)) is not None:
        needed = -(-payload.size // PAGE)
        freed = -(-node.inode.content.size // PAGE) if node is not None and node.inode.content is not None else 0
        if needed > room + freed:
            scene.written = place, payload, False
            why = f"the file system of {where} has no room for {payload.size} bytes"
            return refuse("size.short-write-reported", why, file=world_name(scene, place))
        if needed > room:
            doubt = f"the file system of {where} has room for the payload only once the old file is gone"
            rule = "size.short-write-reported"
    scene.written = place, payload, not doubt
    file = world_name(scene, place)
    if doubt:
        return Expect("either", rule, doubt, None, file, payload)
    return Expect("accept", _write_rule(scene, call, name, place, payload), f"{text} is {where}", None, file, payload)


def _write_rule(scene: Scene, call: Call, name: bytes, place: Place, payload: Content) -> str:
    rule = _accept_rule(scene, call, name, place, payload)
    return "type.write-replaces" if rule in ("contain.accept-inside", "size.exact") and place.node is not None else rule


def _readonly(scene: Scene, place: Place) -> bool:
    mount = scene.tree.mount_of(place)
    return mount is not None and mount.readonly


def _room(scene: Scene, place: Place) -> int | None:
    """Free pages of the declared file system on which ``place`` lies; None on that of the world."""
    mount = scene.tree.mount_of(place)
    if mount is None or not mount.room:
        return None
    used = {id(f): -(-f.content.size // PAGE) for f in scene.tree.files(mount) if f.content and not f.content.sparse}
    return max(0, -(-mount.room // PAGE) - sum(used.values()))
