"""The models for execution providers that nobody here wrote: made in the likeness of what such a provider compiled."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import AttributeProto, ModelProto, helper

from epctx.attack import node
from epctx.case import Attribute, Call, Case, Model, Piece, World
from epctx.product import NoTemplate, product_models, source_model, template_in, template_of


def compiled(nodes: int = 1, **attributes: Any) -> bytes:
    """What a provider might have written: EPContext nodes in a graph with names and shapes of its own."""
    given = {"embed_mode": 0, "main_context": 1, "ep_cache_context": b"a.bin", "source": b"X", "extra": b"secret", **attributes}
    made = [helper.make_node("EPContext", ["in"], [f"out{n}"], name="own", domain="com.microsoft", **given) for n in range(nodes)]
    values = [
        helper.make_tensor_value_info("in", 1, [2, 7]),
        *(helper.make_tensor_value_info(f"out{n}", 1, [3]) for n in range(nodes)),
    ]
    graph = helper.make_graph(made, "theirs", values[:1], values[1:])
    data: bytes = helper.make_model(graph, ir_version=14).SerializeToString()
    return data


def attributes(model: ModelProto) -> dict[str, AttributeProto]:
    return {a.name: a for a in model.graph.node[0].attribute}


def test_a_template_has_the_graph_of_what_was_compiled_and_the_attributes_that_are_kept() -> None:
    template, name = template_in(compiled(), ["source", "main_context", "not there"])
    model = ModelProto.FromString(template)
    node = model.graph.node[0]
    assert name == "a.bin"
    assert (node.name, list(node.input), list(node.output)) == ("own", ["in"], ["out0"])
    assert [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim] == [2, 7]
    assert attributes(model).keys() == {"source", "main_context", "embed_mode", "ep_cache_context"}
    assert model.ir_version < 14


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (compiled(nodes=2), "has the nodes EPContext, EPContext"),
        (compiled(nodes=0), "has the nodes none"),
        (compiled(embed_mode=1), "has its data in itself"),
        (compiled(ep_cache_context=b""), "has its data in itself"),
        (source_model("matmul", 1), "has the nodes MatMul, Relu"),
    ],
)
def test_what_no_template_can_be_made_of(data: bytes, words: str) -> None:
    with pytest.raises(NoTemplate, match=words):
        template_in(data, ())


@pytest.mark.parametrize("template", [template_in(compiled(), ())[0], template_of("matmul", {"source": "X"})])
def test_a_name_gets_into_the_model_byte_for_byte(template: bytes) -> None:
    for name, wanted in ("../{root}", b"..//w"), ((Piece(hex="ff00fe"),), b"\xff\x00\xfe"), ("", b""):
        call = Call("read", name)
        (model,) = product_models(Case("a/b", "", "hostile", (), World(), (call,)), call, b"/w", template)
        assert attributes(ModelProto.FromString(model))["ep_cache_context"].s == wanted


def test_a_node_of_a_case_becomes_one_of_the_provider() -> None:
    template, _ = template_in(compiled(partition_name=b"theirs"), ["source", "partition_name", "main_context", "extra"])
    made = node("../x", Attribute("embed_mode", text="0"), without=["main_context"])
    case = Case("a/b", "", "hostile", (), World(), (Call("load"),), Model(nodes=(made,)))
    (model,) = product_models(case, case.calls[0], b"/w", template)
    found = attributes(ModelProto.FromString(model))
    assert {name: a.s for name, a in found.items()} == {
        "source": b"X",
        "partition_name": b"theirs",
        "extra": b"secret",
        "ep_cache_context": b"../x",
        "embed_mode": b"0",
    }


def test_a_source_that_is_another_ones_stays_so() -> None:
    template, _ = template_in(compiled(), ["source"])
    case = Case("a/b", "", "hostile", (), World(), (Call("load"),), Model(nodes=(node("f", Attribute("source", text="Y")),)))
    (model,) = product_models(case, case.calls[0], b"/w", template)
    assert attributes(ModelProto.FromString(model))["source"].s == b"Y"


def test_sources_differ() -> None:
    for computes in ("matmul", "mul"):
        assert len({source_model(computes, number) for number in range(4)}) == 4
