"""Models for execution providers that nobody here wrote.

What a provider takes for good data is its own affair, so it compiles tiny models itself, which differ in a constant. Each gives
a *product*: a blob, and the result of a run, which tells which blob was loaded and executed. The EPContext models of cases are
then made in the likeness of the one that the provider wrote, the *template*.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper

from epctx.case import Attribute, Call, Case, Node, Struct, raw
from epctx.model import IR_VERSION, attribute

NAME = "ep_cache_context"
"""The attribute that holds the name."""
BUNDLED = (Attribute("source", text="epctx"), Attribute("partition_name", text="epctx_0"))
"""What nodes of cases say to be those of the bundled provider."""
SHAPE = 4

Computes: TypeAlias = Literal["matmul", "mul"]
"""What the tiny models compute: a MatMul and a Relu, or one Mul."""


class Product(Struct, frozen=True):
    """Data that a provider compiled, and what a run of it with ones gives."""

    blob: bytes
    result: bytes


class Products(Struct, frozen=True):
    """What a provider made: the serialised ``template`` with one EPContext node, and ``products`` that differ in their results.

    Without products its good data cannot be loaded and run here: ``why`` says what came in the way.
    """

    template: bytes
    products: tuple[Product, ...] = ()
    why: str = ""


class NoTemplate(Exception):
    """What a provider compiled is not one EPContext node with data in a file of its own: what it is, in words."""


def source_model(computes: Computes, number: int) -> bytes:
    """A model to be compiled, of floats; its constants, and so its result, differ from those of any other number."""
    constant, two = float(number + 1), computes == "matmul"
    weights = helper.make_tensor("w", TensorProto.FLOAT, [SHAPE, SHAPE] if two else [SHAPE], [constant] * SHAPE ** (1 + two))
    nodes = [helper.make_node("Mul", ["x", "w"], ["y"], name="mul")]
    if two:
        nodes = [
            helper.make_node("MatMul", ["x", "w"], ["m"], name="matmul"),
            helper.make_node("Relu", ["m"], ["y"], name="relu"),
        ]
    shape = [1, SHAPE] if two else [SHAPE]
    data: bytes = _model(nodes, shape, weights).SerializeToString()
    return data


def template_in(compiled: bytes, keep: Sequence[str]) -> tuple[bytes, str]:
    """A template in the likeness of a model that a provider compiled, and the name of the file with its data.

    Of the node it has the attributes ``keep``, if it has them. NoTemplate if there is no such node, or another one beside it.
    """
    made = ModelProto.FromString(compiled)
    nodes = made.graph.node
    if [n.op_type for n in nodes] != ["EPContext"]:
        raise NoTemplate(f"the compiled model has the nodes {', '.join(n.op_type for n in nodes) or 'none'}")
    given = {a.name: a for a in nodes[0].attribute}
    name = given[NAME].s.decode("utf-8", "surrogateescape") if NAME in given else ""
    if not name or ("embed_mode" in given and given["embed_mode"].i):
        raise NoTemplate("the compiled model has its data in itself")
    node = _context({key: helper.get_attribute_value(given[key]) for key in keep if key in given})
    node.name, node.input[:], node.output[:] = nodes[0].name, nodes[0].input, nodes[0].output
    model = _model([node], [])
    model.graph.ClearField("input")
    model.graph.ClearField("output")
    model.graph.input.extend(made.graph.input)
    model.graph.output.extend(made.graph.output)
    data: bytes = model.SerializeToString()
    return data, name


def template_of(computes: Computes, attributes: dict[str, Any]) -> bytes:
    """A template for a provider that cannot compile here: its node has these attributes, and the inputs and outputs of what
    would be compiled."""
    shape = [1, SHAPE] if computes == "matmul" else [SHAPE]
    data: bytes = _model([_context(attributes)], shape).SerializeToString()
    return data


def product_models(case: Case, call: Call, root: bytes, template: bytes) -> list[bytes]:
    """The serialised model that a session is made of for one call: the template with the call's name, or with the case's node.

    What a node of a case says as one of the bundled provider it says here as one of the provider that made the template.
    """
    if call.op == "load":
        return [_with_node(template, case.model.nodes[0], root)]
    assert call.name is not None
    model, slot = _opened(template)
    slot.s = raw(call.name, root)
    data: bytes = model.SerializeToString()
    return [data]


def _with_node(template: bytes, node: Node, root: bytes) -> bytes:
    model = ModelProto.FromString(template)
    made = model.graph.node[0]
    theirs = {a.name: a for a in made.attribute}
    attributes = [theirs[a.name] if a in BUNDLED and a.name in theirs else attribute(a, root) for a in node.attributes]
    known = {a.name for a in (*BUNDLED, *node.attributes)} | {NAME, "main_context", "embed_mode"}
    attributes += [a for name, a in theirs.items() if name not in known]
    kept = [AttributeProto.FromString(a.SerializeToString()) for a in attributes]
    made.ClearField("attribute")
    made.attribute.extend(kept)
    data: bytes = model.SerializeToString()
    return data


@functools.lru_cache(maxsize=4)
def _opened(template: bytes) -> tuple[ModelProto, AttributeProto]:
    """A template, and the attribute that holds its name: changing that is cheap."""
    model = ModelProto.FromString(template)
    return model, next(a for a in model.graph.node[0].attribute if a.name == NAME)


def _context(attributes: dict[str, Any]) -> NodeProto:
    given = {"main_context": 1, **attributes, "embed_mode": 0, NAME: b"-"}
    return helper.make_node("EPContext", ["x"], ["y"], name="context", domain="com.microsoft", **given)


def _model(nodes: Sequence[NodeProto], shape: Sequence[int], *constants: TensorProto) -> ModelProto:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy")
    graph = helper.make_graph(nodes, "epctx", [x], [y], initializer=list(constants))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, producer_name="epctx", ir_version=IR_VERSION)
