"""Random cases: worlds, models, names and calls, strung together so that what is hostile is likely.

A case follows from decisions (``Choices``) alone. Each function makes a few of them and hands on plain data. What stands first
among options is the simplest, so that whoever shrinks decisions towards 0 shrinks the case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from epctx.attack import BRISK, STANDARD, Allocator, Source, node
from epctx.case import (
    Attribute,
    Call,
    Callback,
    Case,
    Content,
    Dir,
    Entry,
    Fifo,
    File,
    HardLink,
    Limits,
    Link,
    Model,
    Name,
    Node,
    Share,
    Socket,
    Step,
    Threads,
    World,
)
from epctx.case_check import validate
from epctx.errors import CaseError
from epctx.fuzz import paths
from epctx.fuzz.choices import Choices, bag, pick
from epctx.fuzz.paths import INSIDE, OUTSIDE

Doing: TypeAlias = Literal["set-read", "take", "get-read", "get-write", "release-config", "release-options"]

FAMILY = "fuzz"
"""The family of cases that no attack lists."""

CLIMBS = 4
"""So many ``..`` in all texts of a case never leave the margin, however they are taken; with more the case is checked."""

STANDARD_WORLD, PLAIN_MODEL, LIMITS = World(STANDARD), Model(), Limits()
SIZES = bag((6, 96), (1, 0), (1, 1), (1, 1023), (1, 1024), (1, 1025), (1, 4095), (1, 4096), (1, 4097), (1, 65535), (1, 65536))
"""Sizes of contents: mostly a plain one, else around the edges of buffers."""
CANARIES = ("outside/secret.bin", "model_evil/twin.bin")
CANARY_SIZES = bag((8, 96), (1, 0), (1, 4096))
CODES = bag((3, 1), (1, 2), (1, 3), (1, 6), (1, 9), (1, 11))
TEXTS: tuple[Name, ...] = bag((4, "the vault is closed"), (1, ""), (1, "größe\n\x1b[31m"))

MODELS: tuple[tuple[Name, str, tuple[Entry, ...]], ...] = bag(
    (24, ("{root}/model/model.onnx", "", ())),
    (3, ("model.onnx", "model", ())),
    (2, ("./model.onnx", "model", ())),
    (2, ("model/model.onnx", "", ())),
    (2, ("../model/model.onnx", "outside", ())),
    (2, ("{root}/outside/../model/model.onnx", "", ())),
    (1, ("{root}//model//model.onnx", "", ())),
    (2, ("{root}/shelf/linked/model.onnx", "", (Link("shelf/linked", "../model"), File("shelf/outside/secret.bin")))),
    (2, ("{root}/shelf/model.onnx", "", (Link("shelf/model.onnx", "../model/model.onnx"), File("shelf/good.bin")))),
    (3, ("", "outside", ())),
    (2, ("", "model", ())),
)
"""How the runtime was given the model, the working directory, and what the world needs for it."""

LINKS = ("model/link", "model/sub/link", "model/other", "model/new.bin", "outside/back", "model/sub/deep")
"""Where links stand; the name ``link`` is the one that names go through most."""
TARGETS = bag(
    (3, OUTSIDE[0]), (2, "outside"), (2, "model/good.bin"), (2, "model/sub"), (1, "model_evil/twin.bin"), (1, "model_evil")
)
PLACES = ("model/link", "model/node", "model/sub/link", "model/good.bin", "model/sub", "outside/new.bin")
"""Where entries of other kinds stand; some of them take the place of what is usually there."""

KINDS = bag(
    (14, "link"), (2, "dangling"), (2, "chain"), (1, "loop"), (2, "dir"), (4, "file"), (2, "hardlink"), (1, "fifo"), (1, "socket")
)
COUNTS = bag((5, 0), (7, 1), (3, 2), (1, 3))
AIMS = bag((3, "inside"), (6, "outside"), (2, "absolute"), (2, "strung"), (3, "foreign"))
"""What names lead to in a world that has nothing special."""
AIMS_AT_ENTRIES = bag((2, "inside"), (3, "outside"), (12, "entry"), (1, "absolute"), (1, "strung"), (2, "foreign"))
BEHIND = bag(
    (10, ""),
    (2, "secret.bin"),
    (2, "good.bin"),
    (1, "inner.bin"),
    (1, "twin.bin"),
    (2, "new.bin"),
    (1, ".."),
    (2, "../outside/secret.bin"),
    (1, "../good.bin"),
    (1, "../new.bin"),
    (1, "sub/inner.bin"),
)
"""How names go on behind an entry, which may be a link to a directory."""
OPS = bag((10, "read"), (6, "write"), (1, "load"))
DOINGS: tuple[Doing, ...] = ("set-read", "take", "get-read", "get-write", "set-read", "take", "release-config", "release-options")
CALLS = bag((12, 1), (2, 2), (1, 3))
ALLOCATORS: tuple[Allocator, ...] = bag((8, "default"), (2, "caller"), (1, "null"), (1, "error"))


class Grammar:
    """Random cases. ``tokens`` are further names, for this target."""

    def __init__(self, tokens: Sequence[Name] = ()) -> None:
        # as likely together as all foreign names
        own = tuple(tokens)
        self._foreign = (*paths.FOREIGN, *own * max(1, len(paths.FOREIGN) // max(1, len(own))))

    def case(self, choices: Choices, id: str) -> Case | None:
        """A case that may be built and run; None where the decisions lead to none."""
        made = self._made(choices, id)
        return made if _stays(made) else _checked(made)

    def _made(self, choices: Choices, id: str) -> Case:
        what = choices.below(40)
        if what >= 39:
            return _case(id, STANDARD_WORLD, (_threads(choices),))
        if what >= 37:
            return _case(id, STANDARD_WORLD, (_steps(choices),))
        given, cwd, around = pick(choices, MODELS)
        entries = self._entries(choices, SIZES if given and not around else CANARY_SIZES)
        world = World((*beside((*STANDARD, *around), entries), *entries), cwd=cwd)
        calls = tuple([self._call(choices, cwd, entries) for _ in range(pick(choices, CALLS))])
        nodes: tuple[Node, ...] = ()
        if any(call.op == "load" for call in calls):
            calls, nodes = calls[:1], self._nodes(choices, entries)
            calls = (Call("load", read_callback=calls[0].read_callback),)
        model = PLAIN_MODEL if given == PLAIN_MODEL.given and not nodes else Model(given=given, nodes=nodes)
        return _case(id, world, calls, model, _limits(choices, calls))

    def _entries(self, choices: Choices, sizes: Sequence[int]) -> list[Entry]:
        """What a world has besides the standard files, each at a place of its own."""
        made: list[Entry] = []
        for _ in range(pick(choices, COUNTS)):
            made += beside(entry(choices, sizes), made)
        return made

    def name(self, choices: Choices, start: str = "model", entries: Sequence[Entry] = ()) -> Name:
        """A name as a model gives it, or a caller who is in the directory ``start``, in a world with these special entries."""
        aim = pick(choices, AIMS_AT_ENTRIES if entries else AIMS)
        if aim == "inside":
            return paths.way(choices, start, pick(choices, INSIDE))
        if aim == "outside":
            return paths.way(choices, start, pick(choices, OUTSIDE))
        if aim == "entry":
            return paths.way(choices, start, str(pick(choices, entries).path), pick(choices, BEHIND))
        if aim == "absolute":
            return pick(choices, paths.ABSOLUTE) + pick(choices, (*INSIDE, *OUTSIDE))
        return paths.strung(choices) if aim == "strung" else pick(choices, self._foreign)

    def _call(self, choices: Choices, cwd: str, entries: Sequence[Entry]) -> Call:
        op = pick(choices, OPS)
        caller = choices.below(8) == 7
        name: Name | None = self.name(choices, cwd if caller else "model", entries)
        if op == "load":
            return Call("load", read_callback=callback(choices, "read") if choices.below(4) == 3 else None)
        odd = choices.below(24)
        if odd == 23:
            name = None
        source: Source = "caller" if caller else "model"
        asked = choices.below(5)
        read = callback(choices, "read") if asked == 4 or (asked == 3 and op == "read") else None
        write = callback(choices, "write") if asked == 4 or (asked == 3 and op == "write") else None
        accessors = odd != 22
        if op == "read":
            return Call(
                "read",
                name,
                source,
                read_callback=read,
                write_callback=write,
                config=odd == 21,
                allocator=pick(choices, ALLOCATORS),
                held=odd in (19, 20),
                moves=odd in (17, 18),
                accessors=accessors,
                lingers=odd == 16,
            )
        null = odd == 20
        return Call(
            "write",
            name,
            source,
            payload=None if null else Content("payload", pick(choices, SIZES)),
            null_size=choices.below(2) * 96 if null else 0,
            fallback=self._fallback(choices, entries),
            read_callback=read,
            write_callback=write,
            config=odd == 21,
            accessors=accessors,
            lingers=odd == 16,
        )

    def _fallback(self, choices: Choices, entries: Sequence[Entry]) -> Name | UnsetType | None:
        which = choices.below(8)
        return UNSET if which < 6 else None if which == 7 and choices.below(4) == 3 else self.name(choices, "model", entries)

    def _nodes(self, choices: Choices, entries: Sequence[Entry]) -> tuple[Node, ...]:
        return tuple([self._node(choices, entries) for _ in range(1 + choices.below(3))])

    def _node(self, choices: Choices, entries: Sequence[Entry]) -> Node:
        made = node(self.name(choices, "model", entries))
        which = choices.below(12)
        if which < 5:
            return made
        attributes = list(made.attributes)
        at = choices.below(len(attributes))
        if which == 5:
            del attributes[at]
        elif which == 6:
            attributes.append(attributes[at])
        elif which == 7:
            attributes.append(Attribute("ep_cache_context", text=self.name(choices)))
        elif which == 8:
            odd = (Attribute("embed_mode", number=pick(choices, (1, 2, -1, 1 << 40))), Attribute("main_context", number=0))
            attributes.append(pick(choices, odd))
            attributes = [a for n, a in enumerate(attributes) if a.name != attributes[-1].name or n == len(attributes) - 1]
        elif which == 9:
            attributes[at] = pick(choices, tuple(_retyped(attributes[at].name, self.name(choices))))
        elif which == 10:
            return Node(tuple(attributes), domain=pick(choices, ("", "com.example")))
        else:
            return Node(tuple(attributes), op_type=pick(choices, ("EPContext2", "Identity")))
        return Node(tuple(attributes))


# --- parts ------------------------------------------------------------------------------------------------------------------


def _case(id: str, world: World, calls: tuple[Call, ...], model: Model = PLAIN_MODEL, limits: Limits = LIMITS) -> Case:
    return Case(id, "A case that a grammar made.", "hostile", (), world, calls, model, limits)


def _checked(case: Case) -> Case | None:
    try:
        validate(case)
    except CaseError:
        return None
    return case


def _stays(case: Case) -> bool:
    """Whether it is certain at a glance that no text of a case leads beyond the margin.

    Wherever a walk is, it came from a directory of the world by the ``..`` of a name and of links, each of them once; what is
    absolute is so within the world.
    """
    climbs = _climbs(case.model.given) + sum(_climbs(entry.to) for entry in case.world.entries if type(entry) is Link)
    if climbs > CLIMBS:
        return False
    names = [attribute.text for node in case.model.nodes for attribute in node.attributes if attribute.text is not None]
    for call in case.calls:
        names += call.names
        if call.fallback is not UNSET and call.fallback is not None:
            names.append(call.fallback)
    return all(climbs + _climbs(name) <= CLIMBS for name in names)


def _climbs(name: Name) -> int:
    return name.count("..") if isinstance(name, str) else sum(piece.text.count("..") * piece.times for piece in name)


def beside(entries: Sequence[Entry], others: Sequence[Entry]) -> list[Entry]:
    """Those entries that can be in a world together with others."""
    taken = [str(other.path) for other in others]
    kept = []
    for entry in entries:
        path = str(entry.path)
        if not any(path == t or path.startswith(f"{t}/") or t.startswith(f"{path}/") for t in taken):
            kept.append(entry)
    return kept


def entry(choices: Choices, sizes: Sequence[int]) -> tuple[Entry, ...]:
    """Something special in a world: an entry, or two that belong together."""
    kind = pick(choices, KINDS)
    if kind in ("link", "dangling", "chain", "loop"):
        return _link(choices, kind)
    place = pick(choices, PLACES)
    if kind == "dir":
        return (Dir(place),)
    if kind == "fifo":
        return (Fifo(place),)
    if kind == "socket":
        return (Socket(place),)
    if kind == "hardlink":
        return (HardLink(place, pick(choices, CANARIES)),)
    inside = place.startswith("model/")
    return (File(place, Content(f"fuzz {place}", pick(choices, sizes if inside else CANARY_SIZES))),)


def _link(choices: Choices, kind: str) -> tuple[Entry, ...]:
    place = pick(choices, LINKS)
    home = place.rpartition("/")[0]
    if kind == "loop":
        return (Link(place, place.rpartition("/")[2]),)
    if kind == "chain":
        second = "model/hop"
        return (
            Link(place, "/".join(paths.relative(home, second))),
            Link(second, _text(choices, "model", pick(choices, TARGETS))),
        )
    target = pick(choices, ("outside/new.bin", "model/none.bin", "outside/none/new.bin") if kind == "dangling" else TARGETS)
    return (Link(place, _text(choices, home, target)),)


def _text(choices: Choices, home: str, target: str) -> str:
    """The text of a link in the directory ``home``."""
    if choices.below(4) == 3:
        return "{root}/" + target
    return paths.way(choices, home, target)


def callback(choices: Choices, direction: Literal["read", "write"]) -> Callback:
    """One that does what it should, or one that fails, lies, or leaves something behind."""
    which = choices.below(12)
    content = Content("answer", pick(choices, SIZES)) if direction == "read" else None
    if which < 6:
        return Callback(content, null_state=which == 5)
    code, text = pick(choices, CODES), pick(choices, TEXTS)
    if direction == "write" or which < 9:
        return Callback(None, code, text)
    if which == 9:
        return Callback(content, code, text)
    size = pick(choices, (0, 1, 96, 4096)) if which == 10 else max(0, (content.size if content else 0) - choices.below(96))
    return Callback(None if which == 10 else content, size=size)


def _limits(choices: Choices, calls: Sequence[Call]) -> Limits:
    """Brisk ones, and for one write in twelve a limit of its files' size."""
    if any(call.op == "write" for call in calls) and choices.below(12) == 11:
        return replace(BRISK, file_size=pick(choices, (0, 1, 64, 1000, 4096)))
    return LIMITS


def _retyped(name: str, text: Name) -> Iterator[Attribute]:
    """An attribute with values of all types."""
    yield Attribute(name, number=0)
    yield Attribute(name, real=1.0)
    yield Attribute(name, texts=(text,))
    yield Attribute(name, numbers=(1, 2))
    yield Attribute(name, text=text)
    yield Attribute(name)


def _steps(choices: Choices) -> Call:
    """An application that sets, takes, asks and releases in any order that it may: what is gone is not used again."""
    made: list[Step] = []
    used: set[int | None] = set()
    taken: list[int] = []
    ever: set[int] = set()
    gone: set[int] = set()
    for _ in range(2 + choices.below(9)):
        options = choices.below(3)
        do = pick(choices, DOINGS)
        null = choices.below(12) == 11
        if do in ("set-read", "take") and options not in gone:
            here = None if null else options
            if do == "set-read":
                function = None if choices.below(4) == 3 else choices.below(2)
                state = None if choices.below(6) == 5 else choices.below(4)
                made.append(Step("set-read", here, function=function, state=state))
                used.add(here)
                continue
            config = choices.below(4)
            if config not in ever:
                ever.add(config)
                made.append(Step("take", here, config))
                used.add(here)
                if not null:
                    taken.append(config)
        elif do in ("get-read", "get-write") and (taken or null):
            without: Literal["", "function", "state"] = pick(choices, ("", "", "", "", "function", "state"))
            made.append(Step(do, config=None if null else pick(choices, taken), without=without))
        elif do == "release-config" and (taken or null):
            made.append(Step(do, config=None if null else taken.pop(choices.below(len(taken)))))
        elif do == "release-options" and options in used and options not in gone:
            gone.add(options)
            made.append(Step(do, options))
    return Call("config", steps=tuple(made) or (Step("set-read"),))


def _threads(choices: Choices) -> Call:
    """Several threads that read and write by callbacks, each its own."""
    op: Literal["read", "write"] = pick(choices, ("read", "write"))
    size = pick(choices, (96, 1, 4096))
    some = tuple(Share(op, f"{op}{n}.bin", Content(f"{op}{n}", size + n)) for n in range(1 + choices.below(4)))
    asked = Callback(waits=choices.below(3))
    return Call(
        op,
        None,
        payload=None,
        read_callback=asked if op == "read" else None,
        write_callback=asked if op == "write" else None,
        threads=Threads(some, 2 + choices.below(3), 8, pick(choices, ("one", "each"))),
    )
