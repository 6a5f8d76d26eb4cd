"""An application of the bundled execution provider, for tests that run a few lines of it in a process of their own.

EPCTX_EP names the provider's library. Models are made, compiled and run in the working directory.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

NAME = "EpctxExecutionProvider"

onnxruntime.register_execution_provider_library("epctx", os.environ["EPCTX_EP"])
DEVICES = [device for device in onnxruntime.get_ep_devices() if device.ep_name == NAME]


def options(**provider: str) -> Any:
    """Session options with the provider, which is given those options."""
    made = onnxruntime.SessionOptions()
    made.intra_op_num_threads = made.inter_op_num_threads = 1
    made.add_provider_for_devices(DEVICES, provider)
    return made


def source(*factors: tuple[float, ...], dtype: Any = numpy.float32) -> None:
    """Write model.onnx: one product of x with each tuple of factors."""
    arrays = [numpy.array(f, dtype) for f in factors]
    kind = helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", f"c{i}"], [f"y{i}"], name=f"data{i}.bin") for i in range(len(arrays))],
        "source",
        [helper.make_tensor_value_info("x", kind, [1])],
        [helper.make_tensor_value_info(f"y{i}", kind, [array.size]) for i, array in enumerate(arrays)],
        [numpy_helper.from_array(array, f"c{i}") for i, array in enumerate(arrays)],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), "model.onnx")


def compiled(embed: bool, made: Any = None, **provider: str) -> list[dict[str, Any]]:
    """Compile model.onnx to compiled.onnx, and give the attributes of its nodes. ``made`` may set the compiler up."""
    if os.path.exists("compiled.onnx"):
        os.remove("compiled.onnx")
    compiler = onnxruntime.ModelCompiler(options(**provider), "model.onnx", embed_compiled_data_into_model=embed)
    if made is not None:
        made(compiler)
    compiler.compile_to_file("compiled.onnx")
    nodes = onnx.load("compiled.onnx").graph.node
    assert {node.op_type for node in nodes} == {"EPContext"}
    return [{a.name: helper.get_attribute_value(a) for a in node.attribute} for node in nodes]


def run(path: str, x: float, session_options: Any = None, dtype: Any = numpy.float32) -> list[list[float]]:
    """What a session of the model gives for an input."""
    session = onnxruntime.InferenceSession(path, session_options or options())
    assert session.get_providers()[0] == NAME
    return [array.tolist() for array in session.run(None, {"x": numpy.array([x], dtype)})]


def refusal(function: Callable[..., object], *args: Any, **kwargs: Any) -> str:
    """The words with which a call is refused."""
    try:
        function(*args, **kwargs)
    except Exception as error:
        return str(error)
    raise AssertionError("it was not refused")
