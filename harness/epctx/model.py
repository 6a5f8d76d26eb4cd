"""Real EPContext models: made with onnx from a case's names, and read back, so that each name has been through real bytes."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from epctx.case import Attribute, Call, Case, Content, Model, Node, name_of, raw, stream
from epctx.protobuf import field

IR_VERSION = 9
"""Read by every ONNX Runtime that knows EPContext callbacks."""

KEPT = 256
"""Models that are remembered: many cases differ in their world alone."""


def model_bytes(case: Case, root: bytes) -> bytes:
    """The serialised model of a case: its own nodes, or one EPContext node for each name of a call that comes from it."""
    if case.model.nodes:
        return _with_nodes(case.model, root)
    return _with_names(tuple([raw(name, root) for call in case.calls if call.source == "model" for name in call.names]))


@functools.lru_cache(maxsize=KEPT)
def names_in(data: bytes) -> tuple[bytes, ...]:
    """The values of ``ep_cache_context`` of the EPContext nodes of a serialised model, in order, each byte for byte."""
    return tuple(_names(ModelProto.FromString(data).graph.node))


def _names(nodes: Iterable[NodeProto]) -> Iterator[bytes]:
    return (a.s for node in nodes if node.op_type == "EPContext" for a in node.attribute if a.name == "ep_cache_context")


@functools.lru_cache(maxsize=KEPT)
def _with_names(names: tuple[bytes, ...]) -> bytes:
    model, slots = _template(len(names))
    for slot, name in zip(slots, names, strict=True):
        slot.s = name
    data: bytes = model.SerializeToString()
    return data


def shared_model(cases: Sequence[Case], root: bytes) -> bytes:
    """The serialised model of several cases: the nodes of ``model_bytes`` of each, in order."""
    made, context, slot = _context_alone()
    nodes = made.graph.node
    del nodes[:]
    for case in cases:
        if case.model.nodes:
            nodes.extend(_nodes(case.model.nodes, root))
            continue
        for call in case.calls:
            for name in call.names if call.source == "model" else ():
                slot.s = raw(name, root)
                nodes.append(context)
    data: bytes = made.SerializeToString()
    return data


def shared_in(data: bytes, cases: Sequence[Case]) -> Iterator[tuple[list[bytes], tuple[Node, ...]]]:
    """For each case of a shared model its names, or if it has nodes of its own those, as they are read back from the bytes."""
    nodes, at = ModelProto.FromString(data).graph.node, _slot_number()
    first = 0
    for case in cases:
        if case.model.nodes:
            own = nodes[first : first + len(case.model.nodes)]
            first += len(own)
            yield list(_names(own)), tuple(map(_node_back, own))
            continue
        end = first + sum([len(call.names) for call in case.calls if call.source == "model"])
        yield [node.attribute[at].s for node in nodes[first:end]], ()
        first = end


@functools.cache
def _context_alone() -> tuple[ModelProto, NodeProto, AttributeProto]:
    """A model without nodes, an EPContext node, and the attribute that holds its name."""
    made = ModelProto()
    made.CopyFrom(_template(1)[0])
    context = made.graph.node.pop()
    return made, context, context.attribute[_slot_number()]


@functools.cache
def _slot_number() -> int:
    """Which of the attributes of an EPContext node holds its name."""
    return [a.name for a in _template(1)[0].graph.node[0].attribute].index("ep_cache_context")


@functools.lru_cache(maxsize=16)
def _template(count: int) -> tuple[ModelProto, list[AttributeProto]]:
    """A model with ``count`` EPContext nodes, and the attributes that hold their names: changing those is cheap."""
    nodes = [
        helper.make_node(
            "EPContext",
            ["x"],
            [f"y{i}"],
            name=f"context{i}",
            domain="com.microsoft",
            main_context=1,
            embed_mode=0,
            ep_cache_context=b"-",
            source="epctx",
        )
        for i in range(count)
    ]
    model = _model(nodes)
    slots = [a for node in model.graph.node for a in node.attribute if a.name == "ep_cache_context"]
    return model, slots


def _with_nodes(model: Model, root: bytes) -> bytes:
    data: bytes = _model(_nodes(model.nodes, root)).SerializeToString()
    return data


def _nodes(nodes: Sequence[Node], root: bytes) -> list[NodeProto]:
    made = []
    for index, node in enumerate(nodes):
        proto = NodeProto(op_type=node.op_type, domain=node.domain, name=f"context{index}", input=["x"], output=[f"y{index}"])
        proto.attribute.extend(attribute(a, root) for a in node.attributes)
        made.append(proto)
    return made


def attribute(attribute: Attribute, root: bytes) -> AttributeProto:
    """An attribute of a node as it is in a model."""
    made = AttributeProto(name=attribute.name)
    if attribute.text is not None:
        made.type, made.s = AttributeProto.STRING, raw(attribute.text, root)
    elif attribute.number is not None:
        made.type, made.i = AttributeProto.INT, attribute.number
    elif attribute.real is not None:
        made.type, made.f = AttributeProto.FLOAT, attribute.real
    elif attribute.texts is not None:
        made.type = AttributeProto.STRINGS
        made.strings.extend(raw(t, root) for t in attribute.texts)
    elif attribute.numbers is not None:
        made.type = AttributeProto.INTS
        made.ints.extend(attribute.numbers)
    return made


def _model(nodes: Sequence[NodeProto]) -> ModelProto:
    shape = [1]
    outputs = [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, shape) for i in range(len(nodes))]
    return _whole(nodes, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)], outputs)


def _whole(nodes: Sequence[NodeProto], inputs: Sequence[ValueInfoProto], outputs: Sequence[ValueInfoProto]) -> ModelProto:
    graph = helper.make_graph(nodes, "epctx", inputs, outputs)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, producer_name="epctx", ir_version=IR_VERSION)


# --- for sessions -----------------------------------------------------------------------------------------------------------


def session_models(case: Case, call: Call, root: bytes) -> list[bytes]:
    """The serialised models that sessions are made of for one call, or that are compiled: one, or one for each share of threads.

    All tensors are bytes: the data of an EPContext node is then what a run with the input 1 gives back, whatever it is.
    """
    calls = [call.of(share) for share in call.threads.shares] if call.threads else [call]
    return [_session_model(case, one, root) for one in calls]


def _session_model(case: Case, call: Call, root: bytes) -> bytes:
    if call.op == "write":
        assert call.name is not None
        assert call.payload is not None
        return _source(raw(call.name, root), call.payload)
    if call.op == "load" or call.name is None:
        return _session_nodes(case.model, root)
    return _session_name(raw(call.name, root))


@functools.lru_cache(maxsize=KEPT)
def _session_name(name: bytes) -> bytes:
    model, slots = _session_template()
    slots[0].s = name
    data: bytes = model.SerializeToString()
    return data


@functools.cache
def _session_template() -> tuple[ModelProto, list[AttributeProto]]:
    model = _bytes_model([_context()])
    return model, [a for a in model.graph.node[0].attribute if a.name == "ep_cache_context"]


def _context() -> NodeProto:
    return helper.make_node(
        "EPContext",
        ["x"],
        ["y0"],
        name="context0",
        domain="com.microsoft",
        main_context=1,
        embed_mode=0,
        ep_cache_context=b"-",
        source="epctx",
    )


def _session_nodes(model: Model, root: bytes) -> bytes:
    data: bytes = _bytes_model(_nodes(model.nodes, root)).SerializeToString()
    return data


def _source(name: bytes, payload: Content) -> bytes:
    """A product with the payload, in a node of that name.

    A node's name is text to onnx, which refuses other bytes; ONNX Runtime takes them. So the node is added to the bytes of the
    model: a message that follows another one adds to it.
    """
    model = _bytes_model([], outputs=1)
    factors = stream(payload.key, payload.size)
    model.graph.initializer.append(
        TensorProto(name="factors", data_type=TensorProto.UINT8, dims=[payload.size], raw_data=factors)
    )
    node = helper.make_node("Mul", ["x", "factors"], ["y0"]).SerializeToString() + field(NodeProto, "name", name)
    data: bytes = model.SerializeToString()
    return data + field(ModelProto, "graph", field(GraphProto, "node", node))


def _bytes_model(nodes: Sequence[NodeProto], outputs: int | None = None) -> ModelProto:
    """A model with one output for each node, unless told otherwise."""
    count = len(nodes) if outputs is None else outputs
    return _whole(nodes, [_value("x", [1])], [_value(f"y{i}", [None]) for i in range(count)])


def _value(name: str, shape: Sequence[int | None]) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.UINT8, shape)


# --- back from the bytes ----------------------------------------------------------------------------------------------------


def nodes_in(data: bytes) -> tuple[Node, ...]:
    """The nodes of a serialised model with their attributes, as they are read back from its bytes."""
    return tuple(map(_node_back, ModelProto.FromString(data).graph.node))


def _node_back(node: NodeProto) -> Node:
    return Node(tuple(map(_read_back, node.attribute)), node.domain, node.op_type)


def _read_back(attribute: AttributeProto) -> Attribute:
    kind, name = attribute.type, attribute.name
    if kind == AttributeProto.STRING:
        return Attribute(name, text=name_of(attribute.s))
    if kind == AttributeProto.INT:
        return Attribute(name, number=attribute.i)
    if kind == AttributeProto.FLOAT:
        return Attribute(name, real=attribute.f)
    if kind == AttributeProto.STRINGS:
        return Attribute(name, texts=tuple(map(name_of, attribute.strings)))
    if kind == AttributeProto.INTS:
        return Attribute(name, numbers=tuple(attribute.ints))
    return Attribute(name)
