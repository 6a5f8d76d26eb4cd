"""Mutants: listed cases in which a few things are changed. What somebody thought of once has neighbours."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from epctx.case import Call, Case, Content, Entry, Fifo, File, HardLink, Limits, Name, content_of, raw
from epctx.case_file import loads
from epctx.fuzz import scenes, scripts
from epctx.fuzz.choices import Choices, bag, pick
from epctx.fuzz.scenes import CANARY_SIZES, SIZES

Namer: TypeAlias = Callable[[Choices, str, Sequence[Entry], bool], Name]
"""Makes a name for a caller, or a model, that starts in a directory of a world with these entries (``Grammar.name``)."""

SEVERAL = 4
"""So many calls are enough."""
LONGEST = 300
"""Longer names take a while to check, and the grammar has some of its own."""


@functools.cache
def listed() -> tuple[Case, ...]:
    """The listed cases, and those that campaigns found, which any helper can run and which take it microseconds; equal worlds are
    one object, as in a scene."""
    decoder, corpora = msgspec.json.Decoder(Case), files("epctx_corpora")
    listing = sorted(corpora.joinpath("cases").iterdir(), key=lambda file: file.name)
    cases = [decoder.decode(line) for file in listing for line in file.read_bytes().splitlines()[1:]]  # after its header
    finds = sorted(corpora.joinpath("regressions").iterdir(), key=lambda file: file.name)
    cases += [loads(file.read_bytes(), file.name) for file in finds if file.name.endswith(".json")]
    worlds = {scenes.PLAIN.world: scenes.PLAIN.world}
    return tuple([replace(case, world=worlds.setdefault(case.world, case.world)) for case in cases if _tame(case)])


def _tame(case: Case) -> bool:
    if case.heavy or case.model.external or case.limits.memory != Limits().memory:
        return False
    if any(call.threads or call.race or call.lingers or call.support or call.embeds or call.runs for call in case.calls):
        return False
    if any(isinstance(entry, Fifo) and entry.writer for entry in case.world.entries):
        return False
    return all(len(raw(name)) <= LONGEST for call in case.calls for name in call.names)


def mutant(choices: Choices, id: str, case: Case, name: Namer) -> tuple[Case, bool]:
    """A case in which one to three things are changed, and whether those are in its calls alone.

    Then it may be built as surely as the listed case, as long as none of its names reaches too far.
    """
    made = replace(case, id=id, summary="A listed case that a grammar changed.", intent="hostile", rules=(), expect=())
    calls_alone = True
    for _ in range(1 + choices.below(3)):
        if choices.below(12) == 11:  # which has to be checked
            made, calls_alone = pick(choices, AROUND)(choices, made), False
        elif calls := [index for index, call in enumerate(made.calls) if call.op in ("read", "write")]:
            at = pick(choices, calls)
            changed = pick(choices, IN_CALLS)(choices, made, made.calls[at], name)
            made = replace(made, calls=(*made.calls[:at], *changed, *made.calls[at + 1 :]))
    return made, calls_alone


# --- in a call --------------------------------------------------------------------------------------------------------------

IN_FRONT = ("./", "sub/../", "../model/", ".//", "none/../", "link/../", "../")
BEHIND = ("/", "/.", "/..", "//", "\0", " ", ".", "/../good.bin", "/new.bin")


def _renamed(choices: Choices, case: Case, call: Call, name: Namer) -> tuple[Call, ...]:
    caller = call.source == "caller"
    start = case.world.cwd if caller and isinstance(case.world.cwd, str) else "model"
    entries = [entry for entry in case.world.entries if isinstance(entry.path, str)]
    return (replace(call, name=name(choices, start, entries, caller)),)


def _extended(choices: Choices, case: Case, call: Call, name: Namer) -> tuple[Call, ...]:
    if not isinstance(call.name, str) or not call.name:
        return (call,)
    if choices.below(2):
        return (replace(call, name=call.name + pick(choices, BEHIND)),)
    front = pick(choices, IN_FRONT)
    return (call if call.name.startswith(("/", "{root}")) else replace(call, name=front + call.name),)


def _repeated(choices: Choices, case: Case, call: Call, name: Namer) -> tuple[Call, ...]:
    return (call, call) if len(case.calls) < SEVERAL else (call,)


def _turned(choices: Choices, case: Case, call: Call, name: Namer) -> tuple[Call, ...]:
    """The other direction, before or after it."""
    if len(case.calls) >= SEVERAL:
        return (call,)
    other = Call("write" if call.op == "read" else "read", call.name, call.source)
    return (call, other) if choices.below(2) else (other, call)


def _asked(choices: Choices, case: Case, call: Call, name: Namer) -> tuple[Call, ...]:
    if call.resize is not None:
        return (call,)
    if call.op == "read":
        return (replace(call, read_callback=None if call.read_callback else scripts.callback(choices, "read")),)
    return (replace(call, write_callback=None if call.write_callback else scripts.callback(choices, "write")),)


def _resized(choices: Choices, case: Case, call: Call, name: Namer) -> tuple[Call, ...]:
    size = pick(choices, SIZES)
    if call.op == "write" and call.payload is not None:
        return (replace(call, payload=Content(call.payload.key, size)),)
    if call.op == "read" and call.read_callback is not None and call.read_callback.content is not None:
        return (replace(call, read_callback=replace(call.read_callback, content=Content("answer", size))),)
    return (call,)


def _odd(choices: Choices, case: Case, call: Call, name: Namer) -> tuple[Call, ...]:
    """From the other side, with a config, without accessors, or with the output and the allocator of another read."""
    which = choices.below(6)
    if which == 0:
        return (replace(call, source="caller" if call.source == "model" else "model"),)
    if which == 1:
        return (replace(call, config=not call.config),)
    if which == 2:
        return (replace(call, accessors=not call.accessors),)
    if call.op == "write":
        return (replace(call, fallback=name(choices, "model", (), False)),)
    if which == 3:
        return (replace(call, held=not call.held),)
    if which == 4:
        return (replace(call, moves=not call.moves),)
    return (replace(call, allocator=pick(choices, ("caller", "null", "error"))),)


IN_CALLS = bag((4, _renamed), (4, _extended), (1, _repeated), (2, _turned), (2, _asked), (2, _resized), (3, _odd))


# --- around the calls -------------------------------------------------------------------------------------------------------


def _added(choices: Choices, case: Case) -> Case:
    """With something special besides, where there is room for it."""
    made = scenes.entry(choices, CANARY_SIZES)
    world = case.world
    there = [entry.path for entry in world.entries]
    if len(scenes.beside(made, world.entries)) < len(made) or any(isinstance(e, HardLink) and e.to not in there for e in made):
        return case
    return replace(case, world=replace(world, entries=(*world.entries, *made)))


def _without(choices: Choices, case: Case) -> Case:
    """With an entry less."""
    entries = case.world.entries
    if not entries:
        return case
    at = choices.below(len(entries))
    return replace(case, world=replace(case.world, entries=(*entries[:at], *entries[at + 1 :])))


def _refilled(choices: Choices, case: Case) -> Case:
    """With a file of another size."""
    entries = case.world.entries
    found = [index for index, entry in enumerate(entries) if isinstance(entry, File)]
    if not found:
        return case
    at = pick(choices, found)
    file = entries[at]
    assert isinstance(file, File)
    inside = isinstance(file.path, str) and file.path.startswith("model/")
    size = pick(choices, SIZES if inside else CANARY_SIZES)
    other = replace(file, content=replace(content_of(file), size=size, sparse=False))
    return replace(case, world=replace(case.world, entries=(*entries[:at], other, *entries[at + 1 :])))


def _given(choices: Choices, case: Case) -> Case:
    """With a model that the runtime was given in another way."""
    bare = pick(choices, scenes.BARE)
    return replace(case, model=replace(case.model, given=bare.given), world=replace(case.world, cwd=bare.cwd))


AROUND = bag((3, _added), (1, _without), (2, _refilled), (2, _given))
