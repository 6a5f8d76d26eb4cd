"""Cases in worlds that a driver emulates: what it tells of them, in the terms of an observation."""

from __future__ import annotations

import base64
import json
import posixpath
from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from epctx.case import TAIL, Call, Case, Content, Dir, File, HardLink, Link, Platform, content_of, raw, stream
from epctx.errors import HarnessError
from epctx.model import model_bytes, names_in
from epctx.observation import Change, Place, Seen, State, Touched, digest
from epctx.run.session import Answer, Session
from epctx.spec import model_directory
from epctx.target.driver import Reply, read_reply, request
from epctx.world import CannotBuild, LiveWorld, mark_of_content
from epctx.world.paths import path_of, place_of, text_of
from epctx_driver import protocol

ROOT = b"/epctx/emulated/ground/4/3/2/1/world"
"""The world's root, as deep as a real one; on Windows on the present drive."""
DRIVE = "C:"


class Entry(NamedTuple):
    """What is at a path of the emulated file system."""

    kind: str
    inode: int
    content: bytes

    def state(self) -> State:
        """The same as observations have it, but for the mode, which is no more than a play there."""
        kind: Any = self.kind
        if kind == "dir":
            return State("dir", self.inode)
        return State(kind, self.inode, 0, len(self.content), digest(self.content))


Tree = dict[bytes, Entry]
"""What is at each world path; what lies above the world has a path with ``..``."""


def observe(session: Session, case: Case, around: LiveWorld, *, afresh: bool) -> tuple[Seen, ...]:
    """Make the calls of a case in a world that the driver emulates, up to the first that does not come back.

    ``around`` is a world on a disk, which the driver needs to be somewhere. With ``afresh`` the driver calls in a new process.
    """
    platform, data = session.launch.platform, model_bytes(case, ROOT)
    names, seen = iter(names_in(data)), list[Seen]()
    world = protocol.field(protocol.EMULATED_WORLD, json.dumps(_world(case, data, platform)).encode())
    given = raw(case.model.given, ROOT)
    for index, call in enumerate(case.calls):
        own = [next(names) if call.source == "model" else raw(name, ROOT) for name in call.names]
        message = request(
            call,
            own[0],
            _native(given, platform),
            around.plot.root,
            ROOT,
            None,
            b"" if index else world,
            session.bulk,
            afresh=afresh and not index,
        )
        answer = session.exchange(message, case.limits.seconds, around)
        seen.append(_seen(session, case, call, answer, platform))
        if answer.how != "reply":
            break
    return tuple(seen)


def _seen(session: Session, case: Case, call: Call, answer: Answer, platform: Platform) -> Seen:
    if answer.how != "reply":
        return Seen("crash" if answer.how == "crash" else "hang", detail=answer.detail)
    reply = read_reply(call, answer.data, session.bulk)
    if reply.skipped:
        raise CannotBuild(reply.skipped)
    if reply.fault:
        raise HarnessError(reply.fault)
    fields = protocol.fields(answer.data, protocol.HEADER.size + protocol.REPLY.size)
    told = json.loads(fields[protocol.EMULATED_SEEN][0])
    return _with_world(case, reply, told, platform)


def _with_world(case: Case, reply: Reply, told: dict[str, Any], platform: Platform) -> Seen:
    """What was seen of a call, with what became of the world."""
    before, after = (_tree(told[when], platform) for when in ("before", "after"))
    base = model_directory(case)
    directory = None if base is None else path_of(base) if base else b""

    def place(paths: Sequence[bytes]) -> Place:
        places = [place_of(path, directory) for path in paths]
        return next((found for found in places if found != "inside"), "inside")

    touched = []
    for inode in told["opened"]:
        paths = [
            path for tree in (before, after) for path, entry in tree.items() if entry.inode == inode and entry.kind == "file"
        ]
        if paths := list(dict.fromkeys(paths)):
            touched.append(Touched("open", tuple(map(text_of, paths)), place(paths)))
    changes = []
    for path in sorted({**before, **after}):
        was, now = before.get(path), after.get(path)
        if was == now:
            continue
        changes.append(Change(text_of(path), place([path]), was.state() if was else State(), now.state() if now else State()))
        touched.append(Touched("create" if not was else "modify" if now else "delete", (text_of(path),), place([path])))
    seen, output = replace(reply.seen, unmeasured=True), bytes(reply.output)
    reads = [path for path, entry in before.items() if entry.kind == "file" and entry.content == output] if output else []
    return replace(
        seen,
        touched=tuple(touched),
        changes=tuple(changes),
        reads=tuple(map(text_of, reads)) if seen.output else (),
        leaks=tuple(_leaks(case, directory, output + seen.message.encode("utf-8", "surrogateescape"))),
    )


def _leaks(case: Case, directory: bytes | None, data: bytes) -> list[str]:
    """The files outside the model directory of which bytes occur in ``data``."""
    files = [(path_of(e.path), content_of(e)) for e in case.world.entries if isinstance(e, File)]
    inside = {content.key for path, content in files if place_of(path, directory) == "inside"}
    own = [(path, mark_of_content(content)) for path, content in files if content.key not in inside]
    return [text_of(path) for path, mark in own if mark and mark in data]


def _world(case: Case, model: bytes, platform: Platform) -> dict[str, Any]:
    """A world as the driver is told of it. What cannot be at such a path on Windows is left out: no name leads to it there."""
    entries: list[tuple[str, str, str]] = []
    for entry in case.world.entries:
        if platform == "windows" and b"\\" in raw(entry.path):
            continue
        path = _path(raw(entry.path), platform)
        if isinstance(entry, Dir):
            entries.append((path, "dir", ""))
        elif isinstance(entry, File):
            entries.append((path, "file", base64.b64encode(_bytes(content_of(entry))).decode()))
        elif isinstance(entry, Link):
            entries.append((path, "link", _text(_native(raw(entry.to, ROOT), platform))))
        elif isinstance(entry, HardLink):
            entries.append((path, "hard link", _path(raw(entry.to), platform)))
    if case.model.given:
        entries.append((_path(raw(case.model.path), platform), "file", base64.b64encode(model).decode()))
    top = f"{DRIVE}\\" if platform == "windows" else "/"
    return {"top": top, "temporary": f"{top}tmp", "entries": entries, "cwd": _path(raw(case.world.cwd), platform)}


def _bytes(content: Content) -> bytes:
    if not content.sparse:
        return stream(content.key, content.size)
    tail = stream(content.key, min(TAIL, content.size))
    return bytes(content.size - len(tail)) + tail


def _native(path: bytes, platform: Platform) -> bytes:
    """A path as the platform writes it, with its drive where it is absolute."""
    if platform != "windows":
        return path
    return (DRIVE.encode() if path.startswith(b"/") else b"") + path.replace(b"/", b"\\")


def _path(world_path: bytes, platform: Platform) -> str:
    return _text(_native(ROOT + b"/" + world_path if world_path else ROOT, platform))


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _tree(told: Sequence[Sequence[Any]], platform: Platform) -> Tree:
    found: Tree = {}
    for path, kind, inode, content in told:
        plain = path.removeprefix(DRIVE).replace("\\", "/") if platform == "windows" else path
        name = posixpath.relpath(plain, ROOT.decode()).encode("utf-8", "surrogateescape")
        found[b"" if name == b"." else name] = Entry(kind, inode, base64.b64decode(content))
    return found
