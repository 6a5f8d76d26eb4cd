"""Names that become paths: those of a model, confined to its directory, and those of a trusted caller, who may name any file.

Source: doc, "Untrusted name handling".
"""

from __future__ import annotations

import msgspec

from epctx.case import INVALID_ARGUMENT, Call, Case, Expect, shown
from epctx.spec import windows
from epctx.spec.answers import doubtful, prefix, refuse, where_is
from epctx.spec.gates import gates
from epctx.spec.scene import Scene
from epctx.spec.tree import MANY_LINKS, NAME_MAX, PATH_MAX, Place, components, normal, path_parts

SLACK = 256
"""Around PATH_MAX by so many bytes, a path may or may not be too long: real roots, and ways to join, differ in length."""
BROKEN_OFF = ("too-long", "loop", "denied")
"""Faults that are errors of the resolution itself, rather than the finding that nothing is there."""


def untrusted(scene: Scene, case: Case, call: Call, name: bytes, text: str) -> Expect:
    """Names from a model: confined to the model directory. Where that does not exist, this is as good an error as any other."""
    found = _confined(scene, case, call, name, text)
    if scene.base is not None and scene.base.place.rest and found.status == INVALID_ARGUMENT:
        return msgspec.structs.replace(found, status=None)
    return found


def _confined(scene: Scene, case: Case, call: Call, name: bytes, text: str) -> Expect:
    base, tree = scene.base, scene.tree
    parts: tuple[bytes, ...] | list[bytes] = path_parts(name)
    if scene.windows:
        refused, parts = _windows(name, text)
        if refused is not None:
            return refused
    elif name.startswith(b"/"):
        return refuse("contain.absolute", f"{text} is absolute", INVALID_ARGUMENT)
    tree.folded = False
    if base is None:
        why = f"the model has no directory against which {text} could be resolved"
        return refuse("contain.no-model-path", why, INVALID_ARGUMENT)
    if scene.windows and b".." in parts:  # Windows takes `..` by its text before it looks at any link
        ends = [b""] if parts[-1] in (b"", b".") else []  # like a directory
        place = tree.weakly(tree.start, [*normal(base.place.path, parts), *ends])
    elif base.place.rest:  # the model directory does not exist
        place = tree.weakly(tree.start, [*base.place.path, *parts])
    else:
        place = tree.weakly(base.place, parts)
    doubt, stepped = "", None
    if (length := len(name) + base.length + 1) >= PATH_MAX - SLACK:
        refused = refuse("name.too-long", f"the path of {text} has about {length} bytes, as many as the system takes or more")
        new = call.op == "write" and len(place.rest) == 1  # the file that a write makes
        if (place.rest and not new) or not tree.within(base.place, place):
            return refused
        # a loader that goes component by component, or normalises first, meets no limit
        doubt = refused.why
    if place.fault in BROKEN_OFF:
        place, doubt_or_refusal = _broken_off(scene, call, base.place, parts, place, text)
        if isinstance(doubt_or_refusal, Expect):
            return doubt_or_refusal
        doubt = doubt_or_refusal
    elif place.lexical and not scene.windows:
        other = tree.by_steps(base.place, parts)
        if place.through == "not-dir":
            # weakly_canonical passes over it, the kernel says ENOTDIR
            doubt = f"{text} takes `..` after something that is not a directory"
        elif other.path != place.path:
            # weakly_canonical takes what follows a missing component by its text; who goes on step by step meets a link there
            doubt = f"{text} takes back a link by `..`, after something that does not exist"
        if doubt and other.fault not in BROKEN_OFF and tree.within(base.place, other):
            stepped = other
    elif place.magic:
        doubt = f"{text} leads through a link of /proc"
    rule: str | None = None
    if not tree.within(base.place, place):
        if base.real is None or not tree.within(base.real, place):
            refused = _escape(scene, base.place, parts, place, text)
            # the code is open only to who goes on step by step and stays inside
            return refused if stepped is None else _by_steps(scene, case, call, name, doubtful(refused, doubt), stepped, text)
        rule = "contain.model-link-cache"
        doubt = f"{text} leads into {where_is(scene, base.real)}, where the model's own link leads"
    elif tree.through_mount(base.place, place):
        return refuse("contain.mount", f"{text} leads through a mount in the model directory to what lies outside of it")
    if place.trailing and place.lexical and place.node is not None and place.node.kind != "dir":
        doubt = doubt or f"{text} ends like a directory"
    found = gates(scene, case, call, name, place, text)
    if found.outcome == "refuse" and base.real is not None and place.node is None and call.op != "write" and not place.links:
        beside = tree.walk(base.real, parts)
        if not beside.fault and beside.nodes[-1].kind == "file" and tree.within(base.real, beside):
            rule, doubt = "contain.model-link-cache", f"{text} is not beside the model's link but beside the real file"
            found = gates(scene, case, call, name, beside, text)
    if found.outcome != "refuse" and not rule and place.node and (home := tree.other_home(base.place, place.node)):
        rule = "contain.hard-link"
        doubt = f"{text} is a hard link to the outside file {where_is(scene, Place([], list(home)))}"
    if found.outcome == "accept" and call.op == "write" and place.lexical and place.leaf and not scene.windows:
        # weakly_canonical alone leaves a link after a missing component unresolved, and what is a link is not written
        doubt = doubt or f"{text} ends at a link, after something that does not exist"
    if tree.folded:  # a property of the file system, not of names: a directory may be told to mind case
        doubt = doubt or f"{text} is there only where case does not count"
    if doubt:
        found = _doubted(scene, found, doubt, rule)
        if found.outcome == "refuse":
            found = _by_steps(scene, case, call, name, found, stepped, text)
        elif stepped is not None:
            found = _either_way(scene, case, call, name, found, stepped, text)
    elif place.lexical and found.outcome == "refuse" and found.status is not None:
        found = msgspec.structs.replace(found, status=None)  # the kernel finds no such path, whatever it would name by its text
    return found


def _by_steps(scene: Scene, case: Case, call: Call, name: bytes, refused: Expect, stepped: Place | None, text: str) -> Expect:
    """A refusal, or open where who goes on step by step after what is missing stays inside and meets a file."""
    if stepped is None:
        return refused
    found = gates(scene, case, call, name, stepped, text)
    return refused if found.outcome == "refuse" else _doubted(scene, found, refused.why, refused.rule)


def _either_way(scene: Scene, case: Case, call: Call, name: bytes, found: Expect, stepped: Place, text: str) -> Expect:
    """What is open already; and so is the file, where who goes on step by step comes to another one inside."""
    written = scene.written
    other = gates(scene, case, call, name, stepped, text)
    scene.elsewhere = scene.written[0] if scene.written and other.file != found.file else None
    scene.written = written
    if other.outcome == "refuse" or other.file == found.file:
        return found
    return msgspec.structs.replace(found, instead=doubtful(other, found.why, found.rule))


def _broken_off(
    scene: Scene, call: Call, base: Place, parts: tuple[bytes, ...] | list[bytes], place: Place, text: str
) -> tuple[Place, Expect | str]:
    """A walk that ended for good: refused, unless a careful loader's own way to resolve may reach a file all the same."""
    tree = scene.tree
    if place.fault == "loop":
        other = tree.weakly(base, parts, limit=MANY_LINKS)
        refused = refuse("contain.symlink-loop", f"{text} leads through a loop of links, or more than {place.links} of them")
    else:
        other = tree.weakly(tree.start, normal(base.path, parts))
        if place.fault == "too-long":
            refused = refuse("name.too-long", f"{text} has a component of more than {NAME_MAX} bytes")
        else:
            refused = _denied(scene, call, place, text)
    if other.fault in BROKEN_OFF or not tree.within(base, other) or (place.fault == "loop" and other.node is None):
        return place, refused
    return other, refused.why


def _denied(scene: Scene, call: Call, place: Place, text: str) -> Expect:
    # the rules name no such case; it is to a reader as if the file were missing, to a writer as if its directory were unwritable
    rule = "type.read-missing" if call.op != "write" else "type.write-parent-missing"
    return refuse(rule, f"{text} leads through {prefix(scene, place)}, which may not be entered")


def _windows(name: bytes, text: str) -> tuple[Expect | None, list[bytes]]:
    if not windows.valid_utf8(name):
        return refuse("name.invalid-utf8", f"{text} is not UTF-8", INVALID_ARGUMENT), []
    if kind := windows.rooted(name):
        return refuse("contain.absolute", f"{text} {windows.rooted_words(kind)}", INVALID_ARGUMENT), []
    parts = components(name.replace(b"\\", b"/"))
    for part in parts:
        if words := windows.odd(part):
            return refuse("name.windows-device", f"{shown(part)!r} in {text} {words}"), []
    return None, parts


def _escape(scene: Scene, base: Place, parts: tuple[bytes, ...] | list[bytes], place: Place, text: str) -> Expect:
    """The refusal of a name that leaves the model directory, by the rule that says most about how."""
    where = f"{text} resolves to {where_is(scene, place)}, outside the model directory"
    if place.magic:
        return refuse("contain.mount", f"{where}, through a link of /proc")
    size, own = len(base.path), base.path
    by_text = normal(own, parts)
    if by_text[:size] != own:
        sibling = len(by_text) >= size and by_text[: size - 1] == own[:-1] and by_text[size - 1].startswith(own[-1])
        if sibling:
            why = f"{where}, whose path only starts with the same characters"
            return refuse("contain.sibling-prefix", why, INVALID_ARGUMENT)
        return refuse("contain.parent", where, INVALID_ARGUMENT)
    final = place.links == 1 and place.leaf and place.node is not None and place.node.kind != "dir"
    rule = "contain.symlink-file" if final else "contain.symlink-dir"
    # whether a device of the host exists in the target's box is not in the world; nor does the kernel take `..` by its text
    status = None if place.lexical or scene.tree.world_path(place.path) is None else INVALID_ARGUMENT
    return refuse(rule, f"{where}, through {'a link' if place.links == 1 else f'{place.links} links'}", status)


def trusted(scene: Scene, case: Case, call: Call, name: bytes, text: str) -> Expect:
    """Names from a trusted caller: any path, used as it is."""
    if not scene.windows:
        return _as_given(scene, case, call, name, text)
    if not windows.valid_utf8(name):
        return refuse("name.invalid-utf8", f"{text} is not UTF-8", INVALID_ARGUMENT)
    scene.tree.folded = False
    found, slashed = _as_given(scene, case, call, name, text), name.replace(b"\\", b"/")
    if slashed == name and b".." not in name and not scene.tree.folded and not any(map(windows.odd, components(name))):
        return found
    if found.outcome == "refuse" and slashed != name:
        found = _as_given(scene, case, call, slashed, text)
    # whoever is trusted asks the system, which need not be Windows where the rules of Windows are tested
    return _doubted(scene, found, f"what {text} means is the system's affair")


def _doubted(scene: Scene, found: Expect, why: str, rule: str | None = None) -> Expect:
    """``doubtful``, and so is what is written."""
    if scene.written is not None:
        scene.written = (*scene.written[:2], False)
    return doubtful(found, why, rule)


def _as_given(scene: Scene, case: Case, call: Call, name: bytes, text: str) -> Expect:
    tree, parts = scene.tree, path_parts(name)
    start = tree.start if name.startswith(b"/") else tree.cwd
    place = tree.walk(start, parts, follow=True)
    if len(name) >= PATH_MAX - SLACK or place.fault == "too-long":
        refused = refuse("name.too-long", f"{text} is longer than the system takes")
        new = call.op == "write" and place.fault == "missing" and len(place.rest) == 1
        return refused if place.fault and not new else _doubted(scene, gates(scene, case, call, name, place, text), refused.why)
    if place.fault == "loop":
        return refuse("contain.symlink-loop", f"{text} leads through a loop of links, or more than {place.links} of them")
    if place.fault == "denied":
        return _denied(scene, call, place, text)
    if place.fault and b".." in place.rest:
        by_text = tree.walk(tree.start, normal(place.names, place.rest))
        if not by_text.fault:  # a loader that normalises finds what the kernel does not
            found = gates(scene, case, call, name, by_text, text)
            return _doubted(scene, found, f"{text} takes `..` after what is no directory")
    if call.op == "write":
        leaf = tree.walk(start, parts, follow=False)
        if not leaf.fault and leaf.nodes[-1].kind == "link":
            return refuse("trusted.type-gates", f"{text} is a link, through which nothing may be written", INVALID_ARGUMENT)
    found = gates(scene, case, call, name, place, text)
    if found.rule in ("type.read-regular", "type.read-directory", "type.write-regular"):
        return msgspec.structs.replace(found, rule="trusted.type-gates")
    return found
