"""A target's name out of what its vendor says, checked as far as that goes without running anything."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from epctx.errors import UsageError
from epctx.project.header import READ, contents, namespaces
from epctx.target.build import HEADER_NAMESPACE

Kind: TypeAlias = Literal["header", "lib", "python", "exec", "ep"]

PATHS: dict[Kind, str] = {
    "header": "the header with the functions of the reference helper",
    "lib": "the shared library with the C functions of epctx_target.h",
    "python": "the object with read and write, as MODULE:OBJECT",
    "exec": "the command of a program that speaks JSON lines",
    "ep": "the library of the execution provider, its description in TOML, or the name of one that epctx knows",
}
"""What ``--path`` is, by kind."""


def header(path: str, namespace: str | None, includes: Sequence[str]) -> str:
    """The target of a header; without a namespace the one that it has. UsageError."""
    found = _namespaces(path)
    if namespace is None:
        if len(found) > 1:
            raise UsageError(f"{path} has {READ} in {', '.join(found)}; choose with --namespace.")
        namespace = found[0]
    if namespace not in found:
        raise UsageError(f"{path} has no {READ} in namespace {namespace}; it is in {', '.join(found)}.")
    for directory in includes:
        if not os.path.isdir(directory):
            raise UsageError(f"There is no include directory {directory}.")
    options = [f"namespace={namespace}"] if namespace != HEADER_NAMESPACE else []
    options += [f"include={directory}" for directory in includes]
    return f"header:{path}{'?' if options else ''}{'&'.join(options)}"


def other(kind: Kind, path: str, name: str | None) -> str:
    """The target of any other kind. UsageError."""
    if kind == "lib" and not os.path.isfile(path):
        raise UsageError(f"There is no library {path}; build one around your loader first (see docs/adapters.md).")
    if kind == "ep" and (path.endswith(".so") or ".so." in path):
        if not os.path.isfile(path):
            raise UsageError(f"There is no library {path}.")
        if not name:
            raise UsageError(f"Say with --name as which execution provider {path} registers itself.")
        return f"ep:lib={path}&name={name}"
    if name:
        raise UsageError("--name is the name of an execution provider in a library of its own; leave it out.")
    return f"{kind}:{path}"


def candidates(path: str) -> list[str]:
    """The namespaces of a header that has the function to read in one; none for what is no such header."""
    try:
        return _namespaces(path)
    except UsageError:
        return []


def _namespaces(path: str) -> list[str]:
    try:
        found = namespaces(contents(Path(path)))
    except OSError as error:
        raise UsageError(f"There is no header {path}: {error.strerror}.") from None
    if not found:
        raise UsageError(f"{path} has no function {READ}; name the header that declares it.")
    if found == [""]:
        raise UsageError(f"{path} has {READ} outside of any namespace; put it in one.")
    return [name for name in found if name]
