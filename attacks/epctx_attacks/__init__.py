"""The attacks that come with epctx: one module for each family, whose ``family`` holds its cases.

Each is installed as an entry point of the group ``epctx.attacks``, in the same way as a family of another distribution.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from epctx.attack import Family


def bundled() -> dict[str, Family]:
    """The families of this package by name, whether it is installed or only on the path."""
    modules = (importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    return {module.family.name: module.family for module in modules}
