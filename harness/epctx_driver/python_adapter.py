"""Adapters that are Python objects: ``module:object`` is imported, and called if it makes an adapter rather than being one."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from typing import Any

from epctx_driver.calls import METHODS
from epctx_driver.serve import Unusable, one_line


def open_adapter(path: str, module: str, name: str = "") -> Any:
    """The adapter ``name`` of ``module``, which is found in ``path`` before anywhere else; without a name the module itself.

    A class, or a function that is none, is called without arguments to get one.
    """
    if not os.access(path, os.R_OK | os.X_OK):
        raise Unusable(
            f"the user {os.getuid()}, as whom the target runs, may not read {path}: let others read it, or run epctx as its owner"
        )
    sys.path.insert(0, path)
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{module}.".startswith(f"{error.name}."):
            raise Unusable(
                f"there is no module {error.name} for {sys.executable}, nor in {path}; say where it is with the option path=DIR"
            ) from None
        raise Unusable(f"the module {module} cannot be imported: {one_line(error)}") from None
    try:
        named = functools.reduce(getattr, filter(None, name.split(".")), found)
    except AttributeError as error:
        raise Unusable(f"the module {module} has no {name}: {error}") from None
    adapter: Any = named
    if isinstance(named, type) or (callable(named) and not any(hasattr(named, method) for method in METHODS)):
        adapter = named()
    return adapter
