"""Loaders that are met in Python: targets of the kind ``loader``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from epctx.errors import TargetError, UsageError
from epctx.target.launch import Launch, Loader
from epctx.target.spec import TargetSpec

LOADERS = {"onnx": "onnx_external"}


def loader(spec: TargetSpec) -> Launch:
    """loader:onnx, external data of the onnx package; ?python=PATH is the interpreter of the environment that has it"""
    spec.allow("python")
    if spec.what not in LOADERS:
        raise UsageError(f"Target {spec.text!r}: there is no loader {spec.what!r}; the loaders are {', '.join(LOADERS)}.")
    python = spec.option("python", sys.executable)
    return Launch(
        spec.text,
        str(Path(python).absolute()),
        sessions=True,
        loader=Loader(spec.what, LOADERS[spec.what], "external", readable=directories(python)),
    )


def directories(python: str) -> tuple[str, ...]:
    """The directories that an interpreter and what is installed for it need. TargetError if it does not run."""
    ask = "import sys, json; print(json.dumps([sys.prefix, sys.base_prefix, *filter(None, sys.path)]))"
    try:
        done = subprocess.run([python, "-I", "-c", ask], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise TargetError(f"The interpreter {python} does not run: {error}") from error
    found: list[str] = [os.path.realpath(path) for path in json.loads(done.stdout)]
    return tuple(dict.fromkeys((*json.loads(done.stdout)[:1], *found)))
