"""What ONNX Runtime and an execution provider negotiate before one of the application's callbacks is used."""

from __future__ import annotations

from epctx.attack import OPS, Draft, Family, Op, Support, load, node, read, scene, write
from epctx.case import Attribute, Call, Callback, Content, Model

family = Family("negotiation", "Providers that advertise less or more than they use, and callbacks that depend on it.")

ANSWER, TAKE = Callback(Content("answer")), Callback()
"""A read callback that answers, and a write callback that accepts."""

NEVER: tuple[Support, ...] = ("none", "old")
ALL: tuple[Support, ...] = ("both", "none", "read", "write", "unknown", "error", "old")


def access(op: Op, name: str, support: Support, *, callback: bool = True) -> Call:
    """A read or a write of ``name`` on a provider that advertises ``support``, with a callback unless told otherwise."""
    if op == "read":
        return read(name, callback=ANSWER if callback else None, support=support)
    return write(name, callback=TAKE if callback else None, support=support)


# --- refused ----------------------------------------------------------------------------------------------------------------


@family.hostile("support.refused", op=OPS, support=NEVER, name={"there": "good.bin", "nested": "sub/inner.bin"})
def not_advertised(op: Op, support: Support, name: str) -> Draft:
    """A {op} callback and a provider that advertises {support} are an error, and the file ({name}) stays untouched."""
    return scene(calls=access(op, name, support))


@family.hostile("support.refused", op=OPS)
def the_other_one_advertised(op: Op) -> Draft:
    """A {op} callback is an error where the provider advertises the other one only."""
    return scene(calls=access(op, "good.bin", "write" if op == "read" else "read"))


@family.hostile("support.refused", support=NEVER)
def not_advertised_for_nodes(support: Support) -> Draft:
    """A read callback and a model with several contexts are an error where the provider advertises {support}."""
    nodes = (node("good.bin"), node("sub/inner.bin"), node("good.bin"))
    return scene(calls=load(callback=ANSWER, support=support), model=Model(nodes=nodes))


@family.hostile("support.refused", support=NEVER)
def one_context_is_embedded(support: Support) -> Draft:
    """One context that is not in the model is enough for an error where the provider advertises {support}."""
    embedded = node("embedded", Attribute("embed_mode", number=1))
    return scene(calls=load(callback=ANSWER, support=support), model=Model(nodes=(embedded, node("good.bin"))))


@family.hostile("support.unknown-flags", op=OPS, name={"there": "good.bin", "nested": "sub/inner.bin"})
def unknown_flag(op: Op, name: str) -> Draft:
    """A flag that nobody knows is an error when a {op} callback depends on the answer ({name})."""
    return scene(calls=access(op, name, "unknown"))


@family.hostile("support.query-error", op=OPS, name={"there": "good.bin", "nested": "sub/inner.bin"})
def query_fails(op: Op, name: str) -> Draft:
    """A provider that cannot say what it supports is an error when a {op} callback depends on the answer ({name})."""
    return scene(calls=access(op, name, "error"))


# --- not asked --------------------------------------------------------------------------------------------------------------

LESS: tuple[Support, ...] = ("none", "read", "write", "unknown", "error", "old")


@family.benign("support.not-needed", op=OPS, support=LESS)
def without_callback(op: Op, support: Support) -> Draft:
    """Without a callback a {op} works by file, whatever the provider advertises ({support})."""
    return scene(calls=access(op, "good.bin", support, callback=False))


@family.benign("support.not-needed", "cb.embed-bypasses", support=LESS)
def embedded(support: Support) -> Draft:
    """Embedded data needs no support: a session is made though a read callback is registered ({support})."""
    embedded = node("../outside/secret.bin", Attribute("embed_mode", number=1))
    return scene(calls=load(callback=ANSWER, support=support), model=Model(nodes=(embedded,)))


@family.benign("support.not-needed", support=LESS)
def the_other_callback(support: Support) -> Draft:
    """A compilation does not depend on the read callback ({support})."""
    return scene(calls=Call("write", "new.bin", read_callback=ANSWER, support=support))


# --- advertised -------------------------------------------------------------------------------------------------------------


@family.benign("cb.no-file-access", op=OPS, support=("both", "one"))
def advertised(op: Op, support: str) -> Draft:
    """What is advertised ({support}) is done: the {op} callback is used, and the file is not touched."""
    advertises: Support = "both" if support == "both" else op
    return scene(calls=access(op, "good.bin", advertises))
