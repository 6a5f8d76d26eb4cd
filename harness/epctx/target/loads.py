"""Cases for loaders of external data, and of archives: which of them make sense there.

The name of external data is always a model's, and the loader is called as an application calls it. What a case takes for granted
beyond that is an obstacle, told in a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Set

from msgspec import UNSET

from epctx.case import Call, Case, Dir, File, content_of, raw
from epctx.target.launch import Loader

LARGEST_SPARSE = 16 << 20
"""Bytes of the largest sparse constant: each has an index of 8 bytes in the model."""

MODEL_SIZE = 512
"""Bytes of the largest model that is saved; its tensors lie elsewhere."""

CANNOT = {"read": "the loader unpacks files, and gives nothing back", "write": "the loader saves no external data"}
"""Why a case is skipped whose calls a loader does not have."""

OBSTACLES: tuple[tuple[Callable[[Call], bool], str], ...] = (
    (lambda call: call.op == "config", "a loader of external data knows no configs"),
    (
        lambda call: bool(call.read_callback or call.write_callback or call.config or not call.accessors),
        "a loader of external data knows no callbacks",
    ),
    (
        lambda call: call.op == "load" or call.embeds or call.runs or call.support is not None,
        "a model with external data has no EPContext nodes",
    ),
    (lambda call: call.source == "caller", "the name of external data is always a model's; nobody is trusted"),
    (lambda call: call.threads is not None, "the driver in Python makes one call after the other"),
    (lambda call: call.name is None, "a location is never NULL"),
    (lambda call: call.fallback is not UNSET, "a tensor has one location, and no other name"),
    (lambda call: call.op == "write" and call.payload is None, "a tensor that is saved is never at NULL"),
    (lambda call: call.allocator != "default", "a loader of external data is given no allocator"),
    (lambda call: call.held or call.moves, "a loader of external data has its outputs for itself"),
    (lambda call: call.resize is not None or call.race is not None, "nothing is done to the world while a model is loaded"),
)
"""What a call takes for granted that no loader of external data has, and the reason in words."""


def obstacle(case: Case, loader: Loader, can: Set[str]) -> str:
    """Why a case cannot be run on a loader of external data that has the operations ``can``; else nothing."""
    if case.heavy:
        return "a file of gigabytes that a loader maps fills the memory that worlds lie in"
    if (
        case.limits.file_size is not None
        and case.limits.file_size < MODEL_SIZE
        and any(call.op == "write" for call in case.calls)
    ):
        return "so small a limit on files is met by the model that is saved, too"
    largest = max((content_of(e).size for e in case.world.entries if isinstance(e, File)), default=0)
    if loader.tensor == "sparse" and largest > LARGEST_SPARSE:
        return "a sparse constant of that size has more indices than a model holds"
    for call in case.calls:
        for meets, words in OBSTACLES:
            if meets(call):
                return words
        if call.op not in can:
            return CANNOT[call.op]
    if loader.name == "onnx-hub" and (words := _archive_obstacle(case)):
        return words
    if not case.model.given and not loader.from_memory:
        return "a model from memory has no directory but the one that its user says"
    return ""


def _archive_obstacle(case: Case) -> str:
    if case.model.external is not None:
        return "an archive has no tensors"
    if len(case.calls) > 1:
        return "an archive is unpacked once"
    if any(b"\0" in raw(call.name or "") for call in case.calls):
        return "the name of a member ends at a NUL"
    if any(not isinstance(entry, Dir | File) and raw(entry.path).startswith(b"model") for entry in case.world.entries):
        return "an archive is unpacked to a directory without links, and with nothing else that is special"
    return ""
