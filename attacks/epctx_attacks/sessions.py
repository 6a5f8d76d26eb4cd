"""Whole sessions: models that an execution provider compiles, and that are then loaded and run."""

from __future__ import annotations

from epctx.attack import Draft, Family, load, node, scene, write
from epctx.case import Attribute, Call, Callback, Content, Model, Name

family = Family("sessions", "Models that are compiled, loaded and run, with data in the model, in files, and with callbacks.")

TAKE = Callback()
SIZES = {"1": 1, "96": 96, "4097": 4097, "1048576": 1 << 20}
GIVEN: dict[str, Name] = {
    "absolute": "{root}/model/model.onnx",
    "relative": "model/model.onnx",
    "around": "model/sub/../model.onnx",
    "memory": "",
}
"""The axis of how ONNX Runtime is given the model."""


def through_callbacks(name: Name, payload: Content) -> Call:
    """A compilation whose data goes to a callback, and comes back from another one when the model is loaded."""
    return Call("write", name, payload=payload, write_callback=TAKE, read_callback=Callback(payload), runs=True)


@family.benign("cb.embed-bypasses", size=SIZES, given=GIVEN)
def embedded(size: int, given: Name) -> Draft:
    """A model with {size} bytes of data in itself gives what its source gave, and nothing is written (given as {given})."""
    call = write("data.bin", payload=Content("kernel", size), embeds=True, runs=True)
    return scene(calls=call, model=Model(given=given))


@family.benign("cb.embed-bypasses", given=GIVEN)
def embedded_with_callbacks(given: Name) -> Draft:
    """Callbacks are not called for data in the model (given as {given})."""
    payload = Content("kernel")
    call = Call(
        "write", "data.bin", payload=payload, write_callback=TAKE, read_callback=Callback(payload), embeds=True, runs=True
    )
    return scene(calls=call, model=Model(given=given))


@family.benign("contain.accept-inside", "size.exact", size=SIZES, given={word: GIVEN[word] for word in ("absolute", "relative")})
def in_files(size: int, given: Name) -> Draft:
    """A model with {size} bytes of data in a file gives what its source gave (given as {given})."""
    return scene(calls=write("data.bin", payload=Content("kernel", size), runs=True), model=Model(given=given))


@family.benign("chunk.single-write", "plain.no-plaintext", size=SIZES, given=GIVEN)
def with_callbacks(size: int, given: Name) -> Draft:
    """A model with {size} bytes of data behind callbacks gives what its source gave (given as {given})."""
    return scene(calls=through_callbacks("data.bin", Content("kernel", size)), model=Model(given=given))


@family.benign(
    "cb.embed-bypasses", count={"2": 2, "16": 16, "60": 60}, given={word: GIVEN[word] for word in ("absolute", "memory")}
)
def shared_name(count: int, given: Name) -> Draft:
    """{count} contexts that share a name are one read (given as {given})."""
    nodes = (*[node("shared.bin")] * count, node("embedded", Attribute("embed_mode", number=1)))
    return scene(calls=load(callback=Callback(Content("kernel"))), model=Model(given=given, nodes=nodes))
