"""World paths as the file system sees them: bytes, relative to the world's root, b"" for the root itself.

The directories above the root are ``..``, ``../..`` and so on; only observations speak of them.
"""

from __future__ import annotations

import functools

from epctx.case import Name, raw
from epctx.errors import CaseError
from epctx.observation import Place


@functools.lru_cache(maxsize=4096)
def path_of(name: Name) -> bytes:
    """The bytes of a world path. Raises CaseError if it is not one (absolute, empty, or with ``.``, ``..``, NUL in it)."""
    path = raw(name, b"{root}")
    parts = path.split(b"/")
    if b"" in parts or b"." in parts or b".." in parts or b"\0" in path or b"{root}" in path:
        raise CaseError(f"{path!r} is not a path of an entry in the world")
    return path


@functools.lru_cache(maxsize=4096)
def text_of(path: bytes) -> str:
    """A world path as observations write it: text, with bytes that are not UTF-8 as ``\\xNN``; the root itself is ``.``."""
    return path.decode("utf-8", "backslashreplace") or "."


@functools.lru_cache(maxsize=4096)
def split(path: bytes) -> tuple[bytes, bytes]:
    """The directory and the last component of a world path."""
    directory, _, name = path.rpartition(b"/")
    return directory, name


def join(directory: bytes, name: bytes) -> bytes:
    """The path of an entry of a directory."""
    return directory + b"/" + name if directory else name


def place_of(path: bytes, model_directory: bytes | None) -> Place:
    """Where a path lies, seen from the model directory (None: there is none)."""
    if path.startswith(b"../") or path == b"..":
        return "above"
    if model_directory is None:
        return "outside"
    if not model_directory or path == model_directory or path.startswith(model_directory + b"/"):
        return "inside"
    return "outside"
