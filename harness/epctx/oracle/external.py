"""Rules on external data: what a tensor says beside its location. They are for targets that load such tensors."""

from __future__ import annotations

from epctx.case import File, content_of, stream
from epctx.observation import digest
from epctx.oracle.rule import HELD, Broken, Look, Ruling, path_text, rule
from epctx.spec.external import part_of

FORMAT = "onnx, ExternalData.md"


@rule("external.location", "spec", "critical", FORMAT)
def location(look: Look) -> Ruling:
    """Where a tensor has several locations, the one that is used is one that was checked.

    A check that looks at the first and a reader that takes the last one see two different models.
    """
    return look.decided()


@rule("external.range", "spec", "high", FORMAT)
def data_range(look: Look) -> Ruling:
    """A negative offset or length, one that is no number, or beyond the file is refused; any other gives just that part.

    A length of some terabytes is an allocation, a negative one reads to the end, and what lies beyond a file is other memory.
    """
    return look.decided() or _part(look)


@rule("external.keys", "spec", "high", FORMAT)
def keys(look: Look) -> Ruling:
    """A key that the format does not have is ignored, or the model refused; it never changes what is loaded from where.

    A loader that takes whatever keys there are into an object of its own lets a model set what only the loader may.
    """
    return look.decided()


def _part(look: Look) -> Ruling:
    """Whether the bytes that were read are the part of the file that the tensor names."""
    told, output, file = look.case.model.external, look.seen.output, look.expect.file
    held = next((content_of(e) for e in look.case.world.entries if isinstance(e, File) and e.path == file), None)
    if not look.accepted or told is None or output is None or held is None or held.sparse or look.expect.outcome != "accept":
        return HELD
    part = part_of(told, held.size)
    if isinstance(part, str) or file is None:
        return HELD
    offset, length = part
    if digest(stream(held.key, held.size)[offset : offset + length]) == output.digest:
        return HELD
    return Broken(
        f"{length} bytes of {path_text(file)} from byte {offset} on", f"{look.happened}, which are others", look.allowed
    )
