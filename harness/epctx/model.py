"""Real EPContext models: made with onnx from a case's names, and read back, so that each name has been through real bytes."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper

from epctx.case import Attribute, Case, Model, Node, name_of, raw

IR_VERSION = 9
"""Read by every ONNX Runtime that knows EPContext callbacks."""

KEPT = 256
"""Models that are remembered: many cases differ in their world alone."""


def model_bytes(case: Case, root: bytes) -> bytes:
    """The serialised model of a case: its own nodes, or one EPContext node for each call whose name comes from it."""
    if case.model.nodes:
        return _with_nodes(case.model, root)
    return _with_names(tuple(raw(c.name, root) for c in case.calls if c.source == "model" and c.name is not None))


@functools.lru_cache(maxsize=KEPT)
def names_in(data: bytes) -> tuple[bytes, ...]:
    """The values of ``ep_cache_context`` of the EPContext nodes of a serialised model, in order, each byte for byte."""
    model = ModelProto.FromString(data)
    return tuple(
        a.s for node in model.graph.node if node.op_type == "EPContext" for a in node.attribute if a.name == "ep_cache_context"
    )


@functools.lru_cache(maxsize=KEPT)
def _with_names(names: tuple[bytes, ...]) -> bytes:
    model, slots = _template(len(names))
    for slot, name in zip(slots, names, strict=True):
        slot.s = name
    data: bytes = model.SerializeToString()
    return data


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
    nodes = []
    for index, node in enumerate(model.nodes):
        made = NodeProto(op_type=node.op_type, domain=node.domain, name=f"context{index}", input=["x"], output=[f"y{index}"])
        made.attribute.extend(_attribute(a, root) for a in node.attributes)
        nodes.append(made)
    data: bytes = _model(nodes).SerializeToString()
    return data


def _attribute(attribute: Attribute, root: bytes) -> AttributeProto:
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
    graph = helper.make_graph(nodes, "epctx", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)], outputs)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, producer_name="epctx", ir_version=IR_VERSION)


def nodes_in(data: bytes) -> tuple[Node, ...]:
    """The nodes of a serialised model with their attributes, as they are read back from its bytes."""
    model = ModelProto.FromString(data)
    return tuple(Node(tuple(map(_read_back, n.attribute)), n.domain, n.op_type) for n in model.graph.node)


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
