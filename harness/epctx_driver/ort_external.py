"""External initializers of ONNX Runtime: a session on the processor, made of a model whose tensor lies outside of it."""

from __future__ import annotations

import os

import onnxruntime

from epctx_driver.serve import Request

SILENT = 4
"""The severity of what is logged: fatal errors alone."""


def open_loader() -> OrtLoader:
    """The loader of the onnxruntime package that is installed."""
    return OrtLoader()


class OrtLoader:
    """Reads tensors that lie outside the model's file."""

    can = ("read",)
    met = f"onnxruntime {onnxruntime.__version__}"
    ort = onnxruntime.__version__

    def __init__(self) -> None:
        onnxruntime.set_default_logger_severity(SILENT)
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = self.options.inter_op_num_threads = 1
        self.options.log_severity_level = SILENT

    def read(self, request: Request) -> bytes:
        """What a run gives, which is the tensor as it was loaded."""
        model = os.fsdecode(request.path) if request.path else request.model
        session = onnxruntime.InferenceSession(model, self.options, providers=["CPUExecutionProvider"])
        (output,) = session.run(None, {})
        return bytes(output.tobytes())

    def write(self, request: Request) -> None:
        """Refuse: ONNX Runtime has nothing that writes where a model says."""
        raise NotImplementedError("ONNX Runtime writes no external data where a model says")
