"""What the specification says about each call of a case: refused, accepted with these bytes, or a matter of taste.

The rules are those of the rule list; a deciding rule's id is in ``Expect.rule``. Where the list leaves room, ``either`` is said,
and the comment beside it gives the reason. In which order a call is looked at follows the document's section "Untrusted name
handling" and the reference helper: the name, a callback, the path, what stands there, the bytes.
"""

from __future__ import annotations

import re

import msgspec

from epctx.case import (
    FAIL,
    INVALID_ARGUMENT,
    NOT_IMPLEMENTED,
    OK,
    Call,
    Callback,
    Case,
    Expect,
    Name,
    Platform,
    Race,
    Threads,
    raw,
    shown,
)
from epctx.remember import remembered
from epctx.spec import config
from epctx.spec.answers import EMPTY, allocator_fault, doubtful, refuse
from epctx.spec.confine import trusted, untrusted
from epctx.spec.external import external
from epctx.spec.nodes import Named, names_of
from epctx.spec.scene import Scene, new_scene, new_tree, scene_of
from epctx.spec.support import negotiated
from epctx.spec.tree import NAME_MAX, ROOT, Place, path_parts

ATTRIBUTE_LARGE = 64 << 10
"""An attribute of so many bytes is one that a loader may refuse for its size (``model.attribute-bytes``)."""

_ODD_FOR_CALLBACK = re.compile(rb"[^A-Za-z0-9_.-]|\A\.{1,2}\Z")
"""Names that are not plain file names: a callback gets them all the same."""


def predict(case: Case, platform: Platform = "posix", *, negotiates: bool = True) -> tuple[Expect, ...]:
    """One expectation for each call of ``case``, in order; a write is seen by the calls after it.

    ``negotiates`` is whether ONNX Runtime asks an execution provider which callbacks it uses, as it does from 1.31 on.
    """
    if platform == "posix" and negotiates:
        return _usual(case)
    return _all(case, platform, negotiates)


@remembered()
def _usual(case: Case) -> tuple[Expect, ...]:
    return _all(case, "posix", True)


def _all(case: Case, platform: Platform, negotiates: bool) -> tuple[Expect, ...]:
    scene, own, out = scene_of(case, platform), False, []
    for call in case.calls:
        found = expectation(scene, case, call, negotiates)
        changes = scene.written is not None or (call.resize is not None and call.op == "read")
        if changes and not own and len(case.calls) > 1:  # what follows sees another world, and this one is shared
            scene, own = new_scene(case, platform), True
            found = expectation(scene, case, call, negotiates)
        out.append(found)
        if own:
            scene.settle()
            settle_resize(scene, call)
    return tuple(out)


def expectation(scene: Scene, case: Case, call: Call, negotiates: bool) -> Expect:
    """What is expected of one call in a setting, which itself stays as it is: what the call would write is noted in it."""
    if call.support is None:
        return _predict(scene, case, call)
    found = negotiated(case, call, negotiates, lambda asked: _predict(scene, case, asked))
    if found.outcome == "refuse":
        scene.written = None
    return found


def _predict(scene: Scene, case: Case, call: Call) -> Expect:
    scene.written = scene.elsewhere = None
    if case.model.external is not None:
        bare = msgspec.structs.replace(case, model=msgspec.structs.replace(case.model, external=None))
        return external(scene, case, call, lambda asked: _predict(scene, bare, asked))
    if call.race is not None:
        return _race(scene, case, call)
    if call.threads is not None:
        return _threads(scene, case, call, call.threads)
    if call.op == "load":
        return _load(scene, case, call)
    if call.op == "config":
        return config.expectation(call)
    if call.embeds:
        return Expect("accept", "cb.embed-bypasses", "what is compiled goes into the model")
    if not (name := _bytes(call.name)):
        return refuse("name.empty", f"the name is {'NULL' if name is None else 'empty'}", INVALID_ARGUMENT)
    if name.startswith(b"\0"):
        return refuse("name.embedded-nul", f"{shown(call.name)} starts with a NUL: as a C string it is empty")
    if call.op == "write" and call.payload is None and call.null_size:
        # before the accessors are asked for: an argument of the call itself is wrong
        why = f"the buffer is NULL and its size is {call.null_size}"
        return refuse("cb.write-null-buffer", why, INVALID_ARGUMENT)
    if not call.accessors and (call.read_callback or call.write_callback or call.config):
        why = "the application's callbacks are in the config, and the runtime cannot give them"
        return refuse("cb.accessor-missing", why, NOT_IMPLEMENTED)
    if call.op == "read":
        if call.read_callback is not None:
            return _read_callback(scene, call, call.read_callback, name)
        return _without_callback(call, _cut(scene, case, call, name, call.name))
    if call.write_callback is not None:
        return _write_callback(scene, call, call.write_callback, name)
    if call.fallback is msgspec.UNSET:
        return _without_callback(call, _cut(scene, case, call, name, call.name))
    fallback = _bytes(call.fallback)
    if not fallback:
        why = "the fallback name is NULL or empty and there is no write callback"
        return refuse("name.fallback-empty", why, INVALID_ARGUMENT)
    return _without_callback(call, _cut(scene, case, call, fallback, call.fallback, logical=True))


def _bytes(name: Name | None) -> bytes | None:
    return None if name is None else raw(name, ROOT)


# --- callbacks --------------------------------------------------------------------------------------------------------------


def _without_callback(call: Call, found: Expect) -> Expect:
    """What a file path without a callback of its direction comes to: as without a config, and where it is accepted that decides.

    "Retrieve callbacks": if none was registered, function and state are NULL, and the normal disk path is used.
    """
    if found.outcome != "accept":
        return found
    if call.read_callback or call.write_callback:
        other = "write" if call.op == "read" else "read"
        why = f"there is a {other} callback only, so that a {call.op} goes to the file"
        return msgspec.structs.replace(found, rule="cb.directions-independent", why=why)
    if call.config:
        return msgspec.structs.replace(found, rule="cb.absent-is-file", why="no callback is registered with the config")
    return found


def _read_callback(scene: Scene, call: Call, callback: Callback, name: bytes) -> Expect:
    """The callback's answer is the answer ("OrtReadNamedBufferFunc"), as far as it is one."""
    content = callback.content
    size = (content.size if content else 0) if callback.size is None else callback.size
    if content is not None and call.allocator in ("null", "error"):
        why = f"the allocator gives {allocator_fault(call)}, so the callback has no buffer"
        if not content.size and callback.code == OK:  # and needs none
            return Expect("either", "own.alloc-fails", why, content=EMPTY)
        return refuse("own.alloc-fails", why)
    if callback.code != OK:
        # "Zero-copy owning buffer": what the callback allocated belongs to the helper, whatever it answers
        rule = "cb.alloc-then-fail" if content is not None else "cb.error-with-size" if size else "cb.error-is-final"
        return refuse(rule, f"the read callback answers with code {callback.code}, which is the answer", callback.code)
    if content is None and size:
        return refuse("cb.null-buffer", f"the read callback answers OK with NULL and size {size}", FAIL)
    if not size:
        given = "NULL" if content is None else "a buffer"
        return Expect("accept", "cb.empty-payload", f"the read callback answers with {given} and size 0", content=EMPTY)
    assert content is not None
    if size > content.size:
        # nobody can see that a buffer is smaller than its size, but who copies it reads beyond its end
        why = f"the read callback gives {content.size} bytes and says that they are {size}, which only it can know"
        return Expect("accept", "own.adopts", why)
    if size < content.size:
        why = f"the read callback gives a buffer of {content.size} bytes, of which {size} are the data"
        return Expect("accept", "own.adopts", why, content=msgspec.structs.replace(content, size=size))
    return Expect(
        "accept", _callback_rule(scene, call, callback, name), "the read callback answers for the name", content=content
    )


def _callback_rule(scene: Scene, call: Call, callback: Callback, name: bytes) -> str:
    if callback.null_state:
        return "cb.state-identity"
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
    return {"read": "own.adopts", "write": "chunk.single-write"}.get(call.op, "name.opaque-to-callback")


def _write_callback(scene: Scene, call: Call, callback: Callback, name: bytes) -> Expect:
    if callback.code != OK:
        why = f"the write callback answers with code {callback.code}, which is the answer"
        return refuse("cb.error-is-final", why, callback.code)
    rule = "cb.write-null-buffer" if call.payload is None else _callback_rule(scene, call, callback, name)
    return Expect("accept", rule, "the write callback takes the payload", content=call.payload or EMPTY)


# --- names that become paths ------------------------------------------------------------------------------------------------


def _cut(scene: Scene, case: Case, call: Call, name: bytes, label: Name | None, logical: bool = False) -> Expect:
    """Read or write at ``name``; where it holds a NUL, what a C string keeps of it may be used, or the name be refused."""
    text = shown(label)
    if b"\0" not in name:
        return _path(scene, case, call, name, text, logical)
    kept = name.partition(b"\0")[0]
    why = f"{text} holds a NUL: it is refused, or its beginning {shown(kept)!r} is used inside the model directory"
    if not kept:  # a fallback name; of the name itself that is known
        return refuse("name.embedded-nul", f"{text} starts with a NUL: as a C string it is empty")
    found = _path(scene, case, call, kept, shown(kept), logical)
    if found.outcome == "refuse":
        # that bytes are lost has nothing to do with the name
        rule = found.rule if found.rule == "size.short-write-reported" else "name.embedded-nul"
        return refuse(rule, f"{text} holds a NUL, and before it: {found.why}", file=found.file)
    if scene.written is not None:
        scene.written = (*scene.written[:2], False)
    return doubtful(found, why, "name.embedded-nul")


def _path(scene: Scene, case: Case, call: Call, name: bytes, text: str, logical: bool) -> Expect:
    found = trusted(scene, case, call, name, text) if call.source == "caller" else untrusted(scene, case, call, name, text)
    if logical and found.outcome == "accept" and found.rule in ("contain.accept-inside", "trusted.any-path"):
        return msgspec.structs.replace(found, rule="name.logical-not-a-path")
    return found


# --- models, races, and what a call leaves behind ---------------------------------------------------------------------------


def _load(scene: Scene, case: Case, call: Call) -> Expect:
    """All nodes of the model, each read as by its own call: refused if one is, open if one is malformed."""
    asked = names_of(case.model.nodes)
    if isinstance(asked, str):
        return Expect("either", "model.malformed-node", asked)
    if not asked:
        return Expect("accept", "cb.embed-bypasses", "no node of the model names external data", content=None)
    found = [_load_one(scene, case, call, named) for named in asked]
    refused = [f for f in found if f.outcome == "refuse"]
    if refused:
        # which of several is met first is the loader's affair, and so is what it reads before
        file = next((f.file for f in found if f.file is not None), None)
        alike = len({(f.outcome == "either", f.status) for f in found if f.outcome != "accept"}) == 1
        # that the callback's answer comes back is certain only where nothing else is wrong, be it of the same code
        other = next((f for f in refused if not f.rule.startswith("cb.")), refused[0])
        return msgspec.structs.replace(other, status=other.status if alike else None, file=file)
    worst = next((f for f in found if f.outcome == "either"), found[0])
    if len({f.file for f in found}) > 1:
        return Expect("either", "model.malformed-node", "the model has several main nodes that name different data")
    return worst


def _load_one(scene: Scene, case: Case, call: Call, named: Named) -> Expect:
    name = raw(named.name, ROOT)
    if not name:
        return refuse("name.empty", "the node's ep_cache_context is empty", INVALID_ARGUMENT)
    if call.read_callback is not None:
        found = _read_callback(scene, call, call.read_callback, name)
        if b"\0" in name:
            why = f"the node's ep_cache_context {shown(named.name)} holds a NUL, which a callback is not given"
            return (
                refuse("model.attribute-bytes", why)
                if found.outcome == "refuse"
                else doubtful(found, why, "model.attribute-bytes")
            )
        return found
    found = _cut(scene, case, call, name, named.name)
    if len(name) >= ATTRIBUTE_LARGE or (found.rule == "name.invalid-utf8" and not scene.windows):
        return doubtful(found, f"{found.why}; the attribute's bytes are unusual", "model.attribute-bytes")
    return found


def _race(scene: Scene, case: Case, call: Call) -> Expect:
    """Either state of the names may be met: the content inside, or any error; never what lies outside in both."""
    race = call.race
    assert race is not None
    alone = msgspec.structs.replace(call, race=None)
    doing = {"exchange": "are exchanged", "move": "are one entry's place by turns", "chdir": "are the working directory by turns"}
    why = f"while {shown(race.a)} and {shown(race.b)} {doing[race.how]}, the file inside may be met, or an error"
    found = _predict(scene, case, alone)
    if found.outcome == "refuse":
        found = _predict(_turned(scene, case, race), case, alone)
    scene.written = None
    if found.outcome == "refuse":
        return Expect("either", "contain.race", why)
    return Expect("either", "contain.race", why, None, found.file, found.content)


def _turned(scene: Scene, case: Case, race: Race) -> Scene:
    """The other state of a race."""
    a, b = raw(race.a), raw(race.b)
    if race.how == "chdir":
        return new_scene(msgspec.structs.replace(case, world=msgspec.structs.replace(case.world, cwd=race.b)), scene.platform)
    tree = new_tree(case, scene.platform)
    (tree.swap if race.how == "exchange" else tree.move)(a, b)
    return Scene(tree, case.model.given, scene.platform)


def _threads(scene: Scene, case: Case, call: Call, threads: Threads) -> Expect:
    """Each call of each thread ends as its share says: calls are not serialised, and none of them knows of another."""
    callbacks = [callback for callback in (call.read_callback, call.write_callback) if callback is not None]
    why = f"{threads.count} threads make {threads.rounds} calls each, and each call is as if it were alone"
    rule = "thread.no-cross-talk"
    if any(callback.reenters is not None for callback in callbacks):
        rule, why = "thread.reentrant", f"{why}, also one that a callback makes"
    elif any(callback.waits > 1 for callback in callbacks):
        rule, why = "thread.not-serialised", f"{why}, so that callbacks of several of them can be at work at once"
    for share in threads.shares:
        found = _predict(scene, case, call.of(share))
        scene.written = None
        alike = found.outcome == "refuse" if share.content is None else found.outcome == "accept"
        if not alike or (share.op == "read" and share.content != found.content):
            return Expect("either", rule, f"the share {shown(share.name)} says otherwise than the specification: {found.why}")
    return Expect("accept", rule, why)


def settle_resize(scene: Scene, call: Call) -> None:
    """Give the file that a read resizes its new size in the scene's tree; whether that came to pass depends on the target."""
    if call.resize is None or call.op != "read":
        return
    place = scene.tree.walk(Place(scene.tree.root_nodes, scene.tree.root_names), path_parts(raw(call.resize.path)))
    if place.node is not None and place.node.kind == "file":
        place.node.inode.unsure = True
