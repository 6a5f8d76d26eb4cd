"""Models with external data: a tensor whose content lies in a file of its own, which the model names.

The question is that of EPContext models: the name is the model's, and untrusted.
"""

from __future__ import annotations

from onnx import ModelProto, StringStringEntryProto, TensorProto, helper

from epctx.case import Call, Case, File, content_of, raw, stream

IR_VERSION = 8
"""Read by every onnx and ONNX Runtime of the last years."""


def external_models(case: Case, call: Call, root: bytes) -> list[bytes]:
    """The serialised model that is loaded, or saved, in one call: one tensor of bytes, with the call's name as its location.

    A model that is to be saved brings the tensor's content along.
    """
    assert call.name is not None
    payload = stream(call.payload.key, call.payload.size) if call.op == "write" and call.payload else b""
    size = len(payload) or _smallest(case)
    tensor = TensorProto(
        name="w",
        data_type=TensorProto.UINT8,
        dims=[size],
        data_location=TensorProto.EXTERNAL,
        external_data=[StringStringEntryProto(key="location")],
    )
    if call.op == "write":
        tensor.raw_data = payload
    tensor.external_data[0].value = raw(call.name, root).decode()
    model = _model(tensor, size)
    data: bytes = model.SerializeToString()
    return [data]


def _smallest(case: Case) -> int:
    """Bytes of the tensor to load: as many as each file of the world has that has any, so that whichever is read is enough."""
    sizes = [content_of(e).size for e in case.world.entries if isinstance(e, File)]
    return min((size for size in sizes if size), default=1)


def _model(tensor: TensorProto, size: int) -> ModelProto:
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "epctx",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [1])],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, [size])],
        initializer=[tensor],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], producer_name="epctx", ir_version=IR_VERSION)
