"""The application's callbacks: what they are given, what becomes of their answer, and who owns what they give."""

from __future__ import annotations

from epctx.attack import OPS, Allocator, Draft, Family, Op, Source, load, node, read, scene, write
from epctx.case import (
    FAIL,
    INVALID_ARGUMENT,
    NOT_IMPLEMENTED,
    Attribute,
    Call,
    Callback,
    Content,
    Fifo,
    File,
    Limits,
    Link,
    Model,
    Name,
    Piece,
)

family = Family("callbacks", "What callbacks are given, whose answer counts, and the ownership of buffers and allocators.")

ANSWER, TAKE = Callback(Content("answer")), Callback()
"""A read callback that answers with 96 bytes, and a write callback that accepts."""
FAILS = Callback(code=NOT_IMPLEMENTED, text="the vault is closed")
"""A callback that fails, in words and with a code that no loader would choose."""


def through(op: Op, name: Name, callback: Callback | None = None) -> Call:
    """A read or a write of a model's name by a callback; without one given, by one that succeeds."""
    return read(name, callback=callback or ANSWER) if op == "read" else write(name, callback=callback or TAKE)


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


# --- answers ----------------------------------------------------------------------------------------------------------------

FILES: dict[str, Name] = {
    "existing": "good.bin",
    "absent": "none.bin",
    "outside": "../outside/secret.bin",
    "absolute": "{root}/outside/secret.bin",
    "link-outside": "link",
    "fifo": "fifo",
    "directory": "sub",
}
"""Names for a callback, by what there is at the path that each would be."""

AROUND = (Link("model/link", "../outside/secret.bin"), Fifo("model/fifo"))
"""What ``FILES`` name beside the standard files."""


@family.benign("cb.no-file-access", "safe.no-outside-read", op=OPS, file=FILES)
def file_is_left_alone(op: Op, file: Name) -> Draft:
    """With a {op} callback nothing at the path of the name is touched ({file})."""
    return scene(*AROUND, calls=through(op, file))


@family.hostile("cb.error-is-final", "cb.no-file-access", op=OPS, file=FILES)
def failure_is_not_a_reason_for_a_file(op: Op, file: Name) -> Draft:
    """When the {op} callback fails that is the answer, and no file is touched ({file})."""
    return scene(*AROUND, calls=through(op, file, FAILS))


@family.hostile("cb.error-is-final", op=OPS, code={str(code): code for code in range(1, 15)})
def every_code_comes_back(op: Op, code: int) -> Draft:
    """A {op} callback's own code {code} comes back."""
    return scene(calls=through(op, "good.bin", Callback(code=code, text="as the application has it")))


TEXTS: dict[str, Name] = {
    "empty": "",
    "long": (Piece("a long story, ", times=290),),
    "undecodable": (Piece("not "), Piece(hex="ff80c0ae"), Piece(" text")),
    "control": "two\nlines, \x1b[31mred\x1b[0m\t\r",
    "format": "%s%n%x {0} {}",
    "utf-8": "der Schlüssel fehlt 🔒",
}


@family.hostile("cb.error-is-final", op=OPS, text=TEXTS)
def text_comes_back_verbatim(op: Op, text: Name) -> Draft:
    """A {op} callback's own text comes back byte for byte ({text})."""
    return scene(calls=through(op, "good.bin", Callback(code=FAIL, text=text)))


@family.hostile("cb.error-is-final", op=OPS, caller=("trusted", "model-from-memory"))
def failure_for_other_callers(op: Op, caller: str) -> Draft:
    """When the {op} callback fails that is the answer for other callers, too ({caller})."""
    source: Source = "caller" if caller == "trusted" else "model"
    call = read("good.bin", source=source, callback=FAILS) if op == "read" else write("good.bin", source=source, callback=FAILS)
    return scene(calls=call, cwd="model", model=Model(given="") if caller == "model-from-memory" else Model())


@family.hostile("cb.error-is-final", fallback={"new": "new.bin", "existing": "good.bin", "outside": "../outside/new.bin"})
def failure_is_not_a_reason_for_the_fallback(fallback: Name) -> Draft:
    """When the write callback fails the fallback name is not used either ({fallback} file)."""
    return scene(calls=write("engine", fallback=fallback, callback=FAILS))


@family.hostile("cb.error-is-final", "out.empty-on-error", "own.no-leak")
def failure_empties_output() -> Draft:
    """When the read callback fails the output does not keep what it held before."""
    return scene(calls=read("good.bin", held=True, callback=FAILS))


@family.hostile("cb.error-is-final", "cb.no-file-access", name={"existing": "good.bin", "outside": "../outside/secret.bin"})
def failure_of_a_node(name: Name) -> Draft:
    """When the read callback fails for the name of a node, loading fails with its answer ({name})."""
    return scene(calls=load(callback=FAILS), model=Model(nodes=(node(name),)))


@family.hostile("cb.error-is-final", "cb.directions-independent", op=OPS)
def failure_of_one_of_both(op: Op) -> Draft:
    """When the {op} callback fails, the other direction's callback does not stand in for it."""
    if op == "read":
        return scene(calls=read("good.bin", callback=FAILS, other=TAKE))
    return scene(calls=write("good.bin", callback=FAILS, other=ANSWER))


@family.hostile(
    "cb.null-buffer",
    "out.empty-on-error",
    size={"1": 1, "96": 96, "4096": 4096, "2-40": 1 << 40, "2-63": (1 << 63) - 1},
    held=("fresh", "held"),
)
def null_with_size(size: int, held: str) -> Draft:
    """A read callback that answers OK with NULL and a size ({size}) makes an error of the read ({held} output)."""
    return scene(calls=read("good.bin", callback=Callback(None, size=size), held=held == "held"))


EMPTY_ANSWERS = {
    "null": Callback(None),
    "empty-buffer": Callback(Content("answer", 0)),
    "unused-buffer": Callback(Content("answer"), size=0),
    "large-unused-buffer": Callback(Content("answer", 1 << 20), size=0),
}


@family.benign("cb.empty-payload", "own.no-leak", answer=EMPTY_ANSWERS, held=("fresh", "held"))
def empty_payload(answer: Callback, held: str) -> Draft:
    """An answer of no bytes is an empty success ({answer}, {held} output)."""
    return scene(calls=read("good.bin", callback=answer, held=held == "held"))


@family.benign("cb.empty-payload", "own.caller-allocator", answer=("empty-buffer", "unused-buffer"))
def empty_payload_of_callers_allocator(answer: str) -> Draft:
    """A buffer without bytes goes back to the caller's allocator, which made it ({answer})."""
    return scene(calls=read("good.bin", callback=EMPTY_ANSWERS[answer], allocator="caller"))


@family.hostile(
    "cb.alloc-then-fail",
    "own.no-leak",
    size={"0": 0, "1": 1, "96": 96, "1048576": 1 << 20},
    allocator=("default", "caller"),
    held=("fresh", "held"),
)
def allocates_then_fails(size: int, allocator: Allocator, held: str) -> Draft:
    """The buffer of {size} bytes that a failing callback leaves is freed once ({allocator} allocator, {held} output)."""
    callback = Callback(Content("answer", size), code=FAIL, text="the tag is wrong")
    return scene(calls=read("good.bin", callback=callback, allocator=allocator, held=held == "held"))


@family.hostile("cb.alloc-then-fail", "out.empty-on-error", size={"none": 0, "less": 40, "more": 4096})
def allocates_lies_and_fails(size: int) -> Draft:
    """A failing callback that leaves a buffer and a size that is not its own ({size}) leaves the output empty."""
    callback = Callback(Content("answer"), code=INVALID_ARGUMENT, text="the tag is wrong", size=size)
    return scene(calls=read("good.bin", callback=callback))


@family.hostile("cb.error-with-size", "out.empty-on-error", size={"1": 1, "96": 96, "2-40": 1 << 40}, held=("fresh", "held"))
def fails_with_size(size: int, held: str) -> Draft:
    """An error that leaves the size at {size} gives an empty output ({held} before)."""
    callback = Callback(None, code=FAIL, text="no key", size=size)
    return scene(calls=read("good.bin", callback=callback, held=held == "held"))


@family.benign("own.adopts", "size.exact", size={"1": 1, "40": 40, "95": 95})
def buffer_larger_than_data(size: int) -> Draft:
    """Of a buffer of 96 bytes the first {size} are the data, where the callback says so."""
    return scene(calls=read("good.bin", callback=Callback(Content("answer"), size=size)))


@family.benign("own.adopts", size={"97": 97, "4096": 4096, "2-40": 1 << 40})
def buffer_smaller_than_its_size(size: int) -> Draft:
    """A buffer of 96 bytes said to have {size} is adopted as it is: a copy would read beyond its end."""
    return scene(calls=read("good.bin", callback=Callback(Content("answer"), size=size)))


@family.hostile("cb.write-null-buffer", size={"1": 1, "96": 96, "2-40": 1 << 40}, path=("callback", "fallback", "file"))
def null_payload_with_size(size: int, path: str) -> Draft:
    """NULL with a size ({size}) is refused before anything is asked or written ({path})."""
    if path == "file":
        return scene(calls=write("good.bin", payload=None, null_size=size))
    if path == "fallback":
        return scene(calls=write("good.bin", payload=None, null_size=size, fallback="new.bin", callback=TAKE))
    return scene(calls=write("good.bin", payload=None, null_size=size, callback=TAKE))


@family.benign("cb.write-null-buffer", fallback=("none", "separate"))
def null_payload_without_size(fallback: str) -> Draft:
    """NULL with size 0 is a payload of no bytes, and the callback is given it (fallback name: {fallback})."""
    if fallback == "separate":
        return scene(calls=write("good.bin", payload=None, callback=TAKE, fallback="new.bin"))
    return scene(calls=write("good.bin", payload=None, callback=TAKE))


# --- which callback, if any -------------------------------------------------------------------------------------------------


@family.benign("cb.absent-is-file", "size.exact", op=OPS, name={"existing": "good.bin", "inner": "sub/inner.bin"})
def without_config(op: Op, name: str) -> Draft:
    """Without a config a {op} goes to the file ({name})."""
    return scene(calls=read(name) if op == "read" else write(name))


@family.benign("cb.absent-is-file", op=OPS, source=("model", "caller"), name={"existing": "good.bin", "inner": "sub/inner.bin"})
def without_callbacks(op: Op, source: Source, name: str) -> Draft:
    """With a config that has no callbacks a {op} goes to the file ({name}, name from the {source})."""
    call = read(name, source=source, config=True) if op == "read" else write(name, source=source, config=True)
    return scene(calls=call, cwd="model")


@family.hostile("contain.parent", "cb.absent-is-file", op=OPS)
def without_callbacks_outside(op: Op) -> Draft:
    """With a config that has no callbacks a {op} is confined to the model directory as ever."""
    name = "../outside/secret.bin" if op == "read" else "../outside/new.bin"
    return scene(calls=read(name, config=True) if op == "read" else write(name, config=True))


@family.hostile("cb.accessor-missing", op=OPS)
def accessor_missing_for_config(op: Op) -> Draft:
    """A config that nobody can look into may have callbacks: the {op} is an error and touches no file."""
    if op == "read":
        return scene(calls=read("good.bin", config=True, accessors=False))
    return scene(calls=write("good.bin", config=True, accessors=False))


@family.benign(
    "cb.directions-independent", op=OPS, source=("model", "caller"), name={"existing": "good.bin", "inner": "sub/inner.bin"}
)
def only_the_other_callback(op: Op, source: Source, name: str) -> Draft:
    """With a callback of the other direction only, a {op} goes to the file ({name}, name from the {source})."""
    call = read(name, source=source, other=TAKE) if op == "read" else write(name, source=source, other=ANSWER)
    return scene(calls=call, cwd="model")


@family.hostile("contain.parent", "cb.directions-independent", op=OPS)
def only_the_other_callback_outside(op: Op) -> Draft:
    """With a callback of the other direction only, a {op} is confined to the model directory as ever."""
    if op == "read":
        return scene(calls=read("../outside/secret.bin", other=TAKE))
    return scene(calls=write("../outside/new.bin", other=ANSWER))


@family.benign("cb.state-identity", op=OPS)
def state(op: Op) -> Draft:
    """The {op} callback is given its own state, and not that of the other one."""
    return scene(
        calls=read("engine", callback=ANSWER, other=TAKE) if op == "read" else write("engine", callback=TAKE, other=ANSWER)
    )


@family.benign("cb.state-identity", op=OPS, name={"existing": "good.bin", "absent": "engine"})
def null_state(op: Op, name: str) -> Draft:
    """A {op} callback that is registered with NULL for its state is called, with NULL ({name} file)."""
    return scene(calls=through(op, name, Callback(Content("answer") if op == "read" else None, null_state=True)))


@family.benign("cb.state-identity", "cb.synchronous")
def state_in_turns() -> Draft:
    """Reads and writes in turns are each given their own state."""
    one, two = read("engine", callback=ANSWER, other=TAKE), write("engine", callback=TAKE, other=ANSWER)
    return scene(calls=(one, two, one, two))


@family.benign("cb.synchronous", op=OPS, name={"existing": "good.bin", "opaque": "a//b"})
def nothing_comes_late(op: Op, name: str) -> Draft:
    """No {op} callback comes once the call has returned ({name})."""
    return scene(calls=read(name, callback=ANSWER, lingers=True) if op == "read" else write(name, callback=TAKE, lingers=True))


@family.hostile("cb.synchronous", "cb.error-is-final")
def nothing_comes_late_after_a_failure() -> Draft:
    """No read callback comes once the call has returned its failure."""
    return scene(calls=read("good.bin", callback=FAILS, lingers=True))


@family.benign("cb.embed-bypasses", names={"shared": ("a", "a", "a"), "two": ("a", "b"), "mixed": ("a", "b", "a", "b", "a")})
def nodes_are_read_once_for_each_name(names: tuple[str, ...]) -> Draft:
    """Loading asks the read callback once for each distinct name ({names})."""
    return scene(calls=load(callback=ANSWER), model=Model(nodes=tuple(node(name) for name in names)))


@family.benign("cb.embed-bypasses", name={"existing": "good.bin", "bytes": (Piece(hex="00ff80"),)})
def embedded_data_bypasses_callbacks(name: Name) -> Draft:
    """Data that is embedded is not asked for, whatever it looks like ({name})."""
    return scene(calls=load(callback=ANSWER), model=Model(nodes=(node(name, Attribute("embed_mode", number=1)),)))


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
