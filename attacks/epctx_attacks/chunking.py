"""How a payload reaches the write callback: in one piece for each name, or in the pieces that a target declares."""

from __future__ import annotations

from epctx.attack import Draft, Family, Source, scene, write
from epctx.case import FAIL, Callback, Content, Limits, Model, Name, Piece

family = Family("chunking", "Payloads that a write callback is given: whole, exact, and once for each name.")

TAKE = Callback()
"""A write callback that accepts."""

SIZES = {
    str(size): size for size in (0, 1, 2, 3, 4, 255, 256, 1023, 1024, 1025, 4095, 4096, 4097, 32768, 32769, 65536, 65537, 1 << 20)
}


@family.benign("chunk.single-write", "chunk.declared", size=SIZES)
def whole_payload(size: int) -> Draft:
    """A payload of {size} bytes arrives whole, in one piece or in declared pieces."""
    return scene(calls=write("engine", payload=Content("payload", size), callback=TAKE))


@family.benign("chunk.single-write", "chunk.declared")
def payload_of_64_mib() -> Draft:
    """A payload of 64 MiB arrives whole, in one piece or in declared pieces."""
    call = write("engine", payload=Content("payload", 64 << 20), callback=TAKE)
    return scene(calls=call, limits=Limits(seconds=20))


NAMES: dict[str, Name] = {
    "existing": "good.bin",
    "path": "../outside/secret.bin",
    "numbered": "engine.1",
    "space": " ",
    "undecodable": (Piece(hex="ff"), Piece("x")),
    "long": (Piece("n", times=5000),),
}


@family.benign("chunk.single-write", "chunk.declared", "name.opaque-to-callback", name=NAMES)
def whole_payload_for_any_name(name: Name) -> Draft:
    """Every piece of a payload comes under its own name, byte for byte ({name})."""
    return scene(calls=write(name, callback=TAKE))


@family.benign("chunk.single-write", "chunk.declared", caller=("trusted", "model-from-memory", "separate-fallback"))
def whole_payload_from_any_caller(caller: str) -> Draft:
    """A payload arrives whole, whoever writes it ({caller})."""
    source: Source = "caller" if caller == "trusted" else "model"
    if caller == "separate-fallback":
        return scene(calls=write("engine", fallback="new.bin", callback=TAKE))
    call = write("engine", source=source, callback=TAKE)
    return scene(calls=call, model=Model(given="") if caller == "model-from-memory" else Model())


@family.benign("chunk.single-write", "chunk.declared", second={"shorter": 40, "longer": 200, "equal": 96})
def same_name_twice(second: int) -> Draft:
    """A name that is written again has its second payload whole, with nothing of the first ({second})."""
    return scene(calls=(write("engine", callback=TAKE), write("engine", payload=Content("again", second), callback=TAKE)))


@family.benign("chunk.single-write", "chunk.declared", count={"2": 2, "16": 16})
def several_names(count: int) -> Draft:
    """{count} names have their own payloads, each whole."""
    return scene(calls=tuple(write(f"engine{n}", payload=Content(f"payload{n}", 90 + n), callback=TAKE) for n in range(count)))


@family.benign(
    "chunk.declared",
    "chunk.no-order-between-names",
    names={"before": ("b", "a"), "after": ("a", "b"), "prefix": ("engine", "engine.1")},
)
def names_in_turns(names: tuple[str, str]) -> Draft:
    """Pieces of two names may come in turns and are told apart ({names}): from within one's callback the other is written."""
    return scene(calls=write(names[0], callback=Callback(reenters=names[1])))


@family.hostile("cb.error-is-final", size={"96": 96, "65537": 65537})
def nothing_follows_an_error(size: int) -> Draft:
    """Once the callback has failed, no further piece of the {size} bytes comes."""
    callback = Callback(code=FAIL, text="the disk is full")
    return scene(calls=write("engine", payload=Content("payload", size), callback=callback))
