"""What users and maintainers reported in public, put into the terms of this project."""

from __future__ import annotations

from epctx.attack import OPS, Draft, Family, Op, access, load, node, read, scene, write
from epctx.case import Content, Dir, Entry, File, Link, Model

family = Family("field", "Layouts and paths from public reports: content stores, baked-in directories, output paths.")

# --- content stores ---------------------------------------------------------------------------------------------------------

BLOBS: tuple[Entry, ...] = (File("cache/blobs/data"), File("cache/blobs/engine.bin"))
MODEL = Model(path="cache/blobs/model", given="{root}/cache/snapshots/main/model.onnx")
MODEL_LINK = Link("cache/snapshots/main/model.onnx", "../../blobs/model")


@family.hostile(
    "contain.model-link-cache",
    op=OPS,
    layout={"flat": ("engine.bin", "../../blobs/data"), "nested": ("ctx/engine.bin", "../../../blobs/data")},
)
def linked_model_and_linked_data(op: Op, layout: tuple[str, str]) -> Draft:
    """A {op} in a snapshot whose model and data are links into a content store is what the profile says it is ({layout})."""
    name, text = layout
    return scene(*BLOBS, MODEL_LINK, Link(f"cache/snapshots/main/{name}", text), calls=access(op, name), model=MODEL)


@family.benign("contain.model-path-forms", op=OPS, layout={"flat": "engine.bin", "nested": "ctx/engine.bin"})
def linked_model_and_plain_data(op: Op, layout: str) -> Draft:
    """A {op} of data that lies as a file beside a linked model is accepted; the blob of the same name is not taken ({layout})."""
    return scene(*BLOBS, MODEL_LINK, File(f"cache/snapshots/main/{layout}"), calls=access(op, layout), model=MODEL)


@family.hostile("contain.symlink-file", op=OPS)
def plain_model_and_linked_data(op: Op) -> Draft:
    """A {op} of data that is a link into a content store is refused beside a model that is not one itself."""
    model = Model(path="cache/snapshots/main/model.onnx", given="{root}/cache/snapshots/main/model.onnx")
    return scene(*BLOBS, Link("cache/snapshots/main/engine.bin", "../../blobs/data"), calls=access(op, "engine.bin"), model=model)


@family.hostile("type.write-symlink-leaf", "contain.model-link-cache")
def linked_model_new_data() -> Draft:
    """A write through a dangling link into the content store makes no new blob, whatever the profile says about links."""
    link = Link("cache/snapshots/main/engine.bin", "../../blobs/none")
    return scene(*BLOBS, MODEL_LINK, link, calls=write("engine.bin"), model=MODEL)


@family.hostile("contain.parent", op=OPS)
def linked_model_out_of_cache(op: Op) -> Draft:
    """A {op} out of both the snapshot and the blobs is refused, whatever the profile says about links."""
    return scene(*BLOBS, MODEL_LINK, File("cache/secret.bin"), calls=access(op, "../../secret.bin"), model=MODEL)


@family.benign("contain.accept-inner-link", op=OPS)
def store_inside(op: Op) -> Draft:
    """A {op} of data that is a link into a store below the model directory is accepted."""
    return scene(File("model/.store/ab12"), Link("model/engine.bin", ".store/ab12"), calls=access(op, "engine.bin"))


# --- compiled here, loaded there --------------------------------------------------------------------------------------------

PLACES = {
    "same-directory": ("model.onnx", "model"),
    "above": ("model/model.onnx", ""),
    "beside": ("../model/model.onnx", "outside"),
    "below": ("../model.onnx", "model/sub"),
    "anywhere": ("{root}/model/model.onnx", "outside"),
}
"""The axis of how the model was given and from which working directory."""


@family.benign("contain.model-path-forms", place=PLACES)
def written_then_loaded(place: tuple[str, str]) -> Draft:
    """What was written beside a model is found again by the name that was written ({place})."""
    given, cwd = place
    calls = (write("engine.bin", payload=Content("engine", 5000)), read("engine.bin"))
    return scene(calls=calls, model=Model(given=given), cwd=cwd)


@family.benign("contain.model-path-forms", op=OPS, place=PLACES)
def directory_is_not_baked_in(op: Op, place: tuple[str, str]) -> Draft:
    """A {op} counts the name from the model directory once, not from `dir/dir` or the working directory ({place})."""
    given, cwd = place
    decoys = (File("model/model/engine.bin"), File("outside/engine.bin"), File("engine.bin"), File("model/sub/engine.bin"))
    return scene(*decoys, File("model/engine.bin"), calls=access(op, "engine.bin"), model=Model(given=given), cwd=cwd)


@family.hostile(
    "type.read-missing", "contain.model-path-forms", place={word: PLACES[word] for word in ("above", "beside", "anywhere")}
)
def baked_in_name_is_missing(place: tuple[str, str]) -> Draft:
    """A name into which the directory was baked is missing: it is not tried from the working directory ({place})."""
    given, cwd = place
    return scene(
        File("outside/model/engine.bin"),
        File("model/engine.bin"),
        calls=read("model/engine.bin"),
        model=Model(given=given),
        cwd=cwd,
    )


@family.benign("contain.model-path-forms", op=OPS)
def directory_inside_of_the_same_name(op: Op) -> Draft:
    """A {op} of `model/engine.bin` is accepted if the model directory holds such a directory."""
    return scene(File("model/model/engine.bin"), calls=access(op, "model/engine.bin"), model=Model(given="model/model.onnx"))


# --- names ------------------------------------------------------------------------------------------------------------------


@family.hostile("contain.absolute", op=OPS, given={"absolute": "{root}/model/model.onnx", "bare": "model.onnx"})
def absolute_inside(op: Op, given: str) -> Draft:
    """A {op} of an absolute name inside the model directory is refused when the model path is {given}."""
    return scene(calls=access(op, "{root}/model/good.bin"), model=Model(given=given), cwd="model")


@family.hostile(
    "contain.parent",
    "contain.model-path-forms",
    op=OPS,
    name={"escape": "none/../../outside/secret.bin", "absolute-looking": "none/../..{root}/outside/secret.bin"},
)
def missing_first_component_out(op: Op, name: str) -> Draft:
    """A {op} is refused with a bare model path though its first component does not exist ({name})."""
    return scene(calls=access(op, name), model=Model(given="model.onnx"), cwd="model")


@family.benign("contain.model-path-forms", op=OPS, target=("existing", "new"))
def missing_first_component_back(op: Op, target: str) -> Draft | None:
    """A {op} with a bare model path is accepted though its first component does not exist ({target})."""
    if (op, target) == ("read", "new"):
        return None
    name = "none/../good.bin" if target == "existing" else "none/../new.bin"
    return scene(calls=access(op, name), model=Model(given="model.onnx"), cwd="model")


@family.hostile(
    "name.no-expansion",
    name={
        "once": "..%2foutside%2fsecret.bin",
        "twice": "..%252foutside%252fsecret.bin",
        "thrice": "..%25252foutside%25252fsecret.bin",
    },
)
def percent_encoded(name: str) -> Draft:
    """A name is not decoded, however often it was encoded ({name})."""
    return scene(calls=load(), model=Model(nodes=(node(name),)))


@family.hostile(
    "contain.sibling-prefix", op=OPS, given={"absolute": "{root}/models/v1/model.onnx", "relative": "models/v1/model.onnx"}
)
def version_with_prefix(op: Op, given: str) -> Draft:
    """A {op} in version `v10` is refused beside a model in `v1` ({given})."""
    model = Model(path="models/v1/model.onnx", given=given)
    return scene(File("models/v10/engine.bin"), calls=access(op, "../v10/engine.bin"), model=model)


@family.hostile("contain.symlink-dir", op=OPS)
def normalised_but_not_resolved(op: Op) -> Draft:
    """A {op} of a path that looks inside once it is normalised is refused if links take it out."""
    links = (Dir("model/a"), Link("model/a/link", "../../outside"))
    return scene(*links, File("model/secret.bin"), calls=access(op, "a/../a/link/../a/../outside/secret.bin"))


# --- output paths -----------------------------------------------------------------------------------------------------------


@family.hostile("type.write-regular", name={"directory": "sub", "slash": "sub/", "dot": "."}, fallback=("same", "separate"))
def output_is_a_directory(name: str, fallback: str) -> Draft:
    """An output path that is a directory is refused ({name}, {fallback} fallback name)."""
    return scene(calls=write(name) if fallback == "same" else write("engine", fallback=name))


@family.benign("type.write-replaces", size={"shorter": 10, "same": 96, "longer": 5000})
def output_exists(size: int) -> Draft:
    """An output that exists from an earlier run is replaced ({size})."""
    return scene(calls=write("good.bin", payload=Content("second run", size)))


@family.hostile("type.write-replaces", name={"plain": "model.onnx", "dot": "./model.onnx", "reentry": "../model/model.onnx"})
def output_is_the_model(name: str) -> Draft:
    """An output path that is the input model is refused or replaced, but not half of either ({name})."""
    return scene(calls=write(name))


@family.benign("contain.accept-inside")
def output_beside_many() -> Draft:
    """Outputs of several subgraphs do not disturb each other."""
    first, second = Content("first", 5000), Content("second", 200)
    calls = (write("ctx_0.bin", payload=first), write("ctx_1.bin", payload=second), read("ctx_0.bin"), read("ctx_1.bin"))
    return scene(calls=calls)
