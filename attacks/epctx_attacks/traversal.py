"""Names that climb with `..`: out of the model directory, out and back in, and only as far as they went down."""

from __future__ import annotations

from epctx.attack import BRISK, OPS, Draft, Family, Op, access, read, scene, write
from epctx.case import Content, Dir, Entry, Fifo, File, Link, Model, Name, Piece, Struct

family = Family("traversal", "Names with `..` that leave the model directory, and names with `..` that stay in it.")


class Storage(Struct, frozen=True):
    """How the runtime was given the model: the string, the directory it ran in, and the entries that this needs."""

    given: str
    cwd: str = ""
    entries: tuple[Entry, ...] = ()


DECOYS = (File("shelf/good.bin"), File("shelf/outside/secret.bin"), File("shelf/model_evil/twin.bin"))
"""What a loader finds that does not resolve a linked model directory before it climbs."""

STORAGE = {
    "absolute": Storage("{root}/model/model.onnx"),
    "bare": Storage("model.onnx", cwd="model"),
    "dot": Storage("./model.onnx", cwd="model"),
    "relative": Storage("model/model.onnx"),
    "from-elsewhere": Storage("../model/model.onnx", cwd="outside"),
    "dot-dot": Storage("{root}/outside/../model/model.onnx"),
    "double-slash": Storage("{root}//model//model.onnx"),
    "trailing-slash": Storage("{root}/model/"),
    "linked": Storage("{root}/shelf/linked/model.onnx", entries=(Link("shelf/linked", "../model"), *DECOYS)),
    "linked-dot-dot": Storage("{root}/shelf/linked/../model.onnx", entries=(Link("shelf/linked", "../model/sub"), *DECOYS)),
}
"""The axis of model paths. All of them name the same model directory."""

OUTSIDE = {"file": "outside/secret.bin", "empty": "outside/empty.bin", "absent": "outside/new.bin"}
"""The axis of target states: what a climb aims at."""

OUTSIDE_ENTRIES = (File("outside/empty.bin", Content("empty", 0)),)

DESCENTS = {"0": "", "1": "a/", "2": "a/b/", "3": "a/b/c/"}
"""The axis of depth: directories that exist inside and are entered before the climb."""


def climb_out(descent: str) -> str:
    """The text that enters ``descent`` and climbs to the world's root."""
    return descent + "../" * (descent.count("/") + 1)


# --- out --------------------------------------------------------------------------------------------------------------------


@family.hostile("contain.parent", "safe.no-outside-{op}", op=OPS, depth=DESCENTS, target=OUTSIDE)
def climb(op: Op, depth: str, target: str) -> Draft | None:
    """A {op} that goes down {depth} directories and up one more is refused (outside: {target})."""
    if op == "read" and target == OUTSIDE["absent"]:
        return None
    return scene(*OUTSIDE_ENTRIES, Dir("model/a/b/c"), calls=access(op, climb_out(depth) + target))


@family.hostile("contain.parent", "safe.no-outside-{op}", op=OPS, depth=DESCENTS)
def climb_through_missing(op: Op, depth: str) -> Draft | None:
    """A {op} that climbs out of {depth} directories that do not exist is refused; a walk over text alone would arrive outside."""
    return scene(calls=access(op, climb_out(depth) + "outside/secret.bin")) if depth else None


@family.hostile(
    "contain.parent",
    "safe.no-outside-{op}",
    op=OPS,
    name={
        "dot-first": "./../outside/secret.bin",
        "dot-between": ".././outside/secret.bin",
        "slashes": "..//outside//secret.bin",
        "dot-slash-dot": ".//.//..//outside/secret.bin",
        "late": "sub/./../../outside/secret.bin",
        "twice": "sub/../sub/../../outside/secret.bin",
        "dots-first": "..foo/../../outside/secret.bin",
        "three-dots-first": ".../../../outside/secret.bin",
        "after-good": "sub/../../outside/../outside/secret.bin",
        "in-and-out": "../model/../outside/secret.bin",
        "in-and-out-twice": "../model/../model/../outside/secret.bin",
    },
)
def climb_in_disguise(op: Op, name: str) -> Draft:
    """A {op} is refused however the climb is spelled ({name})."""
    return scene(Dir("model/..foo"), Dir("model/..."), calls=access(op, name))


@family.hostile(
    "name.no-expansion", "type.read-missing", name={"doubled": "....//outside/secret.bin", "nested": "..././outside/secret.bin"}
)
def climb_left_by_stripping(name: str) -> Draft:
    """A name out of which a loader would cut `../` once, and so make an escape of it, is taken as it stands ({name})."""
    return scene(calls=read(name))


@family.hostile("contain.parent", "safe.no-outside-{op}", op=OPS, times={"8": 8, "40": 40, "400": 400})
def climb_to_the_top(op: Op, times: int) -> Draft:
    """A {op} that climbs {times} times, so to `/` and not beyond it, and comes down to a file outside is refused."""
    return scene(calls=access(op, (Piece("../", times=times), Piece("..{root}/outside/secret.bin"))))


SIBLINGS = {
    "prefix": "model_evil/deep/twin.bin",
    "dotted": "model.onnx.d/twin.bin",
    "letter": "modelx/twin.bin",
    "space": "model /twin.bin",
    "shorter": "mode/twin.bin",
    "case": "Model/twin.bin",
    "file": "model.bin",
}


@family.hostile("contain.sibling-prefix", "safe.no-outside-{op}", op=OPS, sibling=SIBLINGS)
def sibling(op: Op, sibling: str) -> Draft:
    """A {op} in a sibling whose name is like the model directory's is refused: components count, not characters ({sibling})."""
    return scene(File(sibling), calls=access(op, f"../{sibling}"))


@family.hostile(
    "contain.sibling-prefix", "safe.no-outside-write", sibling={"directory": "model_evil/new.bin", "file": "model_new.bin"}
)
def sibling_new(sibling: str) -> Draft:
    """A new file in or as a sibling with the model directory's prefix is not created ({sibling})."""
    return scene(calls=write(f"../{sibling}"))


@family.hostile("contain.sibling-prefix", "contain.model-path-forms", op=OPS, storage=STORAGE)
def sibling_by_storage(op: Op, storage: Storage) -> Draft:
    """A {op} in a sibling with the model directory's prefix is refused when the model path is {storage}."""
    return scene(*storage.entries, calls=access(op, "../model_evil/twin.bin"), model=Model(given=storage.given), cwd=storage.cwd)


# --- odd components before the climb ----------------------------------------------------------------------------------------

ODD: dict[str, Entry] = {
    "missing": Dir("model/unrelated"),
    "dangling": Link("model/odd", "none/at-all"),
    "file": File("model/odd"),
    "fifo": Fifo("model/odd"),
    "link-to-file": Link("model/odd", "good.bin"),
    "loop": Link("model/odd", "odd"),
}
"""The axis of what ``odd`` is: nothing that a `..` could lead out of."""


@family.hostile("contain.parent", "safe.no-outside-{op}", op=OPS, odd=ODD)
def climb_after_odd_component(op: Op, odd: Entry) -> Draft:
    """A {op} through an odd component ({odd}) and then out is refused, though the system itself might not even follow it."""
    return scene(odd, calls=access(op, "odd/../../outside/secret.bin"), limits=BRISK)


@family.hostile("type.read-missing", odd={word: ODD[word] for word in ("file", "fifo", "link-to-file", "loop")})
def back_after_odd_component(odd: Entry) -> Draft:
    """`..` after something that is not a directory ({odd}) is not the directory that holds it."""
    return scene(odd, calls=read("odd/../none.bin"), limits=BRISK)


# --- up and back in ---------------------------------------------------------------------------------------------------------


@family.benign("contain.accept-inside", op=OPS, depth=DESCENTS, target=("file", "absent"))
def round_trip(op: Op, depth: str, target: str) -> Draft | None:
    """A {op} that goes down {depth} directories and up as many stays inside ({target})."""
    if op == "read" and target == "absent":
        return None
    name = depth + "../" * depth.count("/") + ("good.bin" if target == "file" else "new.bin")
    return scene(Dir("model/a/b/c"), calls=access(op, name))


@family.benign("contain.accept-inside", op=OPS, depth={word: DESCENTS[word] for word in ("1", "2", "3")})
def round_trip_part_of_the_way(op: Op, depth: str) -> Draft:
    """A {op} that climbs from below ({depth} directories) only to the first one stays inside."""
    name = depth + "../" * (depth.count("/") - 1) + "f.bin"
    return scene(Dir("model/a/b/c"), File("model/a/f.bin"), calls=access(op, name))


REENTRIES = {
    "nested": "../model/sub/inner.bin",
    "below-first": "sub/../../model/good.bin",
    "twice": "../model/../model/good.bin",
    "around-outside": "../outside/../model/good.bin",
    "dots": "./.././model/./good.bin",
    "from-the-top": (Piece("../", times=40), Piece("..{root}/model/good.bin")),
}


@family.benign("contain.accept-inside", op=OPS, name=REENTRIES)
def reentry(op: Op, name: Name) -> Draft:
    """A {op} that leaves the model directory and enters it again names a file inside ({name})."""
    return scene(calls=access(op, name))


@family.benign(
    "contain.accept-inside",
    name={"nested": "../model/sub/new.bin", "below": "sub/../../model/new.bin"},
)
def reentry_new_file(name: str) -> Draft:
    """A write that leaves the model directory and enters it again may create a file there ({name})."""
    return scene(calls=write(name))


@family.hostile("contain.parent", "safe.no-outside-{op}", op=OPS)
def reentry_of_another_directory(op: Op) -> Draft:
    """A {op} in a directory of the same name, but at another place, is not back inside."""
    return scene(File("outside/model/good.bin"), calls=access(op, "../outside/model/good.bin"))


@family.benign("contain.accept-inside", op=OPS, name={"missing": "none/../good.bin", "dangling": "dangling/../good.bin"})
def back_from_nowhere(op: Op, name: str) -> Draft:
    """A {op} that enters something missing and comes back is accepted, as the reference helper does ({name})."""
    return scene(Link("model/dangling", "none/at-all"), calls=access(op, name))


# --- the same with each form of the model path ------------------------------------------------------------------------------

INSIDE = {"plain": "good.bin", "nested": "sub/inner.bin", "around": "sub/../good.bin", "reentry": "../model/good.bin"}


@family.benign("contain.model-path-forms", op=OPS, storage=STORAGE, name=INSIDE)
def inside_by_storage(op: Op, storage: Storage, name: str) -> Draft:
    """A {op} of a file inside ({name}) is accepted when the model path is {storage}."""
    return scene(*storage.entries, calls=access(op, name), model=Model(given=storage.given), cwd=storage.cwd)


@family.benign(
    "contain.model-path-forms",
    storage=STORAGE,
    name={"plain": "new.bin", "dot": "./new.bin", "nested": "sub/new.bin", "reentry": "../model/new.bin"},
)
def new_file_by_storage(storage: Storage, name: str) -> Draft:
    """A new file inside ({name}) is created when the model path is {storage}."""
    return scene(*storage.entries, calls=write(name), model=Model(given=storage.given), cwd=storage.cwd)


@family.hostile(
    "contain.parent",
    "contain.model-path-forms",
    op=OPS,
    storage=STORAGE,
    name={"plain": "../outside/secret.bin", "nested": "sub/../../outside/secret.bin", "missing": "none/../../outside/secret.bin"},
)
def outside_by_storage(op: Op, storage: Storage, name: str) -> Draft:
    """A {op} of a file outside ({name}) is refused when the model path is {storage}."""
    return scene(*storage.entries, calls=access(op, name), model=Model(given=storage.given), cwd=storage.cwd)


@family.hostile("contain.parent", "contain.model-path-forms", storage=STORAGE)
def new_file_outside_by_storage(storage: Storage) -> Draft:
    """A new file outside is not created when the model path is {storage}."""
    return scene(*storage.entries, calls=write("../outside/new.bin"), model=Model(given=storage.given), cwd=storage.cwd)


@family.hostile(
    "type.read-missing",
    "contain.model-path-forms",
    storage={word: STORAGE[word] for word in ("absolute", "relative", "from-elsewhere", "linked")},
)
def working_directory_is_not_the_base(storage: Storage) -> Draft:
    """A file that lies in the working directory only is missing beside the model, whose path is {storage}."""
    path = f"{storage.cwd}/elsewhere.bin" if storage.cwd else "elsewhere.bin"
    return scene(*storage.entries, File(path), calls=read("elsewhere.bin"), model=Model(given=storage.given), cwd=storage.cwd)


# --- a model without a directory --------------------------------------------------------------------------------------------


@family.hostile(
    "contain.no-model-path",
    "safe.no-outside-{op}",
    op=OPS,
    name={
        "plain": "secret.bin",
        "dot": "./secret.bin",
        "nested": "deep/secret.bin",
        "parent": "../outside/secret.bin",
        "parent-other": "../model/good.bin",
        "absolute": "{root}/outside/secret.bin",
        "around": "deep/../secret.bin",
    },
)
def model_from_memory(op: Op, name: str) -> Draft:
    """A model from memory has no directory, and the working directory does not stand in for it on {op} ({name})."""
    return scene(File("outside/deep/secret.bin"), calls=access(op, name), model=Model(given=""), cwd="outside")


@family.hostile(
    "contain.no-model-path",
    "safe.no-outside-write",
    name={"plain": "new.bin", "parent": "../model/new.bin", "absolute": "{root}/model/new.bin"},
)
def model_from_memory_new_file(name: str) -> Draft:
    """A model from memory creates no file, be it in the working directory or beside any model ({name})."""
    return scene(calls=write(name), model=Model(given=""), cwd="outside")


@family.hostile("contain.no-model-path", op=OPS, cwd=("model", "outside"))
def model_from_memory_in_model_directory(op: Op, cwd: str) -> Draft:
    """A {op} for a model from memory is refused, also when the working directory ({cwd}) holds a model."""
    return scene(
        File("outside/good.bin"), File("outside/model.onnx"), calls=access(op, "good.bin"), model=Model(given=""), cwd=cwd
    )


# --- trusted callers --------------------------------------------------------------------------------------------------------


@family.benign(
    "trusted.any-path",
    op=OPS,
    name={
        "parent": "../outside/secret.bin",
        "around": "sub/../../outside/secret.bin",
        "deep": "../outside/../outside/secret.bin",
        "inside": "good.bin",
    },
)
def trusted(op: Op, name: str) -> Draft:
    """A {op} by a trusted caller may climb: the name is its own and counts from the working directory ({name})."""
    return scene(calls=access(op, name, source="caller"), cwd="model")


@family.benign(
    "trusted.any-path", name={"parent": "../outside/new.bin", "inside": "sub/new.bin", "sibling": "../model_evil/new.bin"}
)
def trusted_new_file(name: str) -> Draft:
    """A trusted caller may create a file anywhere ({name})."""
    return scene(calls=write(name, source="caller"), cwd="model")


@family.benign("trusted.any-path", op=OPS)
def trusted_ignores_model(op: Op) -> Draft:
    """A {op} by a trusted caller counts from the working directory, not from the model's, and needs no model path."""
    return scene(File("outside/good.bin"), calls=access(op, "good.bin", source="caller"), model=Model(given=""), cwd="outside")
