"""Loaders that are met in Python: targets of the kind ``loader``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import cast, get_args

from msgspec.structs import replace

from epctx.errors import TargetError, UsageError
from epctx.external import TensorPlace
from epctx.target.launch import Launch, Loader
from epctx.target.spec import TargetSpec
from epctx.target.weakness import weaknesses

LOADERS = {
    known.name: known
    for known in (
        Loader("bundled", "bundled_external", "external"),
        Loader("onnx", "onnx_external", "external"),
        Loader("onnx-hub", "onnx_hub", "external"),
        Loader("ort", "ort_external", "external", from_memory="working directory"),
    )
}
"""Those that are there, by name."""
OPTIONS = {"bundled": ("weak",), "ort": ("tensor",)}
"""What some of them take besides the interpreter."""


def loader(spec: TargetSpec) -> Launch:
    """loader:onnx or loader:ort, external data of onnx or onnxruntime, loader:onnx-hub, archives of onnx's model hub;
    ?python=PATH is the interpreter of an environment with it, tensor=sparse has the data in a sparse constant (ort);
    loader:bundled keeps the rules, and with ?weak=NAME breaks one"""
    known = LOADERS.get(spec.what)
    if known is None:
        raise UsageError(f"Target {spec.text!r}: there is no loader {spec.what!r}; the loaders are {', '.join(LOADERS)}.")
    spec.allow("python", *OPTIONS.get(known.name, ()))
    python = spec.option("python", sys.executable)
    made = replace(known, tensor=_tensor(spec), settings=_settings(spec), readable=directories(python))
    return Launch(spec.text, str(Path(python).absolute()), sessions=True, loader=made)


def _tensor(spec: TargetSpec) -> TensorPlace:
    value = spec.option("tensor", "initializer")
    if value not in get_args(TensorPlace):
        raise UsageError(f"Target {spec.text!r}: a tensor is in one of {', '.join(get_args(TensorPlace))}, not {value!r}.")
    return cast(TensorPlace, value)


def _settings(spec: TargetSpec) -> dict[str, str]:
    weak = spec.option("weak")
    if weak and weak not in {w.name for w in weaknesses() if w.of == "loader"}:
        raise UsageError(f"There is no weak loader {weak!r}; see `epctx list weak`.")
    return {"weak": weak} if weak else {}


def directories(python: str) -> tuple[str, ...]:
    """The directories that an interpreter and what is installed for it need. TargetError if it does not run."""
    ask = "import sys, json; print(json.dumps([sys.prefix, sys.base_prefix, *filter(None, sys.path)]))"
    try:
        done = subprocess.run([python, "-I", "-c", ask], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise TargetError(f"The interpreter {python} does not run: {error}") from error
    given: list[str] = json.loads(done.stdout)
    return tuple(dict.fromkeys((*given[:1], *map(os.path.realpath, given))))
