"""Cases as bytes, for engines that change bytes: which standing world, which call, and the bytes of a name.

    byte 0      the world: its number in WORLDS, modulo how many there are
    byte 1      the call: its number in CALLS, modulo how many there are
    the rest    the name, as it is; a slash in front stands for the world's root

Any bytes are a case, but for names that would leave the margin. ``native/fuzz/plan.cc`` takes them apart in the same way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from msgspec import UNSET
from msgspec.structs import replace

from epctx.attack import STANDARD
from epctx.case import (
    ROOT_TOKEN,
    Call,
    Callback,
    Case,
    Content,
    Dir,
    Fifo,
    Limits,
    Link,
    Model,
    Name,
    Piece,
    Struct,
    World,
    raw,
)
from epctx.fuzz.grammar import CLIMBS, FAMILY

HEAD = 2
"""Bytes before the name."""
LONGEST = 8192
"""Bytes of the longest name: more than a path may have, by far."""
KEPT = b"\x01\x02root\x02\x01"
"""Bytes that no name of a case may hold."""
LIMITS = Limits(seconds=2.0)
"""Those of the cases: a loader that hangs need not be watched for long."""


class Place(Struct, frozen=True):
    """A standing world, and how the runtime was given the model in it."""

    world: World
    model: Model = Model()

    @property
    def climbs(self) -> int:
        """So many ``..`` a name may have in it."""
        return CLIMBS - sum(raw(entry.to).count(b"..") for entry in self.world.entries if isinstance(entry, Link))


WORLDS = (
    Place(World(STANDARD)),
    Place(World((*STANDARD, Link("model/link", "../outside"), Link("model/sub/deep", "../inner"), Dir("model/inner")))),
    Place(World((*STANDARD, Link("model/link", "../outside/secret.bin"), Link("model/other", "../outside/new.bin")))),
    Place(World((*STANDARD, Link("model/link", "sub"), Link("model/loop", "loop"), Fifo("model/pipe")))),
    Place(World((*STANDARD,), cwd="model"), Model(given="model.onnx")),
    Place(World((*STANDARD,), cwd="outside"), Model(given="")),
)
"""The worlds that stand while bytes are changed."""

_DATA, _ANSWER = Content("payload"), Content("answer")
_EMPTY, _PAGES = Content("payload", 0), Content("payload", 4097)
CALLS = (
    Call("read"),
    Call("read", source="caller"),
    Call("write", payload=_DATA),
    Call("write", source="caller", payload=_DATA),
    Call("read", read_callback=Callback(_ANSWER)),
    Call("write", payload=_DATA, write_callback=Callback()),
    Call("write", "logical", payload=_DATA, fallback=""),
    Call("read", read_callback=Callback(None, 1, "the vault is closed")),
    Call("write", payload=_DATA, write_callback=Callback(None, 3, "the vault is closed")),
    Call("read", held=True),
    Call("read", moves=True),
    Call("read", allocator="caller"),
    Call("read", allocator="null"),
    Call("read", config=True),
    Call("read", read_callback=Callback(_ANSWER), accessors=False),
    Call("read", read_callback=Callback(Content("answer", 0))),
    Call("read", write_callback=Callback()),
    Call("write", payload=_EMPTY),
    Call("write", payload=_PAGES),
    Call("write", payload=_DATA, read_callback=Callback(_ANSWER)),
    Call("write", "logical", payload=_DATA, fallback="", write_callback=Callback()),
)
"""The calls that are made, without the name: that is the fallback's where one is given, else the call's own."""


def takes(call: Call) -> str:
    """Which of a call's names is that of the bytes."""
    return "name" if call.fallback is UNSET else "fallback"


_BARE = [replace(call, **{takes(call): ""}) for call in CALLS]


def decode(data: bytes) -> Case | None:
    """The case that some bytes are; None for a name that would leave the margin, or that no case may have."""
    if len(data) < HEAD or len(data) > HEAD + LONGEST:
        return None
    place, call, name = WORLDS[data[0] % len(WORLDS)], _BARE[data[1] % len(CALLS)], data[HEAD:]
    if name.count(b"..") > place.climbs or ROOT_TOKEN.encode() in name or KEPT in name:
        return None
    made = replace(call, **{takes(call): _name(ROOT_TOKEN.encode() + name if name.startswith(b"/") else name)})
    mark = hashlib.sha256(encoded(data[0] % len(WORLDS), data[1] % len(CALLS), name)).hexdigest()[:16]
    return Case(
        f"{FAMILY}/bytes-{mark}",
        "A case that bytes made.",
        "hostile",
        (),
        place.world,
        (made,),
        place.model,
        LIMITS,
    )


def encode(case: Case) -> bytes | None:
    """The bytes that are a case, whatever it is called; None for one that cannot be said so.

    What ``decode`` makes of them has the same names, byte for byte, which may be written down in another way.
    """
    place = Place(case.world, case.model)
    if place not in WORLDS or len(case.calls) != 1:
        return None
    (call,) = case.calls
    which = takes(call)
    given, bare = getattr(call, which), replace(call, **{which: ""})
    if given is None or bare not in _BARE:
        return None
    root, name = ROOT_TOKEN.encode(), raw(given)
    if name.startswith(b"/") or name == root:
        return None
    data = encoded(WORLDS.index(place), _BARE.index(bare), name.removeprefix(root) if name.startswith(root + b"/") else name)
    return data if decode(data) is not None else None


def encoded(world: int, call: int, name: bytes) -> bytes:
    """The bytes of a case by the numbers of its world and its call."""
    return bytes((world, call)) + name


def nearest(case: Case) -> Iterator[bytes]:
    """The bytes of cases that are like this one: its calls and names, each by itself, in standing worlds with its model.

    For seeds: hardly any case of an attack stands in a world of ours.
    """
    alike = [number for number, place in enumerate(WORLDS) if (place.world.cwd, place.model) == (case.world.cwd, case.model)]
    for call in case.calls:
        for name in (call.name, None if call.fallback is UNSET else call.fallback):
            if name is None:
                continue
            data = raw(name)
            data = data.removeprefix(ROOT_TOKEN.encode()) if data.startswith(ROOT_TOKEN.encode() + b"/") else data
            for number in alike or range(len(WORLDS)):
                made = encoded(number, _alike(call), data)
                if decode(made) is not None:
                    yield made


def _alike(call: Call) -> int:
    """The number of the call that is most like another."""
    for wanted in (call, Call(call.op, source=call.source, payload=call.payload and _DATA), Call(call.op)):
        bare = replace(wanted, **{takes(wanted): ""})
        if bare in _BARE:
            return _BARE.index(bare)
    return 2 if call.op == "write" else 0


def _name(data: bytes) -> Name:
    """The name that some bytes are: a text, or where that cannot be, pieces of text and others."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return tuple(_pieces(data))


def _pieces(data: bytes) -> Iterator[Piece]:
    """Text as long as there is some, and what lies between."""
    text = data.decode("utf-8", "surrogateescape")
    start = 0
    while start < len(text):
        odd = "\udc80" <= text[start] <= "\udcff"
        end = start
        while end < len(text) and ("\udc80" <= text[end] <= "\udcff") == odd:
            end += 1
        part = text[start:end]
        yield Piece(hex=part.encode("utf-8", "surrogateescape").hex()) if odd else Piece(part)
        start = end
