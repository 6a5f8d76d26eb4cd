"""Random cases: worlds, models, names and calls, strung together so that what is hostile is likely.

A case follows from decisions (``Choices``) alone. Each function makes a few of them and hands on plain data. What stands first
among options is the simplest, so that whoever shrinks decisions towards 0 shrinks the case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from msgspec import UNSET, UnsetType

from epctx.attack import BRISK, STANDARD, Allocator, Op, Source, node
from epctx.case import Attribute, Call, Callback, Case, Content, Entry, File, Limits, Link, Model, Name, Node, Resize, World
from epctx.case_check import validate, validate_names
from epctx.errors import CaseError
from epctx.fuzz import mutate, paths, scenes, scripts
from epctx.fuzz.choices import Choices, bag, pick
from epctx.fuzz.paths import INSIDE, OUTSIDE
from epctx.fuzz.scenes import SIZES, Scene

FAMILY = "fuzz"
"""The family of cases that no attack lists."""

CLIMBS = 4
"""So many ``..`` in all texts of a case never leave the margin, however they are taken; with more the case is checked."""

STANDARD_WORLD, PLAIN_MODEL, LIMITS = scenes.PLAIN.world, Model(), Limits()
AT_ONCE = Limits(seconds=1)
"""What threads have not done in that time is stuck."""

AIMS = bag((3, "inside"), (6, "outside"), (2, "absolute"), (2, "strung"), (6, "foreign"))
"""What names lead to in a world that has nothing special."""
AIMS_AT_ENTRIES = bag((2, "inside"), (3, "outside"), (12, "entry"), (1, "absolute"), (1, "strung"), (5, "foreign"))
AIMS_OF_CALLERS = bag((2, "inside"), (2, "outside"), (3, "absolute"), (2, "entry"), (1, "foreign"))
BEHIND_LINKS = bag(
    (8, ""),
    (3, "secret.bin"),
    (2, "good.bin"),
    (1, "inner.bin"),
    (1, "twin.bin"),
    (3, "new.bin"),
    (1, ".."),
    (2, "../outside/secret.bin"),
    (1, "../good.bin"),
    (1, "../new.bin"),
    (1, "sub/inner.bin"),
)
"""How names go on behind a link to a directory."""
BEHIND_OTHERS = bag((16, ""), (1, ".."), (1, "new.bin"), (1, "../good.bin"))
OPS: tuple[Op, ...] = bag((10, "read"), (7, "write"))
CALLS = bag((12, 1), (2, 2), (1, 3))
ALLOCATORS: tuple[Allocator, ...] = bag((8, "default"), (2, "caller"), (1, "null"), (1, "error"))
FILE_SIZES = (0, 1, 64, 95, 1000, 4096)
"""Limits of the size of files that are written."""

APART = 15
"""One in so many cases is of a kind that has a world of its own."""

Kind: TypeAlias = Callable[[Choices, str, Scene | None], Case | None]
"""Makes a case of that id, in a scene if it is one that goes with it."""


class Grammar:
    """Random cases. ``tokens`` are further names, for this target; ``seeds`` are cases that some are made from by changes."""

    def __init__(self, tokens: Sequence[Name] = (), seeds: Sequence[Case] = ()) -> None:
        # as likely together as all foreign names
        self._foreign = (*paths.FOREIGN, *[tuple(tokens)] * (len(paths.FOREIGN) if tokens else 0))
        self._seeds = tuple(seeds)
        self._in_scenes: tuple[Kind, ...] = bag((85, self._calls), (6, self._load), (5, _steps))
        self._apart: tuple[Kind, ...] = bag(
            (16 if seeds else 0, self._mutant), (6, _threads), (2, _large), (1, _changing), (1, _huge)
        )

    def case(self, choices: Choices, id: str, scene: Scene | None = None, apart: int = APART) -> Case | None:
        """A case that may be built and run; None where the decisions lead to none.

        It is set in ``scene``, without one in a new scene; but one case in ``apart`` is of a kind with a world of its own, and
        takes milliseconds rather than microseconds.
        """
        kinds = self._apart if choices.below(apart) == apart - 1 else self._in_scenes
        return pick(choices, kinds)(choices, id, scene)

    def name(self, choices: Choices, start: str = "model", entries: Sequence[Entry] = (), caller: bool = False) -> Name:
        """A name as a model gives it, or a caller who is in the directory ``start``, in a world with these special entries."""
        aim = pick(choices, AIMS_OF_CALLERS if caller else AIMS_AT_ENTRIES if entries else AIMS)
        if aim == "entry" and entries:
            entry = pick(choices, entries)
            behind = pick(choices, BEHIND_LINKS if type(entry) is Link and ".bin" not in entry.to else BEHIND_OTHERS)
            return paths.way(choices, start, str(entry.path), behind)
        if aim == "outside":
            return paths.way(choices, start, pick(choices, OUTSIDE))
        if aim == "absolute":
            return pick(choices, paths.ABSOLUTE) + pick(choices, (*INSIDE, *OUTSIDE))
        if aim == "strung":
            return paths.strung(choices)
        if aim == "foreign":
            return pick(choices, pick(choices, self._foreign))
        return paths.way(choices, start, pick(choices, INSIDE))

    # --- kinds of cases -----------------------------------------------------------------------------------------------------

    def _calls(self, choices: Choices, id: str, scene: Scene | None) -> Case | None:
        """Reads and writes."""
        scene = scene or scenes.scene(choices)
        calls = tuple([self._call(choices, scene) for _ in range(pick(choices, CALLS))])
        limits = LIMITS
        if calls[0].op == "write" and choices.below(12) == 11:
            limits = Limits(file_size=pick(choices, FILE_SIZES))
        return _bounded(_case(id, scene.world, calls, _model(scene), limits), scene.climbs, _names(calls))

    def _load(self, choices: Choices, id: str, scene: Scene | None) -> Case | None:
        """A walk over the nodes of a model."""
        scene = scene or scenes.scene(choices)
        nodes = [self._node(choices, scene.entries) for _ in range(1 + choices.below(3))]
        if choices.below(4) == 3:
            nodes.append(nodes[0])
        callback = scripts.callback(choices, "read") if choices.below(3) == 2 else None
        case = _case(id, scene.world, (Call("load", read_callback=callback),), _model(scene, tuple(nodes)))
        return _bounded(
            case, scene.climbs, [text for node in nodes for attribute in node.attributes for text in _texts(attribute)]
        )

    def _mutant(self, choices: Choices, id: str, _scene: Scene | None) -> Case | None:
        """A seed with a few changes."""
        case, in_calls_alone = mutate.mutant(choices, id, pick(choices, self._seeds), self.name)
        if not in_calls_alone or case.model.nodes:
            return _checked(case)
        climbs = sum([paths.climbs(entry.to) for entry in case.world.entries if type(entry) is Link])
        return _bounded(case, climbs + paths.climbs(case.model.given), _names(case.calls))

    # --- parts --------------------------------------------------------------------------------------------------------------

    def _call(self, choices: Choices, scene: Scene) -> Call:
        op = pick(choices, OPS)
        source: Source = "caller" if choices.below(7) == 6 else "model"
        caller = source == "caller"
        odd = choices.below(24)
        name = None if odd == 23 else self.name(choices, scene.cwd if caller else "model", scene.entries, caller)
        asked = choices.below(16)  # its own callback, the other's, or both
        own, other = asked in (11, 12, 13, 15), asked in (14, 15)
        read = scripts.callback(choices, "read") if (own if op == "read" else other) else None
        write = scripts.callback(choices, "write") if (own if op == "write" else other) else None
        # what comes late is waited for
        lingers = odd == 16 and (read if op == "read" else write) is not None and choices.below(8) == 7
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
                accessors=odd != 22,
                lingers=lingers,
            )
        null = odd == 20
        return Call(
            "write",
            name,
            source,
            # what is written to files is nobody's secret, so that such cases may share a driver with those of callbacks
            payload=None if null else Content("payload" if write else "saved", pick(choices, SIZES)),
            null_size=choices.below(2) * 96 if null else 0,
            fallback=self._fallback(choices, scene),
            read_callback=read,
            write_callback=write,
            config=odd == 21,
            accessors=odd != 22,
            lingers=lingers,
        )

    def _fallback(self, choices: Choices, scene: Scene) -> Name | UnsetType | None:
        which = choices.below(8)
        if which < 6:
            return UNSET
        return None if which == 7 and choices.below(4) == 3 else self.name(choices, "model", scene.entries)

    def _node(self, choices: Choices, entries: Sequence[Entry]) -> Node:
        name = pick(choices, paths.WITH_NUL) if choices.below(8) == 7 else self.name(choices, "model", entries)
        made = node(name)
        which = choices.below(14)
        if which < 6:
            return made
        attributes = list(made.attributes)
        at = choices.below(len(attributes))
        if which == 6:
            del attributes[at]
        elif which == 7:
            attributes.append(attributes[at])
        elif which == 8:
            attributes.append(Attribute("ep_cache_context", text=self.name(choices)))
        elif which in (9, 10):
            return node(name, Attribute("embed_mode", number=1 if which == 9 else pick(choices, (2, -1, 1 << 40))))
        elif which == 11:
            attributes[at] = pick(choices, tuple(_retyped(attributes[at].name, self.name(choices))))
        elif which == 12:
            return node(name, Attribute("main_context", number=0))
        elif choices.below(2):
            return Node(made.attributes, domain=pick(choices, ("", "com.example")))
        else:
            return Node(made.attributes, op_type=pick(choices, ("EPContext2", "Identity")))
        return Node(tuple(attributes))


# --- kinds with worlds of their own -----------------------------------------------------------------------------------------


def _steps(choices: Choices, id: str, _scene: Scene | None) -> Case:
    """Steps on configs."""
    return _case(id, STANDARD_WORLD, (scripts.steps(choices),))


def _threads(choices: Choices, id: str, _scene: Scene | None) -> Case:
    """Threads."""
    files, call = scripts.threads(choices)
    return _case(id, World((*STANDARD, *files)), (call,), limits=AT_ONCE)


def _large(choices: Choices, id: str, _scene: Scene | None) -> Case:
    """A megabyte that is read, or written."""
    content = Content("large", 1 << 20)
    files, call = pick(
        choices,
        (
            ((File("model/large.bin", content),), Call("read", "large.bin")),
            ((), Call("read", "large.bin", read_callback=Callback(content))),
            ((), Call("write", "large.bin", payload=content)),
            ((), Call("write", "large.bin", payload=content, write_callback=Callback())),
        ),
    )
    return _case(id, World((*STANDARD, *files)), (call,))


def _changing(choices: Choices, id: str, _scene: Scene | None) -> Case:
    """A file that has another size once its buffer is allocated."""
    size = pick(choices, (96, 1, 4096, 65536))
    files = (File("model/f.bin", Content("changing", size)), Link("model/link", "f.bin"))
    resize = Resize("model/f.bin", pick(choices, (0, 1, size // 2, size - 1, size + 1, 2 * size)))
    call = Call("read", pick(choices, ("f.bin", "link")), resize=resize, held=choices.below(2) == 1)
    return _case(id, World((*STANDARD, *files)), (call,))


def _huge(choices: Choices, id: str, _scene: Scene | None) -> Case:
    """A hole of a terabyte."""
    huge = File("model/huge.bin", Content("huge", 1 << 40, sparse=True))
    call = Call("read", "huge.bin", held=choices.below(2) == 1, allocator=pick(choices, ALLOCATORS))
    return _case(id, World((*STANDARD, huge)), (call,), limits=BRISK)


# --- parts ------------------------------------------------------------------------------------------------------------------


def _case(id: str, world: World, calls: tuple[Call, ...], model: Model = PLAIN_MODEL, limits: Limits = LIMITS) -> Case:
    return Case(id, "A case that a grammar made.", "hostile", (), world, calls, model, limits)


def _model(scene: Scene, nodes: tuple[Node, ...] = ()) -> Model:
    return PLAIN_MODEL if scene.given == PLAIN_MODEL.given and not nodes else Model(given=scene.given, nodes=nodes)


def _texts(attribute: Attribute) -> tuple[Name, ...]:
    return (attribute.text,) if attribute.text is not None else attribute.texts or ()


def _names(calls: Sequence[Call]) -> list[Name]:
    return [name for call in calls for name in (call.name, call.fallback) if name is not None and name is not UNSET]


def _bounded(case: Case, climbs: int, names: Sequence[Name]) -> Case | None:
    """The case, if it is certain at a glance or else checked that none of its texts leads beyond the margin: its names, and what
    else ``climbs`` so often.

    Wherever a walk is, it came from a directory of the world by the ``..`` of a name and of links, each of them once; what is
    absolute is so within the world.
    """
    return case if climbs + max(map(paths.climbs, names), default=0) <= CLIMBS else _checked(case, validate_names)


def _checked(case: Case, check: Callable[[Case], None] = validate) -> Case | None:
    try:
        check(case)
    except CaseError:
        return None
    return case


def _retyped(name: str, text: Name) -> Iterator[Attribute]:
    """An attribute with values of all types."""
    yield Attribute(name, number=0)
    yield Attribute(name, real=1.0)
    yield Attribute(name, texts=(text,))
    yield Attribute(name, numbers=(1, 2))
    yield Attribute(name, text=text)
    yield Attribute(name)
