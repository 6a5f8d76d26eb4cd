"""What a fuzzer is told before it starts: the standing worlds, what is watched in them, the calls (``native/fuzz/plan.h``)."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from epctx.case import Call, Case, Dir, Fifo, File, Link, content_of, raw, stream
from epctx.fuzz.encoding import CALLS, WORLDS, decode, encoded, takes
from epctx.model import model_bytes
from epctx.spec import model_directory
from epctx.target.driver import request
from epctx.world.entries import Declared, ModelFile, mark_of
from epctx.world.paths import path_of, place_of, split
from epctx.world.plot import MARGIN
from epctx_driver import protocol
from epctx_driver.protocol import field

WORLD, ROOT, CLIMBS, ENTRY, WATCH, MARK, CALL = range(1, 8)
DIRECTORY, FILE, LINK, FIFO = range(4)
INSIDE, OUTSIDE, CANARY = range(3)
_NUMBER = struct.Struct("<I")
_ENTRY = struct.Struct("<II")


def plan(roots: Sequence[bytes], scratch: bytes) -> bytes:
    """The plan for worlds with these roots, one for each of ``WORLDS``, and that directory for temporary files."""
    return b"".join(field(WORLD, b"".join(_world(number, root, scratch))) for number, root in enumerate(roots))


def _world(number: int, root: bytes, scratch: bytes) -> Iterator[bytes]:
    place = WORLDS[number]
    case = decode(encoded(number, 0, b"good.bin"))
    assert case is not None
    inside = model_directory(case)
    directory = None if inside is None else path_of(inside) if inside else b""
    yield field(ROOT, root)
    yield field(CLIMBS, _NUMBER.pack(place.climbs))
    directories: dict[bytes, None] = {b"": None}
    entries: dict[bytes, Declared] = {path_of(entry.path): entry for entry in place.world.entries}
    if case.model.given:
        entries[path_of(case.model.path)] = ModelFile(case.model.path, model_bytes(case, root))
    for path in entries:
        parent, missing = split(path)[0], []
        while parent not in directories:
            missing.append(parent)
            parent = split(parent)[0]
        directories |= dict.fromkeys(reversed(missing))
    directories |= dict.fromkeys(path for path, entry in entries.items() if isinstance(entry, Dir))
    for path in list(directories)[1:]:
        yield _entry(DIRECTORY, path)
    for path, entry in entries.items():
        if isinstance(entry, ModelFile):
            yield _entry(FILE, path, entry.data)
        elif isinstance(entry, File):
            held = content_of(entry)
            yield _entry(FILE, path, stream(held.key, held.size))
        elif isinstance(entry, Link):
            yield _entry(LINK, path, raw(entry.to, root))
        elif isinstance(entry, Fifo):
            yield _entry(FIFO, path)
    for up in range(len(MARGIN)):
        yield _watch(OUTSIDE, root.rsplit(b"/", up + 1)[0])
    yield _watch(OUTSIDE, scratch)
    for path in directories:
        yield _watch(INSIDE if place_of(path, directory) == "inside" else OUTSIDE, root + b"/" + path if path else root)
    for path, entry in entries.items():
        if isinstance(entry, File) and place_of(path, directory) != "inside":
            yield _watch(CANARY, root + b"/" + path)
            yield field(MARK, mark_of(entry, path))
    for call in CALLS:
        yield field(
            CALL, _NUMBER.pack(protocol.FALLBACK if takes(call) == "fallback" else protocol.NAME) + _bare(case, call, root)
        )


def _bare(case: Case, call: Call, root: bytes) -> bytes:
    """The request for a call, without the name that is that of the bytes."""
    named = None if takes(call) == "name" or call.name is None else raw(call.name, root)
    asked = replace(call, fallback=None) if takes(call) == "fallback" else call
    cwd = root + b"/" + raw(case.world.cwd)
    made = request(asked, named, raw(case.model.given, root), cwd, root, None, b"", bulk=-1)
    return made[protocol.HEADER.size :]


def _entry(kind: int, path: bytes, content: bytes = b"") -> bytes:
    return field(ENTRY, _ENTRY.pack(kind, len(path)) + path + content)


def _watch(kind: int, path: bytes) -> bytes:
    return field(WATCH, _NUMBER.pack(kind) + path)
