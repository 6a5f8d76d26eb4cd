"""The application's callbacks, as far as names and ownership go: what a callback is given, and who owns what it gives."""

from __future__ import annotations

from epctx.attack import OPS, Allocator, Draft, Family, Op, load, node, read, scene, write
from epctx.case import Callback, Content, Fifo, File, Limits, Link, Model, Name, Piece

family = Family("callbacks", "Names that callbacks are given, fallback names, and the ownership of buffers and allocators.")

ANSWER, TAKE = Callback(Content("answer")), Callback()
"""A read callback that answers with 96 bytes, and a write callback that accepts."""

NAMES: dict[str, Name] = {
    "plain": "engine.bin",
    "existing": "good.bin",
    "parent": "../outside/secret.bin",
    "parents": (Piece("../", times=20), Piece("..{root}/outside/secret.bin")),
    "around": "a/../../b",
    "absolute": "{root}/outside/secret.bin",
    "root": "/",
    "slashes": "a///b//",
    "dot": ".",
    "dot-dot": "..",
    "dot-first": "./good.bin",
    "directory": "sub/",
    "space": " a b ",
    "tab": "\ta",
    "newline": "a\nb\r\n",
    "control": "a\x01\x1b[31m\x7f",
    "backslash": "..\\a\\b",
    "drive": "C:\\a.bin",
    "device": "CON",
    "url": "https://example.com/a?b=c#d",
    "percent": "%2e%2e%2fa%00",
    "variable": "$HOME/~/%PATH%",
    "format": "%s%n%x",
    "utf-8": "größe-模型-🔒",
    "decomposed": "gro\u0308\u00dfe",
    "right-to-left": "a\u202eb\u200bc\ufeff",
    "undecodable": (Piece("a"), Piece(hex="ffc0aeeda080"), Piece("b")),
    "256": (Piece("n", times=256),),
    "4097": (Piece("n", times=4097),),
    "65536": (Piece("d/", times=1 << 15),),
}
"""The axis of names that mean nothing to a loader that has a callback."""


@family.benign("name.opaque-to-callback", op=OPS, name=NAMES)
def verbatim(op: Op, name: Name) -> Draft:
    """A {op} callback is given the name byte for byte ({name})."""
    call = read(name, callback=ANSWER) if op == "read" else write(name, callback=TAKE)
    return scene(Link("model/link", "../outside/secret.bin"), calls=call)


@family.benign(
    "name.opaque-to-callback", op=OPS, name={word: NAMES[word] for word in ("parent", "absolute", "undecodable", "65536")}
)
def verbatim_for_trusted_caller(op: Op, name: Name) -> Draft:
    """A {op} callback is given a trusted caller's name byte for byte ({name})."""
    call = read(name, source="caller", callback=ANSWER) if op == "read" else write(name, source="caller", callback=TAKE)
    return scene(calls=call, cwd="model")


@family.benign("name.opaque-to-callback", name={word: NAMES[word] for word in ("parent", "absolute", "newline", "utf-8")})
def verbatim_from_node(name: Name) -> Draft:
    """A read callback is given the name of a node byte for byte ({name})."""
    return scene(calls=load(callback=ANSWER), model=Model(nodes=(node(name),)))


@family.hostile("name.empty", op=OPS, name={"null": None, "empty": ""})
def no_name(op: Op, name: Name | None) -> Draft:
    """A {name} name is refused before the {op} callback is asked."""
    return scene(calls=read(name, callback=ANSWER) if op == "read" else write(name, callback=TAKE))


@family.benign(
    "contain.no-model-path",
    "name.opaque-to-callback",
    op=OPS,
    name={word: NAMES[word] for word in ("plain", "parent", "absolute")},
)
def model_from_memory(op: Op, name: Name) -> Draft:
    """A {op} callback works for a model from memory ({name})."""
    call = read(name, callback=ANSWER) if op == "read" else write(name, callback=TAKE)
    return scene(calls=call, model=Model(given=""), cwd="outside")


# --- fallback names ---------------------------------------------------------------------------------------------------------

HOSTILE_FALLBACKS: dict[str, Name | None] = {
    "null": None,
    "empty": "",
    "parent": "../outside/new.bin",
    "absolute": "{root}/outside/new.bin",
    "directory": "sub",
    "fifo": "fifo",
    "existing": "good.bin",
    "too-long": (Piece("n", times=5000),),
}


@family.benign("name.fallback-unused", "safe.no-outside-write", fallback=HOSTILE_FALLBACKS)
def fallback_unused(fallback: Name | None) -> Draft:
    """With a write callback the fallback name is neither used nor checked ({fallback})."""
    return scene(Fifo("model/fifo"), calls=write("engine", fallback=fallback, callback=TAKE))


@family.hostile("name.fallback-empty", fallback={"null": None, "empty": ""}, name={"plain": "engine.bin", "existing": "good.bin"})
def fallback_empty(fallback: Name | None, name: str) -> Draft:
    """Without a write callback a {fallback} fallback name is refused; the logical name does not stand in for it ({name})."""
    return scene(calls=write(name, fallback=fallback))


@family.hostile("name.empty", name={"null": None, "empty": ""})
def fallback_does_not_replace_name(name: Name | None) -> Draft:
    """A {name} logical name is refused though there is a good fallback name."""
    return scene(calls=write(name, fallback="new.bin"))


@family.hostile(
    "contain.parent",
    "safe.no-outside-write",
    fallback={
        "parent": "../outside/new.bin",
        "absolute": "{root}/outside/new.bin",
        "link": "link",
        "sibling": "../model_evil/twin.bin",
    },
)
def fallback_is_a_path(fallback: str) -> Draft:
    """Without a write callback the fallback name must stay in the model directory, whatever the logical name is ({fallback})."""
    return scene(Link("model/link", "../outside/new.bin"), calls=write("engine.bin", fallback=fallback))


@family.benign(
    "name.logical-not-a-path",
    logical={
        word: NAMES[word]
        for word in ("parent", "absolute", "root", "dot-dot", "directory", "newline", "url", "undecodable", "4097")
    },
    target={"new": "new.bin", "existing": "good.bin"},
)
def logical_name_is_not_a_path(logical: Name, target: str) -> Draft:
    """With a fallback name of its own the logical name is not looked at as a path ({logical}, {target} file)."""
    return scene(calls=write(logical, fallback=target))


@family.benign("name.logical-not-a-path")
def logical_name_is_not_written() -> Draft:
    """What is written is the file of the fallback name, not that of the logical one."""
    return scene(calls=write("good.bin", fallback="new.bin"))


# --- ownership --------------------------------------------------------------------------------------------------------------

SIZES = {"1": 1, "96": 96, "4096": 4096, "1048576": 1 << 20}


@family.benign("own.adopts", "own.no-leak", size=SIZES)
def adopts(size: int) -> Draft:
    """The output's data is the very buffer of {size} bytes that the callback filled, and it is freed once."""
    return scene(calls=read("engine", callback=Callback(Content("answer", size))))


@family.benign("mem.single-copy", "own.adopts")
def adopts_64_mib() -> Draft:
    """64 MiB from a callback are in memory once."""
    return scene(calls=read("engine", callback=Callback(Content("answer", 64 << 20))), limits=Limits(seconds=20))


@family.benign("own.freed-once", "own.no-leak", path=("callback", "file"))
def replaces_output(path: str) -> Draft:
    """Data that the output held before is freed once when new data comes ({path})."""
    return scene(calls=read("good.bin", held=True, callback=ANSWER if path == "callback" else None))


@family.benign("own.freed-once", path=("callback", "file"))
def read_three_times(path: str) -> Draft:
    """Three reads of one name give the same bytes and leave nothing behind ({path})."""
    return scene(calls=(read("good.bin", callback=ANSWER if path == "callback" else None),) * 3)


@family.benign("own.moves", "own.no-leak", path=("callback", "file", "empty-file"), held=("fresh", "held"))
def moves(path: str, held: str) -> Draft:
    """The output is moved, onto itself as well, and replaced, without a double free ({path}, {held})."""
    name = "empty.bin" if path == "empty-file" else "good.bin"
    call = read(name, moves=True, held=held == "held", callback=ANSWER if path == "callback" else None)
    return scene(File("model/empty.bin", Content("empty", 0)), calls=call)


@family.benign("own.caller-allocator", "own.no-leak", path=("callback", "file"), size=SIZES)
def caller_allocator(path: str, size: int) -> Draft:
    """The allocator that the caller gave makes the buffer of {size} bytes and is not released ({path})."""
    content = Content("answer", size)
    callback = Callback(content) if path == "callback" else None
    return scene(File("model/f.bin", content), calls=read("f.bin", allocator="caller", callback=callback))


@family.benign("own.caller-allocator", path=("callback", "file"))
def caller_allocator_with_moves(path: str) -> Draft:
    """Moves keep the caller's allocator with the buffer that it made ({path})."""
    return scene(calls=read("good.bin", allocator="caller", moves=True, callback=ANSWER if path == "callback" else None))


@family.hostile(
    "own.caller-allocator", "own.no-leak", name={"missing": "none.bin", "outside": "../outside/secret.bin", "directory": "sub"}
)
def caller_allocator_and_refusal(name: str) -> Draft:
    """A refusal ({name}) leaves nothing allocated in the caller's allocator and does not release it."""
    return scene(calls=read(name, allocator="caller", held=True))


@family.hostile("own.alloc-fails", "out.empty-on-error", allocator=("null", "error"), path=("callback", "file"), size=SIZES)
def allocator_fails(allocator: Allocator, path: str, size: int) -> Draft:
    """An allocator that gives {allocator} for {size} bytes makes an error of the read ({path})."""
    content = Content("answer", size)
    callback = Callback(content) if path == "callback" else None
    return scene(File("model/f.bin", content), calls=read("f.bin", allocator=allocator, callback=callback))


@family.hostile(
    "cb.accessor-missing", op=OPS, file={"there": "good.bin", "absent": "none.bin", "outside": "../outside/secret.bin"}
)
def accessor_missing(op: Op, file: str) -> Draft:
    """A config whose callbacks the runtime cannot give is an error of the {op}, and the file ({file}) is none of its business."""
    if op == "read":
        return scene(calls=read(file, callback=ANSWER, accessors=False))
    return scene(calls=write(file, callback=TAKE, accessors=False))


@family.hostile("own.alloc-fails", "out.empty-on-error", path=("callback", "file"))
def allocator_fails_with_output_held(path: str) -> Draft:
    """When the allocator gives nothing, the output does not keep what it held before ({path})."""
    return scene(calls=read("good.bin", allocator="null", held=True, callback=ANSWER if path == "callback" else None))


@family.hostile(
    "own.no-leak",
    "out.empty-on-error",
    name={"missing": "none.bin", "outside": "../outside/secret.bin", "directory": "sub", "absolute": "{root}/model/good.bin"},
)
def refusal_frees_everything(name: str) -> Draft:
    """A refusal ({name}) frees every buffer and every status, also those of an output that held data."""
    return scene(calls=(read(name), read(name, held=True)))
