"""Shrinking: the smallest case that still breaks the same rule in the same way.

It works on cases, wherever they are from: what a case could do without is left out, what could be plainer is made so, for as long
as something works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from epctx.case import (
    Call,
    Callback,
    Case,
    Content,
    Dir,
    Entry,
    File,
    HardLink,
    Limits,
    Link,
    Model,
    Name,
    Node,
    Threads,
)
from epctx.case_check import validate
from epctx.errors import CaseError

T = TypeVar("T")
Holds: TypeAlias = Callable[[Sequence[Case]], Sequence[bool]]
"""Says of some cases, all at once, which of them still break the rule."""

AT_ONCE = 32
"""So many candidates are tried at once."""
MOST = 1500
"""After so many candidates what was reached is good enough."""


def shrink(case: Case, holds: Holds) -> Case:
    """The smallest case that ``holds`` from ``case`` on, which itself is taken to hold."""
    tried, left = {_key(case)}, MOST
    while left > 0:
        better = None
        for candidates in _chunks(_fresh(_candidates(case), tried)):
            left -= len(candidates)
            better = next((c for c, held in zip(candidates, holds(candidates), strict=True) if held), None)
            if better is not None or left <= 0:
                break
        if better is None:
            break
        case = better
    return case


def _key(case: Case) -> Case:
    return replace(case, id="shrink/0")


def _fresh(candidates: Iterator[Case], tried: set[Case]) -> Iterator[Case]:
    for candidate in candidates:
        if _key(candidate) not in tried:
            tried.add(_key(candidate))
            try:
                validate(candidate)
            except CaseError:
                continue
            yield candidate


def _chunks(candidates: Iterator[Case]) -> Iterator[list[Case]]:
    chunk: list[Case] = []
    for candidate in candidates:
        chunk.append(candidate)
        if len(chunk) == AT_ONCE:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


# --- what a case could be instead, the boldest first ------------------------------------------------------------------------


def _candidates(case: Case) -> Iterator[Case]:
    for calls in _without_some(case.calls, least=1):
        yield replace(case, calls=calls)
    for entries in _without_some(case.world.entries):
        yield replace(case, world=replace(case.world, entries=entries))
    if case.model != Model() or case.world.cwd:
        yield replace(case, model=Model(nodes=case.model.nodes), world=replace(case.world, cwd=""))
        yield replace(case, model=Model(nodes=case.model.nodes))
        yield replace(case, world=replace(case.world, cwd=""))
    if case.limits != Limits():
        yield replace(case, limits=Limits())
    for nodes in _without_some(case.model.nodes, least=1 if case.model.nodes else 0):
        yield replace(case, model=replace(case.model, nodes=nodes))
    for index, node in enumerate(case.model.nodes):
        for plainer in _plainer_nodes(node):
            yield replace(case, model=replace(case.model, nodes=_put(case.model.nodes, index, plainer)))
    for index, call in enumerate(case.calls):
        for other in _plainer_calls(call):
            yield replace(case, calls=_put(case.calls, index, other))
    for index, entry in enumerate(case.world.entries):
        for another in _plainer_entries(entry):
            yield replace(case, world=replace(case.world, entries=_put(case.world.entries, index, another)))


def _without_some(items: tuple[T, ...], least: int = 0) -> Iterator[tuple[T, ...]]:
    """All halves, quarters and so on that can be left out, and at last each item."""
    size = len(items) - least
    while size > 0:
        for start in range(0, len(items) - size + 1, size):
            yield items[:start] + items[start + size :]
        size //= 2


def _put(items: tuple[T, ...], index: int, item: T) -> tuple[T, ...]:
    return (*items[:index], item, *items[index + 1 :])


def _plainer_nodes(node: Node) -> Iterator[Node]:
    for attributes in _without_some(node.attributes):
        yield replace(node, attributes=attributes)
    for index, attribute in enumerate(node.attributes):
        if attribute.text is not None:
            for text in _plainer_names(attribute.text):
                yield replace(node, attributes=_put(node.attributes, index, replace(attribute, text=text)))


PLAIN_CALL = Call("read")


def _plainer_calls(call: Call) -> Iterator[Call]:
    """A call with one thing less: options first, then what they hold, then its name."""
    if call.op == "write" and call.threads is None:
        yield replace(call, op="read", payload=PLAIN_CALL.payload, null_size=0, fallback=UNSET)
    for option in ("write_callback", "read_callback", "race", "resize", "support"):
        if getattr(call, option) is not None:
            yield replace(call, **{option: None})
    for option in ("config", "embeds", "runs", "held", "moves", "lingers", "allocator", "accessors", "source", "null_size"):
        if getattr(call, option) != getattr(PLAIN_CALL, option):
            yield replace(call, **{option: getattr(PLAIN_CALL, option)})
    if call.fallback is not UNSET:
        yield replace(call, fallback=UNSET)
        if call.fallback is not None:
            for fallback in _plainer_names(call.fallback):
                yield replace(call, fallback=fallback)
    for steps in _without_some(call.steps, least=1 if call.steps else 0):
        yield replace(call, steps=steps)
    if call.threads is not None:
        for threads in _plainer_threads(call.threads):
            yield replace(call, threads=threads)
    if call.payload is not None and call.threads is None:
        for content in _plainer_contents(call.payload, "payload"):
            yield replace(call, payload=content)
    if call.read_callback is not None:
        for callback in _plainer_callbacks(call.read_callback):
            yield replace(call, read_callback=callback)
    if call.write_callback is not None:
        for callback in _plainer_callbacks(call.write_callback):
            yield replace(call, write_callback=callback)
    if call.name is not None:
        for name in _plainer_names(call.name):
            yield replace(call, name=name)


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
    plain = Callback(callback.content)
    if callback != plain:
        yield plain
    for option in ("text", "size", "waits", "reenters", "null_state"):
        if getattr(callback, option) != getattr(plain, option):
            yield replace(callback, **{option: getattr(plain, option)})
    if callback.content is not None:
        for content in _plainer_contents(callback.content, "answer"):
            yield replace(callback, content=content)


def _plainer_contents(content: Content, key: str) -> Iterator[Content]:
    if content != Content(key):
        yield Content(key)
        yield replace(content, key=key)
        for size in (content.size // 2, content.size - 1):
            if size > 0:
                yield replace(content, size=size)


def _plainer_entries(entry: Entry) -> Iterator[Entry]:
    if isinstance(entry, File):
        if entry != File(entry.path):
            yield File(entry.path)
        if entry.content is not None:
            for content in _plainer_contents(entry.content, str(entry.path)):
                yield replace(entry, content=content)
    elif isinstance(entry, Link):
        for text in _plainer_names(entry.to):
            yield replace(entry, to=text)
    elif isinstance(entry, Dir | HardLink):
        yield File(entry.path)


def _plainer_names(name: Name) -> Iterator[Name]:
    """A shorter name: with fewer pieces or repetitions, with fewer components, with fewer letters."""
    if isinstance(name, tuple):
        yield from _without_some(name, least=1)
        for index, piece in enumerate(name):
            if piece.times > 1:
                for times in (piece.times // 2, piece.times - 1):
                    yield _put(name, index, replace(piece, times=times))
        if len(name) == 1 and name[0].text and name[0].times == 1:
            yield name[0].text
        return
    parts = tuple(name.split("/"))
    for kept in _without_some(parts, least=1):
        yield "/".join(kept)
    for index, part in enumerate(parts):
        if len(part) > 1 and part not in ("..", "{root}"):
            yield "/".join(_put(parts, index, part[: len(part) // 2]))
