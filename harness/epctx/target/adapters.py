"""Objects in Python as targets: the kind ``python``, and what other kinds have in common with it that end in such an object."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from epctx.case import Platform
from epctx.errors import UsageError
from epctx.target.launch import Adapter, Launch
from epctx.target.loaders import directories
from epctx.target.spec import TargetSpec

OPTIONS = ("python", "path", "platform", "chunking")
EMULATED: tuple[Platform, ...] = ("windows", "macos")
"""The systems whose file systems can be emulated."""


def python(spec: TargetSpec) -> Launch:
    """python:MODULE:OBJECT, an object with read and write, or a class or function that makes one (see docs/adapters.md);
    ?python=PATH is the interpreter that has it, path=DIR where the module is, chunking=ordered that it
    writes in pieces; platform=windows or macos runs it on an emulated file system"""
    spec.allow(*OPTIONS)
    module, _, name = spec.what.partition(":")
    if not all(map(str.isidentifier, (*module.split("."), *filter(None, name.split("."))))):
        raise UsageError(f"Target {spec.text!r} names no object in Python; write python:MODULE:OBJECT.")
    path = Path(spec.option("path", os.curdir))
    if not path.is_dir():
        raise UsageError(f"Target {spec.text!r}: there is no directory {path}.")
    directory = str(path.resolve())
    settings = {"path": directory, "module": module, "name": name}
    made = replace(launch(spec, "python_adapter", settings, (directory,)), source=_source(path.joinpath(*module.split("."))))
    return _emulated(spec, made) if spec.option("platform") else made


def _emulated(spec: TargetSpec, made: Launch) -> Launch:
    """The same on the emulated file system of another platform."""
    platform = next((known for known in EMULATED if known == spec.option("platform")), None)
    if platform is None:
        raise UsageError(f"Target {spec.text!r}: platform is one of {', '.join(EMULATED)}, not {spec.option('platform')!r}.")
    assert made.adapter
    adapter = replace(made.adapter, settings={**made.adapter.settings, "platform": platform}, emulated=True)
    return replace(made, platform=platform, adapter=adapter)


def _source(module: Path) -> str:
    """The file of a module, if it is one of Python that lies where it was said to be."""
    files = (module.with_name(f"{module.name}.py"), module / "__init__.py")
    return next((str(file) for file in files if file.is_file()), "")


def launch(
    spec: TargetSpec, module: str, settings: dict[str, Any], readable: Sequence[str] = (), *, program: bool = False
) -> Launch:
    """The launch of a target that a ``module`` of ``epctx_driver`` opens with ``settings`` (see ``epctx_driver.calls``), in the
    interpreter ?python=. It may read the directories ``readable``, and what that interpreter needs. Whether it is a ``program``
    of its own is what ``Adapter`` says about that.

    Raises:
        UsageError: an option is wrong.
        TargetError: the interpreter does not run.
    """
    interpreter = spec.option("python", sys.executable)
    adapter = Adapter(module, settings, (*directories(interpreter), *readable), program)
    return Launch(spec.text, str(Path(interpreter).absolute()), chunking=spec.chunking(), adapter=adapter)
