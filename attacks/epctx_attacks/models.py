"""What the model says: EPContext nodes with odd, missing and doubled attributes, read by the walk of a loader over them."""

from __future__ import annotations

from epctx.attack import Draft, Family, load, node, scene
from epctx.case import Attribute, Callback, Content, Entry, File, Link, Model, Name, Node, Piece

family = Family("models", "EPContext nodes that are malformed, embedded, shared, foreign, or whose attributes hold odd bytes.")

INSIDE, OUTSIDE = "good.bin", "../outside/secret.bin"
CONTEXTS = {"inside": INSIDE, "outside": OUTSIDE}
"""The axis of what a malformed node names: a loader that goes on all the same shall at least not leave the model directory."""


def model(*nodes: Node, given: Name = "{root}/model/model.onnx") -> Model:
    """A model with these nodes."""
    return Model(given=given, nodes=nodes)


# --- well-formed ------------------------------------------------------------------------------------------------------------


@family.benign(
    "contain.accept-inside",
    name={"plain": "good.bin", "nested": "sub/inner.bin", "dot": "./good.bin", "reentry": "../model/good.bin"},
)
def one_node(name: str) -> Draft:
    """A node that names a file inside is loaded ({name})."""
    return scene(calls=load(), model=model(node(name)))


@family.benign(
    "contain.accept-inside",
    without={"source": ("source",), "partition-name": ("partition_name",), "both": ("source", "partition_name")},
)
def optional_attributes(without: tuple[str, ...]) -> Draft:
    """A node without what is optional ({without}) is loaded."""
    return scene(calls=load(), model=model(node(INSIDE, without=without)))


@family.benign("contain.accept-inside", "model.malformed-node", count={"2": 2, "16": 16, "60": 60})
def shared_name(count: int) -> Draft:
    """{count} nodes that share a name are loaded."""
    return scene(calls=load(), model=model(*[node(INSIDE)] * count))


@family.benign("model.malformed-node", secondary={"same": INSIDE, "outside": OUTSIDE, "empty": "", "missing": "none.bin"})
def secondary_node(secondary: str) -> Draft:
    """A node that is not the main one uses the main one's data, whatever it names itself ({secondary})."""
    return scene(calls=load(), model=model(node(INSIDE), node(secondary, Attribute("main_context", number=0))))


@family.benign(
    "model.malformed-node",
    extra={
        "text": Attribute("notes", text="../outside/secret.bin"),
        "number": Attribute("max_size", number=-1),
        "file": Attribute("onnx_model_filename", text="../outside/secret.bin"),
        "unknown": Attribute("ep_cache_context_2", text="../outside/secret.bin"),
        "case": Attribute("EP_CACHE_CONTEXT", text="../outside/secret.bin"),
        "space": Attribute("ep_cache_context ", text="../outside/secret.bin"),
        "list": Attribute("paths", texts=("../outside/secret.bin",)),
    },
)
def extra_attribute(extra: Attribute) -> Draft:
    """An attribute that says nothing about where the data lies ({extra}) does not change what is read."""
    return scene(calls=load(), model=model(node(INSIDE, extra)))


@family.benign(
    "model.malformed-node",
    which={
        "domain": Node((Attribute("ep_cache_context", text=OUTSIDE),), domain="com.example"),
        "default-domain": Node((Attribute("ep_cache_context", text=OUTSIDE),), domain=""),
        "operator": Node((Attribute("ep_cache_context", text=OUTSIDE),), op_type="EPContext2"),
        "operator-case": Node((Attribute("ep_cache_context", text=OUTSIDE),), op_type="epcontext"),
    },
)
def other_operator(which: Node) -> Draft:
    """A node that is not an EPContext node of ONNX Runtime ({which}) is left alone, though it has such an attribute."""
    return scene(calls=load(), model=model(node(INSIDE), which))


# --- embedded ---------------------------------------------------------------------------------------------------------------


@family.benign(
    "cb.embed-bypasses",
    "safe.no-outside-read",
    context={
        "relative": OUTSIDE,
        "absolute": "{root}/outside/secret.bin",
        "inside": INSIDE,
        "bytes": (Piece(hex="00ff80", times=40),),
        "empty": "",
        "large": (Piece("x", times=70_000),),
    },
)
def embedded(context: Name) -> Draft:
    """The bytes of an embedded context are the data, and no path, whatever they look like ({context})."""
    return scene(calls=load(), model=model(node(context, Attribute("embed_mode", number=1))))


@family.benign("cb.embed-bypasses", "safe.no-outside-read")
def embedded_is_the_default() -> Draft:
    """A context without embed_mode is embedded, by the operator's default."""
    return scene(calls=load(), model=model(node(OUTSIDE, without=("embed_mode",))))


@family.benign("cb.embed-bypasses", "contain.accept-inside")
def embedded_beside_external() -> Draft:
    """A path in an embedded context stays bytes beside a node with external data."""
    return scene(calls=load(), model=model(node(OUTSIDE, Attribute("embed_mode", number=1)), node(INSIDE)))


# --- malformed --------------------------------------------------------------------------------------------------------------

MALFORMED = {
    "embed-mode-2": (Attribute("embed_mode", number=2),),
    "embed-mode-negative": (Attribute("embed_mode", number=-1),),
    "embed-mode-huge": (Attribute("embed_mode", number=1 << 32),),
    "embed-mode-text": (Attribute("embed_mode", text="0"),),
    "embed-mode-real": (Attribute("embed_mode", real=0.0),),
    "embed-mode-list": (Attribute("embed_mode", numbers=(0,)),),
    "embed-mode-empty": (Attribute("embed_mode"),),
    "embed-mode-doubled": (Attribute("embed_mode", number=0), Attribute("embed_mode", number=1)),
    "embed-mode-doubled-turned": (Attribute("embed_mode", number=1), Attribute("embed_mode", number=0)),
    "main-context-2": (Attribute("main_context", number=2),),
    "main-context-negative": (Attribute("main_context", number=-1),),
    "main-context-text": (Attribute("main_context", text="1"),),
    "main-context-0-alone": (Attribute("main_context", number=0),),
    "source-foreign": (Attribute("source", text="another"),),
    "source-huge": (Attribute("source", text=(Piece("s", times=100_000),)),),
    "source-number": (Attribute("source", number=1),),
    "source-undecodable": (Attribute("source", text=(Piece(hex="ff"),)),),
    "source-empty": (Attribute("source", text=""),),
    "partition-name-number": (Attribute("partition_name", number=1),),
}
"""The axis of what is wrong with a node."""


@family.hostile("model.malformed-node", "safe.no-crash", fault=MALFORMED, context=CONTEXTS)
def malformed(fault: tuple[Attribute, ...], context: str) -> Draft:
    """A node with a fault ({fault}) whose context is {context} gives an error or is left alone, and nothing outside is read."""
    return scene(calls=load(), model=model(node(context, *fault)))


@family.hostile(
    "model.malformed-node",
    "safe.no-crash",
    context={
        "number": (Attribute("ep_cache_context", number=7),),
        "real": (Attribute("ep_cache_context", real=0.5),),
        "list": (Attribute("ep_cache_context", texts=(INSIDE, OUTSIDE)),),
        "list-of-one": (Attribute("ep_cache_context", texts=(OUTSIDE,)),),
        "empty-list": (Attribute("ep_cache_context", texts=()),),
        "numbers": (Attribute("ep_cache_context", numbers=tuple(OUTSIDE.encode())),),
        "nothing": (Attribute("ep_cache_context"),),
        "doubled": (Attribute("ep_cache_context", text=INSIDE), Attribute("ep_cache_context", text=OUTSIDE)),
        "doubled-turned": (Attribute("ep_cache_context", text=OUTSIDE), Attribute("ep_cache_context", text=INSIDE)),
        "doubled-types": (Attribute("ep_cache_context", number=1), Attribute("ep_cache_context", text=OUTSIDE)),
    },
)
def malformed_context(context: tuple[Attribute, ...]) -> Draft:
    """A context that is not one string ({context}) gives an error or is left alone, never a crash or a read outside."""
    return scene(calls=load(), model=model(node("", *context, without=("ep_cache_context",))))


@family.hostile(
    "model.malformed-node",
    "safe.no-crash",
    without={
        "everything": ("main_context", "embed_mode", "ep_cache_context", "source", "partition_name"),
        "context": ("ep_cache_context",),
        "context-and-mode": ("ep_cache_context", "embed_mode"),
    },
)
def missing_attributes(without: tuple[str, ...]) -> Draft:
    """A node without {without} gives an error or is left alone."""
    return scene(calls=load(), model=model(node(OUTSIDE, without=without)))


@family.hostile(
    "model.malformed-node", second={"inside": "sub/inner.bin", "empty": "", "missing": "none.bin"}, order=("first", "last")
)
def second_main_node(second: str, order: str) -> Draft:
    """Two main nodes that name different data (the other: {second}, {order}) are loaded both or refused."""
    nodes = (node(second), node(INSIDE)) if order == "first" else (node(INSIDE), node(second))
    return scene(calls=load(), model=model(*nodes))


@family.hostile("contain.parent", "safe.no-outside-read", order=("first", "last"), count={"1": 1, "20": 20})
def one_hostile_among_good(order: str, count: int) -> Draft:
    """A node that names a file outside is refused {order} among {count} good ones."""
    good, hostile = [node(INSIDE)] * count, node(OUTSIDE)
    return scene(calls=load(), model=model(*((hostile, *good) if order == "first" else (*good, hostile))))


# --- the attribute's bytes --------------------------------------------------------------------------------------------------

BYTES: dict[str, Name] = {
    "empty": "",
    "parent": OUTSIDE,
    "absolute": "{root}/outside/secret.bin",
    "directory": "sub",
    "link": "link",
    "missing": "none.bin",
    "nul-after": f"{OUTSIDE}\0.bin",
    "nul-before": f"good.bin\0{OUTSIDE}",
    "64-kib": (Piece("a", times=1 << 16),),
    "64-kib-climbing": (Piece("../", times=22_000), Piece("..{root}/outside/secret.bin")),
    "64-kib-of-dots": (Piece("./", times=1 << 15), Piece("good.bin")),
    "1-mib": (Piece("a/", times=1 << 19),),
    "undecodable": (Piece(hex="ff"), Piece("good.bin")),
    "overlong": (Piece(hex="c0aec0ae"), Piece("/outside/secret.bin")),
    "newline": "good.bin\n",
}
"""The axis of odd attributes."""


@family.hostile("model.attribute-bytes", "safe.no-outside-read", context=BYTES)
def attribute_bytes(context: Name) -> Draft:
    """A context of odd bytes ({context}) is taken as it stands or refused."""
    return scene(Link("model/link", OUTSIDE), calls=load(), model=model(node(context)))


@family.hostile(
    "model.attribute-bytes",
    name={"byte": (Piece("a"), Piece(hex="ff"), Piece(".bin")), "surrogate": (Piece("a"), Piece(hex="eda080"), Piece(".bin"))},
)
def attribute_bytes_exist(name: tuple[Piece, ...]) -> Draft:
    """A file whose name is not UTF-8 is read by just those bytes or refused ({name})."""
    return scene(File((Piece("model/"), *name)), calls=load(), model=model(node(name)))


@family.benign(
    "contain.accept-inside",
    name={"utf-8": "größe-模型.bin", "control": "a\x01b.bin", "space": " good.bin ", "long": (Piece("n", times=255),)},
)
def attribute_bytes_of_usual_files(name: Name) -> Draft:
    """A context that names a file inside by unusual bytes ({name}) is taken as it stands."""
    path = f"model/{name}" if isinstance(name, str) else (Piece("model/"), *name)
    entry: Entry = File(path)
    return scene(entry, calls=load(), model=model(node(name)))


# --- where the model came from ----------------------------------------------------------------------------------------------


@family.hostile("contain.no-model-path", "safe.no-outside-read", name={"plain": "secret.bin", "parent": OUTSIDE})
def from_memory(name: str) -> Draft:
    """The nodes of a model from memory name no file ({name})."""
    return scene(calls=load(), model=model(node(name), given=""), cwd="outside")


@family.benign(
    "contain.no-model-path",
    "name.opaque-to-callback",
    name={"plain": "secret.bin", "parent": OUTSIDE, "absolute": "{root}/outside/secret.bin"},
)
def from_memory_with_callback(name: str) -> Draft:
    """The nodes of a model from memory are answered by the application's callback ({name})."""
    return scene(calls=load(callback=Callback(Content("answer"))), model=model(node(name), given=""), cwd="outside")


@family.benign("contain.model-path-forms", given={"bare": "model.onnx", "relative": "../model/model.onnx"})
def by_storage(given: str) -> Draft:
    """The nodes of a model are loaded when its path is {given}."""
    return scene(calls=load(), model=model(node(INSIDE), given=given), cwd="model" if given == "model.onnx" else "outside")
