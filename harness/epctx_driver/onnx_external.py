"""External data of onnx: ``onnx.load_model`` and ``onnx.save_model``."""

from __future__ import annotations

import os

import onnx

from epctx_driver.serve import Request


def open_loader() -> OnnxLoader:
    """The loader of the onnx package that is installed."""
    return OnnxLoader()


class OnnxLoader:
    """Reads and writes tensors that lie outside the model's file."""

    can = ("read", "write")
    met = f"onnx {onnx.__version__}"
    ort = ""

    def read(self, request: Request) -> bytes:
        """The content of the first initializer once the model and its external data are loaded."""
        model = onnx.load_model(os.fsdecode(request.path))
        return bytes(model.graph.initializer[0].raw_data)

    def write(self, request: Request) -> None:
        """Save a model whose tensor brings its content and says where that is to go."""
        model = onnx.load_model(os.fsdecode(request.path), load_external_data=False)
        onnx.save_model(model, os.fsdecode(request.path))
