"""How attacks are written: a family, and functions that each draft the cases of one idea::

    family = Family("links", "Links that lead out of the model directory, and links that do not.")

    TEXTS = {"relative": "../outside/secret.bin", "absolute": "{root}/outside/secret.bin"}

    @family.hostile("contain.symlink-file", op=OPS, text=TEXTS)
    def final_outside(op: Op, text: str) -> Draft:
        \"""A {op} through a link to a file outside is refused (link text: {text}).\"""
        return scene(Link("model/link", text), calls=access(op, "link"))

The function's name is the slug and its docstring the published summary. Keyword arguments of the decorator are *axes*: their
product gives the variants, here ``links/final-outside[read,relative]`` and three more. The values of an axis are the words of a
tuple, or the values of a dict, whose keys are then the words. Words may be used as ``{op}`` in the summary and in the ids of
rules. A combination that makes no sense is dropped by returning None.

The intent is a promise about the specification, and building a case checks it: at least one call of a ``hostile`` case may or
must be refused, every call of a ``benign`` and of a ``control`` case is accepted. A hostile case must be one that some loader
without the defence in question gets wrong: let reads aim at a canary, writes at a place outside.
"""

from __future__ import annotations

import importlib.metadata
import inspect
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from epctx.case import (
    Attribute,
    Call,
    Callback,
    Case,
    Content,
    Entry,
    Expect,
    File,
    Limits,
    Model,
    Name,
    Node,
    Platform,
    Race,
    Resize,
    Share,
    Step,
    Struct,
    Threads,
    World,
    raw,
)
from epctx.errors import AttackError, UsageError
from epctx.spec.predict import predict

ENTRY_POINTS = "epctx.attacks"
"""The group of entry points in which families are found: the name is the family's, the value ``module:object``."""

Op: TypeAlias = Literal["read", "write"]
Source: TypeAlias = Literal["model", "caller"]
Intent: TypeAlias = Literal["control", "benign", "hostile"]
Verdict: TypeAlias = Literal["accept", "refuse"]
Support: TypeAlias = Literal["both", "none", "read", "write", "unknown", "error", "old"]
Allocator: TypeAlias = Literal["default", "caller", "null", "error"]

OPS: tuple[Op, ...] = ("read", "write")
"""The axis of direction."""

STANDARD: tuple[Entry, ...] = (
    File("model/good.bin"),
    File("model/sub/inner.bin"),
    File("outside/secret.bin"),
    File("model_evil/twin.bin"),
)
"""What ``scene`` puts around the model: two files inside, a canary outside, and one in a sibling with the directory's prefix."""

MODEL, LIMITS, PAYLOAD = Model(), Limits(), Content("payload")
"""What a draft holds unless it says otherwise."""

BRISK = Limits(seconds=1.0, memory=1 << 30)
"""The limits of a case in which a weak loader waits, or allocates, without end: it need not be watched for long."""


class Draft(Struct, frozen=True):
    """A case without its name: what a function of a family returns, best made with ``scene``."""

    world: World
    calls: tuple[Call, ...]
    model: Model = MODEL
    limits: Limits = LIMITS


Drafter: TypeAlias = Callable[..., Draft | None]
DrafterT = TypeVar("DrafterT", bound=Drafter)
Axis: TypeAlias = Sequence[str] | Mapping[str, Any]


# --- the world and the calls of a draft -------------------------------------------------------------------------------------


def scene(
    *entries: Entry,
    calls: Call | Sequence[Call],
    model: Model = MODEL,
    cwd: Name = "",
    limits: Limits = LIMITS,
    layout: Sequence[Entry] = STANDARD,
) -> Draft:
    """A draft whose world is ``layout``, then ``entries``. An entry takes the place of one of the layout at the same path."""
    replaced = {raw(entry.path) for entry in entries}
    kept = tuple(entry for entry in layout if raw(entry.path) not in replaced)
    made = (calls,) if isinstance(calls, Call) else tuple(calls)
    return Draft(World((*kept, *entries), cwd=cwd), made, model, limits)


def read(
    name: Name | None,
    *,
    source: Source = "model",
    callback: Callback | None = None,
    other: Callback | None = None,
    config: bool = False,
    support: Support | None = None,
    allocator: Allocator = "default",
    held: bool = False,
    moves: bool = False,
    accessors: bool = True,
    lingers: bool = False,
    resize: Resize | None = None,
    race: Race | None = None,
) -> Call:
    """A read of ``name``; the options are those of ``Call``, and ``other`` is a write callback."""
    return Call(
        "read",
        name,
        source,
        read_callback=callback,
        write_callback=other,
        config=config,
        support=support,
        allocator=allocator,
        held=held,
        moves=moves,
        accessors=accessors,
        lingers=lingers,
        resize=resize,
        race=race,
    )


def write(
    name: Name | None,
    *,
    source: Source = "model",
    payload: Content | None = PAYLOAD,
    null_size: int = 0,
    fallback: Name | msgspec.UnsetType | None = msgspec.UNSET,
    callback: Callback | None = None,
    other: Callback | None = None,
    config: bool = False,
    support: Support | None = None,
    embeds: bool = False,
    runs: bool = False,
    accessors: bool = True,
    lingers: bool = False,
    race: Race | None = None,
) -> Call:
    """A write of ``payload`` to ``name``; the options are those of ``Call``, and ``other`` is a read callback."""
    return Call(
        "write",
        name,
        source,
        payload=payload,
        null_size=null_size,
        fallback=fallback,
        read_callback=other,
        write_callback=callback,
        config=config,
        support=support,
        embeds=embeds,
        runs=runs,
        accessors=accessors,
        lingers=lingers,
        race=race,
    )


def access(op: Op, name: Name | None, *, source: Source = "model", race: Race | None = None) -> Call:
    """A read or a write of ``name``, for cases in which the direction is an axis."""
    return read(name, source=source, race=race) if op == "read" else write(name, source=source, race=race)


def load(*, callback: Callback | None = None, support: Support | None = None) -> Call:
    """A walk over the nodes of the model, which reads what each of them names."""
    return Call("load", read_callback=callback, support=support)


def threads(
    *shares: Share,
    callbacks: Mapping[Op, Callback] | None = None,
    count: int = 4,
    rounds: int = 50,
    configs: Literal["one", "each"] = "one",
    source: Source = "model",
    allocator: Allocator = "default",
) -> Call:
    """Calls of several threads at once, with ``callbacks`` by direction; the other options are those of ``Threads``."""
    asked = callbacks or {}
    return Call(
        "write" if any(share.op == "write" for share in shares) else "read",
        None,
        source,
        payload=None,
        read_callback=asked.get("read"),
        write_callback=asked.get("write"),
        allocator=allocator,
        threads=Threads(shares, count, rounds, configs),
    )


def play(*steps: Step) -> Call:
    """Steps of an application and an EP on the runtime's functions for configs."""
    return Call("config", steps=steps)


def node(name: Name, *others: Attribute, without: Sequence[str] = ()) -> Node:
    """A well-formed EPContext node that names ``name``.

    ``others`` take the place of its attributes of the same names, or are added; the attributes ``without`` are left out.
    """
    usual = (
        Attribute("main_context", number=1),
        Attribute("embed_mode", number=0),
        Attribute("ep_cache_context", text=name),
        Attribute("source", text="epctx"),
        Attribute("partition_name", text="epctx_0"),
    )
    dropped = {*without, *(other.name for other in others)}
    return Node((*(attribute for attribute in usual if attribute.name not in dropped), *others))


# --- families ---------------------------------------------------------------------------------------------------------------

_FAMILY, _WORD, _RULE = re.compile(r"[a-z][a-z0-9-]*"), re.compile(r"[a-z0-9][a-z0-9.+-]*"), re.compile(r"[a-z]+\.[a-z0-9-]+")


class _Entry(Struct, frozen=True):
    """A registered function with everything that its decorator was told."""

    slug: str
    summary: str
    intent: Intent
    windows: Verdict | None
    rules: tuple[str, ...]
    axes: dict[str, dict[str, Any]]
    drafter: Drafter


class Family:
    """A named group of attacks, which yields its cases in the order in which they are written."""

    def __init__(self, name: str, summary: str) -> None:
        """``summary`` is one sentence for lists. Raises AttackError for a name that cannot lead an id."""
        if not _FAMILY.fullmatch(name):
            raise AttackError(f"a family cannot be called {name!r}: lower-case letters, digits and dashes only")
        self.name, self.summary = name, summary
        self._entries: dict[str, _Entry] = {}

    def __repr__(self) -> str:
        """The family with its number of functions."""
        return f"<Family {self.name}: {len(self._entries)} attacks>"

    def hostile(self, *rules: str, windows: Verdict | None = None, **axes: Axis) -> Callable[[DrafterT], DrafterT]:
        """Register cases that a loader may or must refuse.

        ``rules`` are the ids of the rules aimed at, the most important first; those that decide each call are added to a case.
        ``windows`` also says, and checks, whether the rules of Windows accept the case or refuse it.
        """
        return self._register("hostile", windows, rules, axes)

    def benign(self, *rules: str, windows: Verdict | None = None, **axes: Axis) -> Callable[[DrafterT], DrafterT]:
        """Register cases that must be accepted; the arguments are those of ``hostile``."""
        return self._register("benign", windows, rules, axes)

    def control(self, *rules: str, **axes: Axis) -> Callable[[DrafterT], DrafterT]:
        """Register cases without which a target is not usable; they run first."""
        return self._register("control", None, rules, axes)

    def axes(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """The axes of each attack by its slug: their names, with the words of each."""
        return {slug: {axis: tuple(words) for axis, words in entry.axes.items()} for slug, entry in self._entries.items()}

    def cases(self) -> tuple[Case, ...]:
        """All cases, complete with what the specification expects of them, always in the same order.

        Raises AttackError, with the id of the case, if a function fails or if the specification contradicts the intent.
        """
        return tuple(itertools.chain.from_iterable(self._build(entry) for entry in self._entries.values()))

    def _register(
        self, intent: Intent, windows: Verdict | None, rules: tuple[str, ...], axes: Mapping[str, Axis]
    ) -> Callable[[DrafterT], DrafterT]:
        def decorate(drafter: DrafterT) -> DrafterT:
            slug = drafter.__name__.replace("_", "-")
            where = f"{self.name}/{slug}"
            if slug in self._entries:
                raise AttackError(f"{where} is there twice")
            if not (summary := " ".join((inspect.getdoc(drafter) or "").split())):
                raise AttackError(f"{where} has no docstring, which is its published summary")
            if not rules:
                raise AttackError(f"{where} names no rule that it aims at")
            if list(inspect.signature(drafter).parameters) != list(axes):
                raise AttackError(f"{where} must take its axes as arguments, in order: ({', '.join(axes)})")
            words = {axis: _words(where, axis, values) for axis, values in axes.items()}
            self._entries[slug] = _Entry(slug, summary, intent, windows, rules, words, drafter)
            return drafter

        return decorate

    def _build(self, entry: _Entry) -> Iterator[Case]:
        for words in itertools.product(*entry.axes.values()):
            id_ = f"{self.name}/{entry.slug}" + (f"[{','.join(words)}]" if words else "")
            values = {axis: entry.axes[axis][word] for axis, word in zip(entry.axes, words, strict=True)}
            try:
                if (draft := entry.drafter(**values)) is None:
                    continue
                case = self._name(entry, id_, dict(zip(entry.axes, words, strict=True)), draft)
                expected = {platform: predict(case, platform) for platform in _platforms(entry)}
            except AttackError:
                raise
            except Exception as error:
                raise AttackError(f"{id_} cannot be built: {error}") from error
            _check(id_, entry.intent, expected["posix"])
            if entry.windows:
                _check(
                    f"{id_} under the rules of Windows", "benign" if entry.windows == "accept" else "hostile", expected["windows"]
                )
            rules = dict.fromkeys((*case.rules, *(expect.rule for expect in expected["posix"])))
            yield msgspec.structs.replace(case, rules=tuple(rules), expect=expected["posix"])

    def _name(self, entry: _Entry, id_: str, words: Mapping[str, str], draft: Draft) -> Case:
        rules = tuple(rule.format_map(words) for rule in entry.rules)
        for rule in rules:
            if not _RULE.fullmatch(rule):
                raise AttackError(f"{id_}: {rule!r} is not the id of a rule")
        return Case(
            id_, entry.summary.format_map(words), entry.intent, rules, draft.world, draft.calls, draft.model, draft.limits
        )


def _words(where: str, axis: str, values: Axis) -> dict[str, Any]:
    """The words of an axis with their values."""
    words = dict(values) if isinstance(values, Mapping) else {word: word for word in values}
    if isinstance(values, str) or not words or len(words) != len(values):
        raise AttackError(f"{where}: the axis {axis!r} must be words, each once, or a dict by words")
    for word in words:
        if not isinstance(word, str) or not _WORD.fullmatch(word):
            raise AttackError(f"{where}: {word!r} of the axis {axis!r} cannot stand in an id")
    return words


def _platforms(entry: _Entry) -> tuple[Platform, ...]:
    return ("posix", "windows") if entry.windows else ("posix",)


def _check(where: str, intent: Intent, expected: Iterable[Expect]) -> None:
    """Hold the intent against what the specification says."""
    refusals = [f"{expect.outcome} by {expect.rule}, {expect.why}" for expect in expected if expect.outcome != "accept"]
    if intent == "hostile" and not refusals:
        raise AttackError(f"{where} is meant to be hostile, but the specification accepts it")
    if intent != "hostile" and refusals:
        raise AttackError(f"{where} is meant to be {intent}, but the specification says: {'; '.join(refusals)}")


def families(*names: str) -> dict[str, Family]:
    """The installed families by name, sorted; with ``names`` those only.

    Raises UsageError for a name that nobody provides, AttackError for one that is provided twice or not by a family.
    """
    points: dict[str, importlib.metadata.EntryPoint] = {}
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        if points.setdefault(point.name, point).value != point.value:
            raise AttackError(f"the family {point.name} is provided twice: by {points[point.name].value} and by {point.value}")
    if missing := [name for name in names if name not in points]:
        raise UsageError(f"there is no family {missing[0]!r}; there are {', '.join(sorted(points)) or 'none'}")
    return {name: _loaded(points[name]) for name in sorted(names or points)}


def _loaded(point: importlib.metadata.EntryPoint) -> Family:
    family = point.load()
    if not isinstance(family, Family) or family.name != point.name:
        raise AttackError(f"the entry point {point.name} = {point.value} is not the family of that name")
    return family
