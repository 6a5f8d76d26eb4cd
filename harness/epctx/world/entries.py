"""What is declared of a world, and what follows from a declaration without looking at anything."""

from __future__ import annotations

import functools
from typing import TypeAlias

from epctx.case import Content, Entry, Fifo, File, Name, Struct, World, content_of, shown, stream, token
from epctx.errors import EpctxError
from epctx.observation import content_digest, digest
from epctx.remember import remembered
from epctx.world.paths import path_of, text_of

LARGEST_DIGESTED = 64 << 20
"""Files beyond this many bytes are compared by size, times and inode only, and not known by their content."""

_LEAST_TELLING = 8


class CannotBuild(EpctxError):
    """This world cannot be made here. The message is the reason in one sentence; a case that needs it is skipped with that."""


class ModelFile(Struct, frozen=True):
    """The model file: ``data`` at the world path ``path``."""

    path: Name
    data: bytes


class Given(File, frozen=True):
    """A file that holds ``data``, whatever its content says: what a loader takes for good data is not derived from a name."""

    data: bytes = b""


Declared: TypeAlias = Entry | ModelFile
Plan: TypeAlias = dict[bytes, Declared]
"""What is to stand at each world path, in the order in which it is made."""


def plan_of(world: World, model: ModelFile | None) -> Plan:
    """The plan for a world with the model file in it. Raises CannotBuild where two things are to stand at one path."""
    plan = _plan_of(world).copy()
    if len(plan) < len(world.entries):
        paths = [path_of(entry.path) for entry in world.entries]
        twice = next(path for path in paths if paths.count(path) > 1)
        raise CannotBuild(f"{shown(twice)} is declared twice")
    if model is not None and plan.setdefault(path_of(model.path), model) is not model:
        raise CannotBuild(f"{shown(model.path)} is declared, and the model file must lie there")
    return plan


@remembered()
def _plan_of(world: World) -> Plan:
    return {path_of(entry.path): _one_of(entry) for entry in world.entries}


@functools.lru_cache(maxsize=4096)
def _one_of(entry: Entry) -> Entry:
    """The one entry that stands for all that are equal to it, so that plans are compared by identity for the most part."""
    return entry


@remembered()
def content(file: File) -> Content:
    """What a file holds."""
    return content_of(file)


def digest_of(entry: File | ModelFile) -> str:
    """The digest that a declared file has; empty for one that is too large."""
    if isinstance(entry, ModelFile | Given):
        return digest(entry.data)
    held = content(entry)
    return content_digest(held) if held.size <= LARGEST_DIGESTED else ""


def mark_of(entry: Declared, path: bytes) -> bytes:
    """Bytes that come from this entry alone, wherever they appear; empty if there are none, or too few to be told from chance."""
    if isinstance(entry, Fifo) and entry.writer:
        return token(text_of(path))
    if isinstance(entry, Given) or not isinstance(entry, File):
        return b""
    return mark_of_content(content(entry))


def mark_of_content(held: Content) -> bytes:
    """Bytes that tell a content, wherever a part of it appears; empty for one that is too short to be told from chance."""
    mark = token(held.key)
    if held.size >= len(mark):
        return mark
    return stream(held.key, held.size) if held.size >= _LEAST_TELLING else b""
