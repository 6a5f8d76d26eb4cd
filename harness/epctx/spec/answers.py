"""The makings of an expectation: refusals, doubts, and the words for places."""

from __future__ import annotations

import msgspec

from epctx.case import Call, Content, Expect, Name, name_of, shown
from epctx.spec.scene import Scene
from epctx.spec.tree import Place

EMPTY = Content("", 0)
"""What is read or written where there is nothing."""


def refuse(rule: str, why: str, status: int | None = None, file: Name | None = None) -> Expect:
    """A refusal, by a rule and for a reason; without ``status`` with any code. ``file`` may be opened before."""
    return Expect("refuse", rule, why, status, file)


def doubtful(expect: Expect, why: str, rule: str | None = None) -> Expect:
    """The same, where a loader may as well refuse: an acceptance becomes ``either``, a refusal may have any code."""
    if expect.outcome == "refuse":
        return msgspec.structs.replace(expect, status=None)
    return msgspec.structs.replace(expect, outcome="either", rule=rule or expect.rule, why=why)


def world_name(scene: Scene, place: Place) -> Name | None:
    """The world path of a place, as an expectation names it; None for a place outside the world."""
    path = scene.tree.world_path(place.path)
    return None if path is None else name_of(path)


def where_is(scene: Scene, place: Place) -> str:
    """A place for people: its world path, or an absolute one for a place outside the world."""
    path = scene.tree.world_path(place.path)
    if path is None:
        return shown(b"/" + b"/".join(place.path))
    return shown(path) if path else "the world's root"


def prefix(scene: Scene, place: Place, more: int = 0) -> str:
    """How far a resolution came, plus so many components."""
    return where_is(scene, Place(place.nodes, place.names + place.rest[:more]))


def allocator_fault(call: Call) -> str:
    """What an allocator that fails gives, in words."""
    return "NULL" if call.allocator == "null" else "an error"
