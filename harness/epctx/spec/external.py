"""What is expected of external data that says more than where it lies: which part of a file it is, or what nobody asked for.

The source is the description of the format, onnx's ExternalData.md: a location, optionally an offset, a length and a checksum.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec.structs import replace

from epctx.case import Call, Case, Expect, External, raw, shown
from epctx.spec.answers import refuse
from epctx.spec.scene import Scene

KEYS = ("location", "offset", "length", "checksum")
"""Those that the format has."""
LARGEST = (1 << 63) - 1

_NUMBER = re.compile(rb"-?[0-9]+")


def external(scene: Scene, case: Case, call: Call, found_of: Callable[[Call], Expect]) -> Expect:
    """What is expected of a call on a tensor with external data; ``found_of`` says it for a call with nothing but a location."""
    assert case.model.external is not None
    told = case.model.external
    found = found_of(call)
    others = [pair.value for pair in told.pairs if pair.key == "location"]
    if others:
        all_found = [found, *(found_of(replace(call, name=name)) for name in others)]
        scene.written = None
        return _doubled(all_found)
    if found.outcome == "refuse" or found.file is None:
        return found
    scene.written = None if call.op == "write" else scene.written
    if unknown := [pair.key for pair in told.pairs if pair.key not in KEYS]:
        why = f"the key {shown(unknown[0].encode())!r} is none of the format: it is ignored, or the model refused"
        return replace(found, outcome="either", rule="external.keys", why=why)
    if any(pair.key == "checksum" for pair in told.pairs):
        return replace(found, outcome="either", rule="external.keys", why="a loader need not look at the checksum")
    if call.op == "write" or found.content is None:
        return replace(
            found, outcome="either", rule="external.range", why="what a writer makes of a range is its own", content=None
        )
    part = part_of(told, found.content.size)
    if isinstance(part, str):
        return refuse("external.range", part)
    offset, length = part
    if told.size not in (None, length):
        why = f"the tensor has {told.size} bytes, and the data that it names {length}"
        return Expect("either", "external.range", why, None, found.file)
    why = f"{length} bytes from byte {offset} on are in the file"
    content = replace(found.content, size=length) if not offset and not found.content.sparse else None
    return Expect("accept", "external.range", why, None, found.file, content)


def part_of(told: External, size: int) -> tuple[int, int] | str:
    """The offset and the length of the data in a file of ``size`` bytes, or in words why it is not in there."""
    numbers: dict[str, int] = {}
    for pair in told.pairs:
        if pair.key in ("offset", "length"):
            text = raw(pair.value)
            if not _NUMBER.fullmatch(text):
                return f"the {pair.key} {shown(text)!r} is no number"
            if pair.key in numbers:
                return f"the {pair.key} is there twice"
            numbers[pair.key] = int(text)
    for key, number in numbers.items():
        if not 0 <= number <= LARGEST:
            return f"the {key} is {number}"
    offset = numbers.get("offset", 0)
    length = numbers.get("length", size - offset)
    if length < 0 or offset + length > size:
        return f"{max(length, 0)} bytes from byte {offset} on are not in a file of {size} bytes"
    return offset, length


def _doubled(found: list[Expect]) -> Expect:
    """Several locations: whichever is used has to be one that may be used alone."""
    usable = [f for f in found if f.outcome != "refuse"]
    if not usable:
        return refuse("external.location", f"there are several locations, and of each: {found[0].why}")
    why = "there are several locations: the model is refused, or one is used that stays in the model directory"
    first = usable[0]
    same = all(f.file == first.file for f in usable)
    return Expect("either", "external.location", why, None, first.file if same else None, first.content if same else None)
