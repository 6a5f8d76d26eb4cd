"""Shrinking: the smallest case that still breaks the same rule in the same way.

It works on cases, wherever they are from: what a case could do without is left out, what could be plainer is made so, for as long
as something works. Of two cases the smaller one has fewer calls, else fewer entries, else names of fewer components, else fewer
odd characters, else plainer contents, else the shorter text as a case file. What is one fault to a person is to become one case
here, so some steps change a world and the names in it together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from epctx.case import (
    Call,
    Callback,
    Case,
    Content,
    Entry,
    File,
    Limits,
    Link,
    Model,
    Name,
    Node,
    Piece,
    Step,
    Threads,
)
from epctx.case_check import validate
from epctx.errors import CaseError
from epctx.fuzz.paths import relative

T = TypeVar("T")
Holds: TypeAlias = Callable[[Sequence[Case]], Sequence[bool]]
"""Says of some cases, all at once, which of them still break the rule."""

AT_ONCE = 16
"""So many candidates are tried at once."""
MOST = 1500
"""After so many candidates what was reached is good enough."""

WORD = "a"
"""What a component becomes of which no letter matters."""
MODEL, GOOD = "model.onnx", "good.bin"
"""The name of every model, and of the file beside it that is plainest."""
LONG = 16
"""A component that is no longer is tried without each of its letters."""
KEYS = ("payload", "answer")
"""The keys of contents that are nothing special."""
PLAIN_CALL, PLAIN_MODEL, PLAIN_LIMITS = Call("read"), Model(), Limits()


def shrink(case: Case, holds: Holds, most: int = MOST) -> Case:
    """The smallest case that ``holds`` from ``case`` on, which itself is taken to hold, after ``most`` candidates or so."""
    search = _Search(case, holds, most)
    while True:
        before = case
        for step in STEPS:
            while (smaller := search.first(case, step(case))) is not None:
                case = smaller
        if case is before:
            return case


class _Search:
    """What was tried already, and how much more may be."""

    def __init__(self, case: Case, holds: Holds, most: int) -> None:
        self._holds, self._left, self._tried = holds, most, {_text(case)}

    def first(self, case: Case, candidates: Iterator[Case]) -> Case | None:
        """The first of the candidates that is smaller than the case and holds."""
        fresh = self._fresh(_size(case), candidates)
        while self._left > 0 and (some := list(islice(fresh, AT_ONCE))):
            self._left -= len(some)
            for candidate, held in zip(some, self._holds(some), strict=True):
                if held:
                    return candidate
        return None

    def _fresh(self, size: tuple[object, ...], candidates: Iterator[Case]) -> Iterator[Case]:
        for candidate in candidates:
            text = _text(candidate)
            if text in self._tried or _size(candidate) >= size:
                continue
            self._tried.add(text)
            try:
                validate(candidate)
            except CaseError:
                continue
            yield candidate


def _size(case: Case) -> tuple[int, int, int, int, int, int, bytes]:
    text, names = _text(case), _names(case)
    # a file of its own is plainer than the model, read as if it were data
    entries = len(case.world.entries) + 2 * sum(MODEL in str(name).split("/") for name in names)
    components, odd, contents = sum(map(_components, names)), sum(map(_odd, names)), sum(map(_unusual, _contents(case)))
    return len(case.calls), entries, components, odd, contents, len(text), text


def _text(case: Case) -> bytes:
    return msgspec.json.encode(case)


def _components(name: Name) -> int:
    pieces = (Piece(name),) if isinstance(name, str) else name
    return 1 + sum(piece.text.count("/") * piece.times for piece in pieces)


def _odd(name: Name) -> int:
    """How many of its characters are neither letters nor digits."""
    pieces = (Piece(name),) if isinstance(name, str) else name
    return sum(len(piece.hex) + len(re.findall(r"[^\w./]", piece.text, re.ASCII)) * piece.times for piece in pieces)


def _names(case: Case) -> list[Name]:
    """The names that a target is given."""
    texts = [attribute.text for node in case.model.nodes for attribute in node.attributes]
    for call in case.calls:
        texts += [*call.names, None if call.fallback is UNSET else call.fallback]
    return [text for text in texts if text is not None]


def _contents(case: Case) -> Iterator[Content]:
    yield from (e.content for e in case.world.entries if isinstance(e, File) and e.content)
    for call in case.calls:
        scripts = (call.read_callback, call.write_callback)
        own = (call.payload, *(script.content for script in scripts if script))
        yield from (content for content in own if content)


def _unusual(content: Content) -> int:
    """What a content costs: nothing if it is like those that epctx gives where a case says nothing."""
    return (content.key not in KEYS) + (0 if content.size == Content("").size else 2 + content.size)


# --- what can be left out ---------------------------------------------------------------------------------------------------


def _fewer_calls(case: Case) -> Iterator[Case]:
    for calls in _without_some(case.calls, least=1):
        yield replace(case, calls=calls)


def _fewer_entries(case: Case) -> Iterator[Case]:
    for entries in _without_some(case.world.entries):
        yield _with_entries(case, entries)
    for link in case.world.entries:
        if isinstance(link, Link):  # others then lead where it leads
            rest = [entry for entry in case.world.entries if entry is not link]
            for index, other in enumerate(rest):
                if isinstance(other, Link) and (there := _led(link)) is not None:
                    yield _with_entries(case, _put(tuple(rest), index, _leading(other, there)))


def _plainer_around(case: Case) -> Iterator[Case]:
    model, cwd = case.model, case.world.cwd
    if model.given != PLAIN_MODEL.given or cwd:
        yield _with_model(case, PLAIN_MODEL.given, "")
        yield _with_model(case, PLAIN_MODEL.given, cwd)
        yield _with_model(case, MODEL, "")
        yield _with_model(case, MODEL, "model")
        yield _with_model(case, model.given, "")
    if case.limits != PLAIN_LIMITS:
        yield replace(case, limits=PLAIN_LIMITS)
        yield replace(case, limits=Limits(file_size=case.limits.file_size))
        for size in (0, 1):
            yield replace(case, limits=Limits(file_size=size))


def _fewer_nodes(case: Case) -> Iterator[Case]:
    nodes = case.model.nodes
    for fewer in _without_some(nodes, least=1 if nodes else 0):
        yield _with_nodes(case, fewer)
    for node in nodes:
        for attribute in node.attributes:
            if attribute.text is not None:
                calls = tuple(replace(call, op="read", name=attribute.text) for call in case.calls if call.op == "load")
                yield replace(_with_nodes(case, ()), calls=calls or case.calls)
    for index, node in enumerate(nodes):
        for attributes in _without_some(node.attributes):
            yield _with_nodes(case, _put(nodes, index, replace(node, attributes=attributes)))
        if (plain := Node(node.attributes)) != node:
            yield _with_nodes(case, _put(nodes, index, plain))


# --- what can be plainer ----------------------------------------------------------------------------------------------------


def _plainer_calls(case: Case) -> Iterator[Case]:
    for index, call in enumerate(case.calls):
        for other in _plainer(call):
            yield replace(case, calls=_put(case.calls, index, other))


OPTIONS = (
    "write_callback",
    "read_callback",
    "race",
    "resize",
    "support",
    "config",
    "embeds",
    "runs",
    "held",
    "moves",
    "lingers",
    "allocator",
    "accessors",
    "source",
    "null_size",
    "fallback",
)


def _plainer(call: Call) -> Iterator[Call]:
    """A call with one thing less, or with a plainer one."""
    for option in OPTIONS:
        if getattr(call, option) != getattr(PLAIN_CALL, option):
            yield replace(call, **{option: getattr(PLAIN_CALL, option)})
    if isinstance(call.fallback, str | tuple) and call.fallback:
        yield replace(call, name=call.fallback, fallback=UNSET)
    if call.payload is None and call.op == "write":
        yield replace(call, payload=PLAIN_CALL.payload, null_size=0)
    for steps in _plainer_steps(call.steps):
        yield replace(call, steps=steps)
    if call.threads is not None:
        for threads in _plainer_threads(call.threads):
            yield replace(call, threads=threads)
        return
    if call.payload is not None and call.op == "write":
        for content in _plainer_contents(call.payload, KEYS[0]):
            yield replace(call, payload=content)
    for option in ("read_callback", "write_callback"):
        if (callback := getattr(call, option)) is not None:
            for plainer in _plainer_callbacks(callback):
                yield replace(call, **{option: plainer})


def _plainer_steps(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    yield from _without_some(steps, least=1 if steps else 0)
    for field in ("options", "config", "function", "state"):
        numbers = sorted({number for step in steps if (number := getattr(step, field)) is not None})
        yield tuple(
            replace(step, **{field: numbers.index(getattr(step, field))}) if getattr(step, field) is not None else step
            for step in steps
        )
        for index, step in enumerate(steps):
            if getattr(step, field):
                yield _put(steps, index, replace(step, **{field: 0}))


def _plainer_threads(threads: Threads) -> Iterator[Threads]:
    for shares in _without_some(threads.shares, least=1):
        yield replace(threads, shares=shares)
    if threads.rounds > 1:
        yield replace(threads, rounds=threads.rounds // 2)
    if threads.count > 2:
        yield replace(threads, count=2)
    if threads.configs == "each":
        yield replace(threads, configs="one")


def _plainer_callbacks(callback: Callback) -> Iterator[Callback]:
    yield Callback(callback.content)
    if callback.code:
        yield replace(callback, code=1)
    for option in ("text", "size", "waits", "reenters", "null_state", "content"):
        if getattr(callback, option) != getattr(Callback(), option):
            yield replace(callback, **{option: getattr(Callback(), option)})
    if callback.size:
        for size in (0, *_lower(callback.size)):
            yield replace(callback, size=size)
    if callback.content is not None:
        for content in _plainer_contents(callback.content, KEYS[1]):
            yield replace(callback, content=content)


def _plainer_contents(content: Content, key: str) -> Iterator[Content]:
    yield Content(key)
    yield replace(content, key=key)
    for size in (0, 1, *_lower(content.size)):
        yield Content(key, size)


def _plainer_entries(case: Case) -> Iterator[Case]:
    entries = case.world.entries
    for index, entry in enumerate(entries):
        yield _with_entries(case, _put(entries, index, File(entry.path)))
        if isinstance(entry, File) and entry.content is not None:
            for content in _plainer_contents(entry.content, str(entry.path)):
                yield _with_entries(case, _put(entries, index, replace(entry, content=content)))


# --- what can be plainer in a world and in its names ------------------------------------------------------------------------


def _fewer_directories(case: Case) -> Iterator[Case]:
    """Entries that lie one directory higher, and names and links that follow."""
    for directory in dict.fromkeys(part for entry in case.world.entries for part in str(entry.path).split("/")[1:-1]):
        for names_too in (True, False):
            entries = tuple(_higher(entry, directory) for entry in case.world.entries)
            calls = case.calls
            if names_too:
                calls = tuple(_with_name(call, _without(call.name, directory)) for call in calls)
            yield replace(_with_entries(case, entries), calls=calls)


def _renamed(case: Case) -> Iterator[Case]:
    """Files with names that are nothing special, and names that follow."""
    for index, entry in enumerate(case.world.entries):
        parent, _, last = str(entry.path).rpartition("/")
        if isinstance(entry, File) and parent.startswith("model"):
            calls = tuple(_with_name(call, _with(call.name, last, GOOD)) for call in case.calls)
            renamed = _put(case.world.entries, index, replace(entry, path=f"{parent}/{GOOD}"))
            yield replace(_with_entries(case, renamed), calls=calls)


def _higher(entry: Entry, directory: str) -> Entry:
    *parents, last = str(entry.path).split("/")
    moved = replace(entry, path="/".join((*(part for part in parents if part != directory), last)))
    if isinstance(entry, Link):
        to = _without(entry.to, directory)
        up = directory in parents and isinstance(to, str) and to.startswith("../")
        return replace(moved, to=str(to)[3:] if up else to)
    return moved


def _straight(case: Case) -> Iterator[Case]:
    """Links that lead to what a name goes through them for, and to another entry, and names that go there at once."""
    entries, calls = case.world.entries, case.calls
    for index, link in enumerate(entries):
        if not isinstance(link, Link):
            continue
        there, last = _led(link), str(link.path).rpartition("/")[2]
        for to in (*(str(other.path) for other in entries if other is not link), there):
            if to is not None:
                yield _with_entries(case, _put(entries, index, _leading(link, to)))
        if there is not None and not str(link.path).startswith("model/"):
            inside = _put(entries, index, _leading(replace(link, path=f"model/{last}"), there))
            calls_inside = tuple(_with_name(call, _staying(call.name, str(link.path).split("/")[0])) for call in calls)
            yield replace(_with_entries(case, inside), calls=calls_inside)
        for at, call in enumerate(calls):
            parts = call.name.split("/") if isinstance(call.name, str) else []
            for place, (part, behind) in enumerate(pairwise(parts)):
                if part == last:
                    further = _put(entries, index, replace(link, to=f"{link.to}/{behind}"))
                    name = "/".join((*parts[: place + 1], *parts[place + 2 :]))
                    yield replace(_with_entries(case, further), calls=_put(calls, at, _with_name(call, name)))
    for at, call in enumerate(calls):
        parts = call.name.split("/") if isinstance(call.name, str) else []
        if MODEL in parts:
            more = (*(entry for entry in entries if entry.path != f"model/{GOOD}"), File(f"model/{GOOD}"))
            yield replace(_with_entries(case, more), calls=_put(calls, at, _with_name(call, _with(call.name, MODEL, GOOD))))
        for entry in entries:
            yield replace(case, calls=_put(calls, at, _with_name(call, "/".join(relative("model", str(entry.path))))))


def _staying(name: Name | None, place: str) -> Name | None:
    """A name that does not step aside into a directory beside the model's."""
    return f"{name}/".replace(f"../{place}/", "")[:-1] if isinstance(name, str) else name


def _led(link: Link) -> str | None:
    """The world path that a link's text says, taken by its letters, "" for the root; None if it says none."""
    text = str(link.to)
    parts = [] if text.startswith("{root}") else str(link.path).split("/")[:-1]
    for part in text.removeprefix("{root}").split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _leading(link: Link, to: str) -> Link:
    """The link, as it leads to a world path by the plain way."""
    return replace(link, to="/".join(relative(str(link.path).rpartition("/")[0], to)) or ".")


def _plainer_texts(case: Case) -> Iterator[Case]:
    """Names and texts of links that are shorter, each by itself."""
    for index, call in enumerate(case.calls):
        if call.name is not None:
            for name in _plainer_names(call.name):
                yield replace(case, calls=_put(case.calls, index, _with_name(call, name)))
        if call.fallback is not UNSET and call.fallback is not None:
            for name in _plainer_names(call.fallback):
                yield replace(case, calls=_put(case.calls, index, replace(call, fallback=name)))
    for index, entry in enumerate(case.world.entries):
        if isinstance(entry, Link):
            for text in _plainer_names(entry.to):
                yield _with_entries(case, _put(case.world.entries, index, replace(entry, to=text)))
    for index, node in enumerate(case.model.nodes):
        for at, attribute in enumerate(node.attributes):
            if attribute.text is not None:
                for text in _plainer_names(attribute.text):
                    attributes = _put(node.attributes, at, replace(attribute, text=text))
                    yield _with_nodes(case, _put(case.model.nodes, index, replace(node, attributes=attributes)))
    if isinstance(case.model.given, str):
        for given in _without_some(tuple(case.model.given.split("/")), least=1):
            yield _with_model(case, "/".join(given), case.world.cwd)


def _plainer_names(name: Name) -> Iterator[Name]:
    """A shorter name: with fewer components, pieces, repetitions or letters, or with letters that are nothing special."""
    if isinstance(name, tuple):
        yield from _plainer_pieces(name)
        return
    parts = tuple(name.split("/"))
    for kept in _without_some(parts, least=1):
        yield "/".join(kept)
    for index, part in enumerate(parts):
        if part in ("", ".", "..", "{root}"):
            continue
        for other in (WORD, part[len(part) // 2 :], part[: len(part) // 2], re.sub(r"[^\w.]+", "", part)):
            yield "/".join(_put(parts, index, other))
        if len(part) <= LONG:
            for at in range(len(part)):
                yield "/".join(_put(parts, index, part[:at] + part[at + 1 :]))
                if not part[at].isprintable():
                    yield "/".join(_put(parts, index, f"{part[:at]}\n{part[at + 1 :]}"))


def _plainer_pieces(pieces: tuple[Piece, ...]) -> Iterator[Name]:
    yield from _without_some(pieces, least=1)
    for index, piece in enumerate(pieces):
        for times in _lower(piece.times):
            yield _put(pieces, index, replace(piece, times=times))
        if piece.hex:
            yield _put(pieces, index, Piece(WORD))
            continue
        for text in _plainer_names(piece.text):
            if text:
                yield _put(pieces, index, replace(piece, text=str(text)))
    if len(pieces) == 1 and pieces[0].text and pieces[0].times <= LONG:
        yield pieces[0].text * pieces[0].times


STEPS: tuple[Callable[[Case], Iterator[Case]], ...] = (
    _fewer_calls,
    _fewer_entries,
    _plainer_around,
    _fewer_nodes,
    _plainer_calls,
    _plainer_entries,
    _fewer_directories,
    _renamed,
    _straight,
    _plainer_texts,
)


# --- parts ------------------------------------------------------------------------------------------------------------------


def _without_some(items: tuple[T, ...], least: int = 0) -> Iterator[tuple[T, ...]]:
    """All halves, quarters and so on that can be left out, and at last each item."""
    size = len(items) - least
    while size > 0:
        for start in range(0, len(items) - size + 1, size):
            yield items[:start] + items[start + size :]
        size //= 2


def _lower(number: int) -> Iterator[int]:
    """Numbers from the half of it up to the one below it, nearer and nearer."""
    step = number - number // 2
    while step > 0 and number > 1:
        yield number - step
        step //= 2


def _put(items: tuple[T, ...], index: int, item: T) -> tuple[T, ...]:
    return (*items[:index], item, *items[index + 1 :])


def _without(name: Name | None, part: str) -> Name | None:
    if not isinstance(name, str):
        return name
    return "/".join(kept for kept in name.split("/") if kept != part)


def _with(name: Name | None, part: str, other: str) -> Name | None:
    if not isinstance(name, str):
        return name
    return "/".join(other if kept == part else kept for kept in name.split("/"))


def _with_entries(case: Case, entries: Sequence[Entry]) -> Case:
    return replace(case, world=replace(case.world, entries=tuple(entries)))


def _with_model(case: Case, given: Name, cwd: Name) -> Case:
    return replace(case, model=replace(case.model, given=given), world=replace(case.world, cwd=cwd))


def _with_nodes(case: Case, nodes: tuple[Node, ...]) -> Case:
    return replace(case, model=replace(case.model, nodes=nodes))


def _with_name(call: Call, name: Name | None) -> Call:
    return call if call.name is None or name is None else replace(call, name=name)
