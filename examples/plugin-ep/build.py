"""Builds build/libacme_ep.so; with the headers of ONNX Runtime in ``ONNXRUNTIME_INCLUDE``, else with those of epctx."""

from __future__ import annotations

import os
import subprocess
from importlib.resources import files
from pathlib import Path

HERE = Path(__file__).parent
NATIVE = Path(str(files("epctx"))) / "native"
INCLUDES = [os.environ.get("ONNXRUNTIME_INCLUDE") or NATIVE / "ort", NATIVE / "reference"]
FLAGS = [
    "-std=c++17",
    "-O2",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wshadow",
    "-Werror",
]

(HERE / "build").mkdir(exist_ok=True)
command = [
    os.environ.get("CXX", "c++"),
    *FLAGS,
    *(f"-I{path}" for path in INCLUDES),
    "src/acme_ep.cc",
    "-o",
    "build/libacme_ep.so",
]
subprocess.run(command, cwd=HERE, check=True)
