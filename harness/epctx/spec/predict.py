"""What the specification says about each call of a case: refused, accepted with these bytes, or a matter of taste.

The rules are those of the rule list; a deciding rule's id is in ``Expect.rule``. Where the list leaves room, ``either`` is said,
and the comment beside it gives the reason. In which order a call is looked at follows the document's section "Untrusted name
handling" and the reference helper: the name, a callback, the path, what stands there, the bytes.
"""

from __future__ import annotations

import re

import msgspec

from epctx.case import FAIL, INVALID_ARGUMENT, OK, Call, Callback, Case, Content, Expect, Name, Platform, name_of, raw, shown
from epctx.spec import windows
from epctx.spec.nodes import Named, names_of
from epctx.spec.scene import Scene, new_scene, scene_of
from epctx.spec.tree import MANY_LINKS, NAME_MAX, PAGE, PATH_MAX, ROOT, Node, Place, components, normal, path_parts

HUGE = 64 << 30
"""A file of at least so many bytes must be refused before its size is allocated (``size.cap``)."""
SLACK = 256
"""Around PATH_MAX by so many bytes, a path may or may not be too long: real roots, and ways to join, differ in length."""
ATTRIBUTE_LARGE = 64 << 10
BROKEN_OFF = ("too-long", "loop", "denied")
"""Faults that are errors of the resolution itself, rather than the finding that nothing is there."""
EMPTY = Content("", 0)

_LITERAL = re.compile(rb"\A~|[$%*?\[]|://")
"""Names that something might expand: home directories, variables, globs, percent-encoding, URLs."""
_ODD_FOR_CALLBACK = re.compile(rb"[^A-Za-z0-9_.-]|\A\.{1,2}\Z")


def predict(case: Case, platform: Platform = "posix") -> tuple[Expect, ...]:
    """One expectation for each call of ``case``, in order; a write is seen by the calls after it."""
    calls = case.calls
    if len(calls) == 1:
        return (_predict(scene_of(case, platform), case, calls[0]),)
    scene = new_scene(case, platform)
    out = []
    for call in calls:
        out.append(_predict(scene, case, call))
        scene.settle()
        if call.resize is not None and call.op == "read":
            _settle_resize(scene, call)
    return tuple(out)


def _predict(scene: Scene, case: Case, call: Call) -> Expect:
    scene.written = None
    if call.race is not None:
        return _race(scene, case, call)
    if call.op == "load":
        return _load(scene, case, call)
    if not (name := _bytes(call.name)):
        return _refuse("name.empty", f"the name is {'NULL' if name is None else 'empty'}", INVALID_ARGUMENT)
    if call.op == "read":
        if call.read_callback is not None:
            return _read_callback(scene, call, call.read_callback, name)
        return _cut(scene, case, call, name, call.name)
    if call.write_callback is not None:
        return _write_callback(scene, call, call.write_callback, name)
    if call.fallback is msgspec.UNSET:
        return _cut(scene, case, call, name, call.name)
    fallback = _bytes(call.fallback)
    if not fallback:
        why = "the fallback name is NULL or empty and there is no write callback"
        return _refuse("name.fallback-empty", why, INVALID_ARGUMENT)
    return _cut(scene, case, call, fallback, call.fallback, logical=True)


# --- parts of sentences, and of expectations --------------------------------------------------------------------------------


def _bytes(name: Name | None) -> bytes | None:
    return None if name is None else raw(name, ROOT)


def _refuse(rule: str, why: str, status: int | None = None) -> Expect:
    return Expect("refuse", rule, why, status)


def _doubt(expect: Expect, why: str, rule: str | None = None) -> Expect:
    """The same, where a loader may as well refuse: an acceptance becomes ``either``, a refusal may have any code."""
    if expect.outcome == "refuse":
        return msgspec.structs.replace(expect, status=None)
    return msgspec.structs.replace(expect, outcome="either", rule=rule or expect.rule, why=why)


def _world_name(scene: Scene, place: Place) -> Name | None:
    path = scene.tree.world_path(place.path)
    return None if path is None else name_of(path)


def _where(scene: Scene, place: Place) -> str:
    """A place for people: its world path, or an absolute one for a place outside the world."""
    path = scene.tree.world_path(place.path)
    if path is None:
        return shown(b"/" + b"/".join(place.path))
    return shown(path) if path else "the world's root"


def _prefix(scene: Scene, place: Place, more: int = 0) -> str:
    """How far a resolution came, plus so many components."""
    return _where(scene, Place(place.nodes, place.names + place.rest[:more]))


# --- callbacks --------------------------------------------------------------------------------------------------------------


def _read_callback(scene: Scene, call: Call, callback: Callback, name: bytes) -> Expect:
    content = callback.content
    if callback.code != OK:
        rule = "cb.error-is-final" if content is None else "cb.alloc-then-fail"
        return _refuse(rule, f"the read callback answers with code {callback.code}, which is the answer", callback.code)
    if content is None:
        return Expect("accept", "cb.empty-payload", "the read callback answers with NULL and size 0", content=EMPTY)
    if call.allocator in ("null", "error"):
        failed = _refuse("own.alloc-fails", f"the allocator gives {_allocator_fault(call)}, so the callback has no buffer")
        return failed if content.size else _doubt(failed, failed.why)
    if not content.size:
        return Expect("accept", "cb.empty-payload", "the read callback answers with a buffer of size 0", content=content)
    return Expect("accept", _callback_rule(scene, call, name), "the read callback answers for the name", content=content)


def _callback_rule(scene: Scene, call: Call, name: bytes) -> str:
    if call.moves:
        return "own.moves"
    if call.held:
        return "own.freed-once"
    if call.allocator == "caller":
        return "own.caller-allocator"
    if call.source == "model" and scene.base is None:
        return "contain.no-model-path"
    if call.op == "write" and call.fallback is not msgspec.UNSET:
        return "name.fallback-unused"
    if _ODD_FOR_CALLBACK.search(name) or len(name) > NAME_MAX:
        return "name.opaque-to-callback"
    if scene.base is not None and not scene.tree.walk(scene.base.place, [name], follow=False).fault:
        return "cb.no-file-access"
    return "own.adopts" if call.op == "read" else "chunk.single-write"


def _write_callback(scene: Scene, call: Call, callback: Callback, name: bytes) -> Expect:
    if callback.code != OK:
        why = f"the write callback answers with code {callback.code}, which is the answer"
        return _refuse("cb.error-is-final", why, callback.code)
    rule = "cb.write-null-buffer" if call.payload is None else _callback_rule(scene, call, name)
    return Expect("accept", rule, "the write callback takes the payload", content=call.payload or EMPTY)


def _allocator_fault(call: Call) -> str:
    return "NULL" if call.allocator == "null" else "an error"


# --- names that become paths ------------------------------------------------------------------------------------------------


def _cut(scene: Scene, case: Case, call: Call, name: bytes, label: Name | None, logical: bool = False) -> Expect:
    """Read or write at ``name``; where it holds a NUL, what a C string keeps of it may be used, or the name be refused."""
    text = shown(label)
    if b"\0" not in name:
        return _path(scene, case, call, name, text, logical)
    kept = name.partition(b"\0")[0]
    why = f"{text} holds a NUL: it is refused, or its beginning {shown(kept)!r} is used inside the model directory"
    if not kept:
        return _refuse("name.embedded-nul", f"{text} starts with a NUL: as a C string it is empty")
    found = _path(scene, case, call, kept, shown(kept), logical)
    if found.outcome == "refuse":
        return _refuse("name.embedded-nul", f"{text} holds a NUL, and before it: {found.why}")
    if scene.written is not None:
        scene.written = (*scene.written[:2], False)
    return _doubt(found, why, "name.embedded-nul")


def _path(scene: Scene, case: Case, call: Call, name: bytes, text: str, logical: bool) -> Expect:
    found = _trusted(scene, case, call, name, text) if call.source == "caller" else _untrusted(scene, case, call, name, text)
    if logical and found.outcome == "accept" and found.rule in ("contain.accept-inside", "trusted.any-path"):
        return msgspec.structs.replace(found, rule="name.logical-not-a-path")
    return found


def _untrusted(scene: Scene, case: Case, call: Call, name: bytes, text: str) -> Expect:
    """Names from a model: confined to the model directory."""
    base, tree = scene.base, scene.tree
    parts: tuple[bytes, ...] | list[bytes] = path_parts(name)
    if scene.windows:
        refused, parts = _windows(name, text)
        if refused is not None:
            return refused
    elif name.startswith(b"/"):
        return _refuse("contain.absolute", f"{text} is absolute", INVALID_ARGUMENT)
    if base is None:
        why = f"the model has no directory against which {text} could be resolved"
        return _refuse("contain.no-model-path", why, INVALID_ARGUMENT)
    if scene.windows and b".." in parts:  # Windows takes `..` by its text before it looks at any link
        place = tree.weakly(Place([tree.top], []), normal(base.place.path, parts))
    else:
        place = tree.weakly(base.place, parts)
    doubt = ""
    if (length := len(name) + base.length + 1) >= PATH_MAX - SLACK:
        refused = _refuse("name.too-long", f"the path of {text} has about {length} bytes, as many as the system takes or more")
        if place.rest or not tree.within(base.place, place):
            return refused
        # a loader that goes component by component, or normalises first, meets no limit
        doubt = refused.why
    if place.fault in BROKEN_OFF:
        place, doubt_or_refusal = _broken_off(scene, call, base.place, parts, place, text)
        if isinstance(doubt_or_refusal, Expect):
            return doubt_or_refusal
        doubt = doubt_or_refusal
    elif place.lexical and place.through == "not-dir":
        # weakly_canonical passes over it, the kernel says ENOTDIR
        doubt = f"{text} takes `..` after something that is not a directory"
    elif place.lexical and not scene.windows and tree.by_steps(base.place, parts).path != place.path:
        # weakly_canonical takes what follows a missing component by its text; who goes on step by step meets a link there
        doubt = f"{text} takes back a link by `..`, after something that does not exist"
    elif place.magic:
        doubt = f"{text} leads through a link of /proc"
    rule: str | None = None
    if not tree.within(base.place, place):
        if base.real is None or not tree.within(base.real, place):
            return _escape(scene, base.place, parts, place, text)
        rule = "contain.model-link-cache"
        doubt = f"{text} leads into {_where(scene, base.real)}, where the model's own link leads"
    elif tree.through_mount(base.place, place):
        return _refuse("contain.mount", f"{text} leads through a mount in the model directory to what lies outside of it")
    if place.trailing and place.lexical and place.node is not None and place.node.kind != "dir":
        doubt = doubt or f"{text} ends like a directory"
    found = _gates(scene, case, call, name, place, text)
    if found.outcome == "refuse" and base.real is not None and place.node is None and call.op == "read" and not place.links:
        beside = tree.walk(base.real, parts)
        if not beside.fault and beside.nodes[-1].kind == "file" and tree.within(base.real, beside):
            rule, doubt = "contain.model-link-cache", f"{text} is not beside the model's link but beside the real file"
            found = _gates(scene, case, call, name, beside, text)
    if found.outcome != "refuse" and not rule and (other := tree.other_home(base.place, place.nodes[-1])) and place.node:
        outside = Place([], list(other))
        rule, doubt = "contain.hard-link", f"{text} is a hard link to the outside file {_where(scene, outside)}"
    if doubt:
        found = _doubt(found, doubt, rule)
        if scene.written is not None:
            scene.written = (*scene.written[:2], False)
    elif place.lexical and found.outcome == "refuse" and found.status is not None:
        found = msgspec.structs.replace(found, status=None)  # the kernel finds no such path, whatever it would name by its text
    return found


def _broken_off(
    scene: Scene, call: Call, base: Place, parts: tuple[bytes, ...] | list[bytes], place: Place, text: str
) -> tuple[Place, Expect | str]:
    """A walk that ended for good: refused, unless a careful loader's own way to resolve may reach a file all the same."""
    tree = scene.tree
    if place.fault == "loop":
        other = tree.weakly(base, parts, limit=MANY_LINKS)
        refused = _refuse("contain.symlink-loop", f"{text} leads through a loop of links, or more than {place.links} of them")
    else:
        other = tree.weakly(Place([tree.top], []), normal(base.path, parts))
        if place.fault == "too-long":
            refused = _refuse("name.too-long", f"{text} has a component of more than {NAME_MAX} bytes")
        else:
            refused = _denied(scene, call, place, text)
    if other.fault in BROKEN_OFF or not tree.within(base, other) or (place.fault == "loop" and other.node is None):
        return place, refused
    return other, refused.why


def _denied(scene: Scene, call: Call, place: Place, text: str) -> Expect:
    # the rules name no such case; it is to a reader as if the file were missing, to a writer as if its directory were unwritable
    rule = "type.read-missing" if call.op != "write" else "type.write-parent-missing"
    return _refuse(rule, f"{text} leads through {_prefix(scene, place)}, which may not be entered")


def _windows(name: bytes, text: str) -> tuple[Expect | None, list[bytes]]:
    if not windows.valid_utf8(name):
        return _refuse("name.invalid-utf8", f"{text} is not UTF-8", INVALID_ARGUMENT), []
    if kind := windows.rooted(name):
        return _refuse("contain.absolute", f"{text} {windows.rooted_words(kind)}", INVALID_ARGUMENT), []
    parts = components(name.replace(b"\\", b"/"))
    for part in parts:
        if words := windows.odd(part):
            return _refuse("name.windows-device", f"{shown(part)!r} in {text} {words}"), []
    return None, parts


def _escape(scene: Scene, base: Place, parts: tuple[bytes, ...] | list[bytes], place: Place, text: str) -> Expect:
    """The refusal of a name that leaves the model directory, by the rule that says most about how."""
    where = f"{text} resolves to {_where(scene, place)}, outside the model directory"
    if place.magic:
        return _refuse("contain.mount", f"{where}, through a link of /proc")
    size, own = len(base.path), base.path
    by_text = normal(own, parts)
    if by_text[:size] != own:
        sibling = len(by_text) >= size and by_text[: size - 1] == own[:-1] and by_text[size - 1].startswith(own[-1])
        if sibling:
            why = f"{where}, whose path only starts with the same characters"
            return _refuse("contain.sibling-prefix", why, INVALID_ARGUMENT)
        return _refuse("contain.parent", where, INVALID_ARGUMENT)
    final = place.links == 1 and place.leaf and place.node is not None and place.node.kind != "dir"
    rule = "contain.symlink-file" if final else "contain.symlink-dir"
    # whether a device of the host exists in the target's box is not in the world; nor does the kernel take `..` by its text
    status = None if place.lexical or scene.tree.world_path(place.path) is None else INVALID_ARGUMENT
    return _refuse(rule, f"{where}, through {'a link' if place.links == 1 else f'{place.links} links'}", status)


def _trusted(scene: Scene, case: Case, call: Call, name: bytes, text: str) -> Expect:
    """Names from a trusted caller: any path, used as it is."""
    tree, path = scene.tree, name
    if scene.windows:
        if not windows.valid_utf8(name):
            return _refuse("name.invalid-utf8", f"{text} is not UTF-8", INVALID_ARGUMENT)
        path = name.replace(b"\\", b"/")
        odd = next((f"{shown(p)!r} in {text} {words}" for p in components(path) if (words := windows.odd(p))), "")
        if odd and windows.rooted(name) in ("", "root-relative"):
            return _refuse("name.windows-device", odd)
    parts = path_parts(path)
    start = Place([tree.top], []) if path.startswith(b"/") else tree.cwd
    if scene.windows:
        parts = tuple(normal((), parts)) if path.startswith(b"/") else parts
    place = tree.walk(start, parts, follow=True)
    if len(name) >= PATH_MAX - SLACK or place.fault == "too-long":
        refused = _refuse("name.too-long", f"{text} is longer than the system takes")
        return refused if place.fault else _doubt(_gates(scene, case, call, name, place, text), refused.why)
    if place.fault == "loop":
        return _refuse("contain.symlink-loop", f"{text} leads through a loop of links, or more than {place.links} of them")
    if place.fault == "denied":
        return _denied(scene, call, place, text)
    if place.fault and b".." in place.rest:
        by_text = tree.walk(Place([tree.top], []), normal(place.names, place.rest))
        if not by_text.fault:  # a loader that normalises finds what the kernel does not
            return _doubt(_gates(scene, case, call, name, by_text, text), f"{text} takes `..` after what is no directory")
    if call.op == "write":
        leaf = tree.walk(start, parts, follow=False)
        if not leaf.fault and leaf.nodes[-1].kind == "link":
            return _refuse("trusted.type-gates", f"{text} is a link, through which nothing may be written", INVALID_ARGUMENT)
    found = _gates(scene, case, call, name, place, text)
    if found.rule in ("type.read-regular", "type.read-directory", "type.write-regular"):
        return msgspec.structs.replace(found, rule="trusted.type-gates")
    return found


# --- what stands there ------------------------------------------------------------------------------------------------------


def _gates(scene: Scene, case: Case, call: Call, name: bytes, place: Place, text: str) -> Expect:
    return _write(scene, case, call, name, place, text) if call.op == "write" else _read(scene, case, call, name, place, text)


def _link_in_the_way(scene: Scene, place: Place) -> Node | None:
    """The dangling link at which the resolution ended."""
    node = scene.tree.child(place.nodes[-1], place.rest[0]) if place.nodes[-1].kind == "dir" else None
    return node if node is not None and node.kind == "link" else None


_KINDS = {"fifo": "a FIFO", "socket": "a socket", "device": "a device", "dir": "a directory", "link": "a link", "file": "a file"}


def _read(scene: Scene, case: Case, call: Call, name: bytes, place: Place, text: str) -> Expect:
    node = place.node
    where = _where(scene, place)
    if node is None:
        link = _link_in_the_way(scene, place)
        if link is not None and len(place.rest) > 1:
            return _refuse(
                "contain.dangling-dir", f"{text} leads through {_prefix(scene, place, 1)}, a link whose target does not exist"
            )
        if link is not None:
            code = _dangling_code(scene, place, link)
            return _refuse("type.read-missing", f"{text} is a link whose target does not exist", code)
        if place.rest[-1] == b"":
            return _refuse("type.read-missing", f"{text} takes something that is not a directory for one")
        rule = "name.no-expansion" if _LITERAL.search(name) else "type.read-missing"
        return _refuse(rule, f"there is no file {where}", FAIL)
    if node.kind == "dir":
        return _refuse("type.read-directory", f"{text} is the directory {where}", INVALID_ARGUMENT)
    if node.kind != "file":
        return _refuse("type.read-regular", f"{text} is {_KINDS[node.kind]}, {where}", INVALID_ARGUMENT)
    inode = node.inode
    if not inode.mode & 0o400:
        return _refuse("type.read-missing", f"{where} may not be read")
    content = inode.content
    size = 1 if content is None else content.size
    if size >= HUGE:
        return _refuse("size.cap", f"{where} has {size} bytes, more than any loader should allocate")
    if size and call.allocator in ("null", "error"):
        return _refuse("own.alloc-fails", f"the allocator gives {_allocator_fault(call)}")
    file = _world_name(scene, place)
    if call.resize is not None:
        why = f"{shown(call.resize.path)} is given another size while {where} is read"
        return Expect("either", "size.file-changes", why, None, file, content)
    found = Expect("accept", _read_rule(scene, call, name, place, content), f"{text} is the file {where}", None, file, content)
    if inode.unsure:
        return _doubt(found, f"an earlier call may or may not have written {where}")
    if size > case.limits.memory // 2:
        return _doubt(found, f"{where} has {size} bytes, for which there may not be memory", "size.cap")
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
    if call.write_callback is not None or (call.op == "write" and call.read_callback is not None):
        return "cb.directions-independent"
    if content is not None and content.size != 96:
        return "size.exact"
    return "contain.accept-inside"


def _write(scene: Scene, case: Case, call: Call, name: bytes, place: Place, text: str) -> Expect:
    node, where = place.node, _where(scene, place)
    payload = call.payload or EMPTY
    if node is None:
        link = _link_in_the_way(scene, place)
        if link is not None and len(place.rest) > 1:
            return _refuse(
                "contain.dangling-dir", f"{text} leads through {_prefix(scene, place, 1)}, a link whose target does not exist"
            )
        if link is not None:
            return _refuse("type.write-symlink-leaf", f"{text} is a link whose target does not exist", INVALID_ARGUMENT)
        if place.rest[-1] == b"" or place.trailing:
            return _refuse("type.write-parent-missing", f"{text} ends like a directory, and there is none")
        if len(place.rest) > 1 or place.nodes[-1].kind != "dir":
            return _refuse("type.write-parent-missing", f"the directory in which {where} would lie does not exist", FAIL)
    elif node.kind != "file":
        return _refuse("type.write-regular", f"{text} is {_KINDS[node.kind]}, {where}", INVALID_ARGUMENT)
    parent = place.parent
    assert parent is not None
    if _readonly(scene, place):
        return _refuse("type.write-parent-missing", f"{where} lies on a file system that is mounted read-only", FAIL)
    enterable = parent.inode.mode & 0o300 == 0o300
    doubt = ""
    rule = "type.write-replaces"
    if node is None:
        if not enterable:
            return _refuse("type.write-parent-missing", f"the directory of {where} may not be written", FAIL)
    else:
        inode = node.inode
        if inode.attribute:
            return _refuse("type.write-replaces", f"{where} is {inode.attribute} and cannot be replaced")
        writable = bool(inode.mode & 0o200)
        if not writable and not enterable:
            return _refuse("type.write-parent-missing", f"neither {where} nor its directory may be written", FAIL)
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
        return _refuse("size.short-write-reported", why)
    if (room := _room(scene, place)) is not None:
        needed = -(-payload.size // PAGE)
        freed = -(-node.inode.content.size // PAGE) if node is not None and node.inode.content is not None else 0
        if needed > room + freed:
            scene.written = place, payload, False
            return _refuse("size.short-write-reported", f"the file system of {where} has no room for {payload.size} bytes")
        if needed > room:
            doubt = f"the file system of {where} has room for the payload only once the old file is gone"
            rule = "size.short-write-reported"
    scene.written = place, payload, not doubt
    file = _world_name(scene, place)
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


# --- models, races, and what a call leaves behind ---------------------------------------------------------------------------


def _load(scene: Scene, case: Case, call: Call) -> Expect:
    """All nodes of the model, each read as by its own call: refused if one is, open if one is malformed."""
    asked = names_of(case.model.nodes)
    if isinstance(asked, str):
        return Expect("either", "model.malformed-node", asked)
    if not asked:
        return Expect("accept", "cb.embed-bypasses", "no node of the model names external data", content=None)
    found = [_load_one(scene, case, call, named) for named in asked]
    worst = next((f for f in found if f.outcome == "refuse"), None) or next((f for f in found if f.outcome == "either"), found[0])
    if worst.outcome != "refuse" and len({f.file for f in found}) > 1:
        return Expect("either", "model.malformed-node", "the model has several main nodes that name different data")
    return worst


def _load_one(scene: Scene, case: Case, call: Call, named: Named) -> Expect:
    name = raw(named.name, ROOT)
    if not name:
        return _refuse("name.empty", "the node's ep_cache_context is empty", INVALID_ARGUMENT)
    if call.read_callback is not None:
        return _read_callback(scene, call, call.read_callback, name)
    found = _cut(scene, case, call, name, named.name)
    if len(name) >= ATTRIBUTE_LARGE or (found.rule == "name.invalid-utf8" and not scene.windows):
        return _doubt(found, f"{found.why}; the attribute's bytes are unusual", "model.attribute-bytes")
    return found


def _race(scene: Scene, case: Case, call: Call) -> Expect:
    """Either way round of the exchange may be met: the content inside, or any error; never what lies outside."""
    race = call.race
    assert race is not None
    alone = msgspec.structs.replace(call, race=None)
    why = f"while {shown(race.a)} and {shown(race.b)} are exchanged, the file inside may be met, or an error"
    found = _predict(scene, case, alone)
    if found.outcome == "refuse":
        turned = new_scene(case, scene.platform)
        turned.tree.swap(raw(race.a), raw(race.b))
        found = _predict(turned, case, alone)
    scene.written = None
    if found.outcome == "refuse":
        return Expect("either", "contain.race", why)
    return Expect("either", "contain.race", why, None, found.file, found.content)


def _settle_resize(scene: Scene, call: Call) -> None:
    """Give the file its new size in the scene's tree; whether that came to pass depends on the target."""
    assert call.resize is not None
    place = scene.tree.walk(Place(scene.tree.root_nodes, scene.tree.root_names), path_parts(raw(call.resize.path)))
    if place.node is not None and place.node.kind == "file":
        place.node.inode.unsure = True
