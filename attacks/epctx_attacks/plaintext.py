"""Plaintext that only callbacks may see: nothing of it is on the disk, at any time and in no place."""

from __future__ import annotations

from epctx.attack import OPS, Draft, Family, Op, Source, load, node, read, scene, write
from epctx.case import FAIL, Call, Callback, Content, Limits, Model, Name

family = Family("plaintext", "Payloads that callbacks give and take: none of it gets to the disk, not even for a moment.")

SIZES = {"32": 32, "4096": 4 << 10, "65536": 64 << 10, "1048576": 1 << 20, "8388608": 8 << 20}
"""The axis of sizes: a key, a small engine, large ones."""

PATIENT = Limits(seconds=20)
"""For calls that carry megabytes."""


def by_callback(op: Op, name: Name, size: int = 4096, *, source: Source = "model") -> Call:
    """A read or a write of so many bytes through a callback."""
    engine = Content("engine", size)
    if op == "read":
        return read(name, source=source, callback=Callback(engine))
    return write(name, source=source, payload=engine, callback=Callback())


@family.benign("plain.no-plaintext", op=OPS, size=SIZES)
def sizes(op: Op, size: int) -> Draft:
    """A {op} of {size} bytes through a callback leaves no plaintext anywhere, at any time."""
    return scene(calls=by_callback(op, "engine.bin", size), limits=PATIENT)


@family.benign("plain.no-plaintext", "cb.no-file-access", op=OPS)
def file_exists(op: Op) -> Draft:
    """A {op} through a callback leaves no plaintext where a file of the name exists."""
    return scene(calls=by_callback(op, "good.bin"))


@family.benign("plain.no-plaintext", op=OPS, cwd={"root": "", "model": "model", "outside": "outside"})
def working_directory(op: Op, cwd: Name) -> Draft:
    """A {op} through a callback leaves no plaintext in the working directory ({cwd})."""
    return scene(calls=by_callback(op, "engine.bin"), cwd=cwd)


@family.benign("plain.no-plaintext", "contain.no-model-path", op=OPS)
def model_from_memory(op: Op) -> Draft:
    """A {op} through a callback for a model from memory leaves no plaintext, not even where the loader has no directory."""
    return scene(calls=by_callback(op, "engine.bin"), model=Model(given=""), cwd="outside")


@family.benign("plain.no-plaintext", op=OPS)
def trusted_caller(op: Op) -> Draft:
    """A {op} through a callback by a trusted caller leaves no plaintext."""
    return scene(calls=by_callback(op, "engine.bin", source="caller"), cwd="model")


@family.benign("plain.no-plaintext", fallback={"new": "new.bin", "existing": "good.bin", "outside": "../outside/new.bin"})
def fallback_name(fallback: str) -> Draft:
    """A write through a callback leaves no plaintext at the name that is meant for the disk ({fallback})."""
    engine = Content("engine", 4096)
    return scene(calls=write("engine.bin", payload=engine, fallback=fallback, callback=Callback()))


@family.benign("plain.no-plaintext")
def node_of_a_model() -> Draft:
    """A model whose node is read through a callback leaves no plaintext."""
    return scene(calls=load(callback=Callback(Content("engine", 4096))), model=Model(nodes=(node("engine.bin"),)))


@family.benign("plain.no-plaintext", op=OPS)
def several(op: Op) -> Draft:
    """Three calls after one another, each a {op} through a callback, leave no plaintext."""
    return scene(calls=tuple(by_callback(op, f"engine-{number}.bin") for number in range(3)))


@family.benign("plain.no-plaintext")
def written_then_read() -> Draft:
    """What is written through a callback and then read back through one is never on the disk."""
    return scene(calls=(by_callback("write", "engine.bin"), by_callback("read", "engine.bin")))


@family.hostile("plain.no-plaintext", "cb.error-is-final", size=SIZES)
def write_not_taken(size: int) -> Draft:
    """A payload of {size} bytes that the write callback does not take is not kept anywhere for later."""
    engine = Content("engine", size)
    refusing = Callback(code=FAIL, text="the store is full")
    return scene(calls=write("engine.bin", payload=engine, callback=refusing), limits=PATIENT)


@family.hostile("plain.no-plaintext", "cb.alloc-then-fail", name={"new": "engine.bin", "existing": "good.bin"})
def read_fails(name: str) -> Draft:
    """What a read callback gave before it failed is not kept anywhere, and no file takes its place ({name})."""
    return scene(calls=read(name, callback=Callback(Content("engine", 4096), code=FAIL, text="the key does not fit")))
