"""Models with external data: a tensor whose content lies in a file of its own, which the model names.

The question is that of EPContext models: the name is the model's, and untrusted.
"""

from __future__ import annotations

import functools
from array import array
from collections.abc import Sequence
from typing import Literal, TypeAlias

from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    SparseTensorProto,
    StringStringEntryProto,
    TensorProto,
    helper,
)

from epctx.case import Call, Case, Expect, External, File, content_of, raw, stream
from epctx.protobuf import field
from epctx.spec.external import LARGEST, part_of

TensorPlace: TypeAlias = Literal["initializer", "sparse"]
"""Where a model has its tensor: among its initializers, or as the values of a sparse constant."""

Pairs: TypeAlias = Sequence[tuple[bytes, bytes]]
"""The keys of external data with their values."""

IR_VERSION, OPSET = 8, 14
"""Read by every onnx and ONNX Runtime of the last years."""
PLAIN = 96
"""Bytes of a tensor where no file says otherwise, as most files have."""


def external_model(case: Case, call: Call, expect: Expect, root: bytes, place: TensorPlace = "initializer") -> bytes:
    """The serialised model that is loaded, or saved, in one call: one tensor of bytes, with the call's name as its location.

    A model that is to be saved brings the tensor's content along.
    """
    assert call.name is not None
    told = case.model.external or External()
    pairs = [(b"location", raw(call.name, root)), *((pair.key.encode(), raw(pair.value, root)) for pair in told.pairs)]
    if call.op == "write":
        content = stream(call.payload.key, call.payload.size) if call.payload else b""
        return _model(_initializer(_tensor(pairs, len(content)) + field(TensorProto, "raw_data", content)))
    size = _size(case, told, expect)
    return _model(_sparse_constant(pairs, size) if place == "sparse" else _initializer(_tensor(pairs, size)))


def _size(case: Case, told: External, expect: Expect) -> int:
    """Bytes of the tensor to load: as many as the data has that is to be read; where none is, no more than any file has."""
    if told.size is not None:
        return told.size
    if expect.content is not None:
        return expect.content.size
    part = part_of(told, PLAIN)
    if told.pairs and not isinstance(part, str):
        return part[1]
    if length := next((raw(pair.value) for pair in told.pairs if pair.key == "length"), b""):
        return int(length) if length.isdigit() and int(length) <= LARGEST else PLAIN
    sizes = [content_of(e).size for e in case.world.entries if isinstance(e, File)]
    if expect.rule == "size.cap":
        return max(sizes)
    return min((size for size in sizes if size), default=PLAIN)


def _tensor(pairs: Pairs, size: int) -> bytes:
    """A tensor of bytes with external data. Texts of a model may hold any byte, whatever the protobuf package says."""
    tensor = TensorProto(name="w", data_type=TensorProto.UINT8, dims=[size], data_location=TensorProto.EXTERNAL)
    data: bytes = tensor.SerializeToString()
    for key, value in pairs:
        entry = field(StringStringEntryProto, "key", key) + field(StringStringEntryProto, "value", value)
        data += field(TensorProto, "external_data", entry)
    return data


def _initializer(tensor: bytes) -> bytes:
    """A graph that gives its one initializer."""
    return _gives_w() + field(GraphProto, "initializer", tensor)


def _sparse_constant(pairs: Pairs, size: int) -> bytes:
    """A graph that gives a sparse constant of which every element is there: as dense tensor it is what its values are."""
    indices = TensorProto(data_type=TensorProto.INT64, dims=[size], raw_data=array("q", range(size)).tobytes())
    sparse = SparseTensorProto(indices=indices, dims=[size]).SerializeToString()
    sparse += field(SparseTensorProto, "values", _tensor(pairs, size))
    attribute = AttributeProto(name="sparse_value", type=AttributeProto.SPARSE_TENSOR).SerializeToString()
    attribute += field(AttributeProto, "sparse_tensor", sparse)
    node: bytes = NodeProto(op_type="Constant", output=["w"]).SerializeToString()
    return field(GraphProto, "node", node + field(NodeProto, "attribute", attribute)) + _gives_w()


def _gives_w() -> bytes:
    data: bytes = GraphProto(node=[helper.make_node("Identity", ["w"], ["y"])]).SerializeToString()
    return data


def _model(graph: bytes) -> bytes:
    return _frame() + field(ModelProto, "graph", graph)


@functools.cache
def _frame() -> bytes:
    """What all models have in common. The shape of the output is left open: it is that of the tensor."""
    output = helper.make_tensor_value_info("y", TensorProto.UINT8, [None])
    graph = helper.make_graph([], "epctx", [], [output])
    opsets = [helper.make_opsetid("", OPSET)]
    data: bytes = helper.make_model(graph, opset_imports=opsets, producer_name="epctx", ir_version=IR_VERSION).SerializeToString()
    return data
