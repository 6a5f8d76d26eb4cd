"""Archives of onnx's model hub: what ``onnx.hub`` downloads with test data and extracts.

The hub answers from memory, within this process: there is no network in the box. A case's name is that of a file in the archive,
and the directory of its model is the one in which the archive is extracted.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import tarfile
from typing import Any

import onnx

from epctx_driver.serve import Request

try:
    hub: Any = importlib.import_module("onnx.hub")
except ImportError as error:
    raise ImportError(f"onnx {onnx.__version__} has no model hub; 1.20 is the last that has it") from error

ARCHIVE = "tar.gz"
"""The archive's name: the hub extracts in the directory that is left when a path loses as many characters as ``.tar.gz`` has."""


def open_loader() -> OnnxHub:
    """The hub of the onnx package that is installed, which has to be one that still has it."""
    return OnnxHub()


class OnnxHub:
    """Extracts archives with one file."""

    can = ("write",)
    met = f"onnx {onnx.__version__}"
    ort = ""

    def read(self, request: Request) -> bytes:
        """Refuse: an archive is only extracted."""
        raise NotImplementedError("the hub reads nothing from where an archive says")

    def write(self, request: Request) -> None:
        """Have the hub download and extract an archive that holds what the model's tensor holds, at its location."""
        model = onnx.load_model(os.fsdecode(request.path), load_external_data=False)
        (tensor,) = model.graph.initializer
        directory = os.path.dirname(os.fsdecode(request.path)) or "."
        hub.urlopen = _Answers(_archive(tensor.external_data[0].value, tensor.raw_data))
        hub.set_dir(directory)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                hub.download_model_with_test_data("it", force_reload=True)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(directory, ARCHIVE))


class _Answers:
    """In the place of ``urlopen``: the hub's list of models, of which there is one, and its archive."""

    def __init__(self, archive: bytes) -> None:
        metadata = {"model_with_data_path": ARCHIVE, "model_with_data_sha": None}
        model = {"model": "it", "model_path": "it.onnx", "opset_version": 14, "metadata": metadata}
        self.manifest, self.archive = json.dumps([model]).encode(), archive

    def __call__(self, url: str) -> io.BytesIO:
        return io.BytesIO(self.archive if url.endswith(ARCHIVE) else self.manifest)


def _archive(name: str | bytes, content: bytes) -> bytes:
    """An archive with one file."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        member = tarfile.TarInfo(os.fsdecode(name))
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return written.getvalue()
