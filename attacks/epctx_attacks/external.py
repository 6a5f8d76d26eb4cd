"""External data: what a tensor may say beside its location, for loaders of models whose tensors lie in files of their own."""

from __future__ import annotations

from epctx.attack import OPS, Draft, Family, Op, access, read, scene
from epctx.case import Content, External, File, Model, Name, Pair, Piece

family = Family("external", "Tensors with external data: offsets, lengths and keys that no loader should believe.")

SIZE = 1000
DATA = File("model/data.bin", Content("external", SIZE))

INSIDE = {
    "whole": ("0", "1000"),
    "start": ("0", "100"),
    "middle": ("96", "500"),
    "end": ("900", "100"),
    "last": ("999", "1"),
}
BEYOND = {
    "one-byte": ("0", "1001"),
    "at-the-end": ("1000", "1"),
    "last-and-more": ("999", "2"),
    "far": ("4096", "96"),
    "twice": ("0", "2000"),
    "2-gib": ("0", "2147483648"),
    "4-gib": ("0", "4294967296"),
    "64-tib": ("0", "70368744177664"),
    "2-63": ("0", "9223372036854775807"),
    "sum-wraps": ("9223372036854775807", "9223372036854775807"),
    "offset-2-63": ("9223372036854775807", "96"),
}
NEGATIVE = {
    "length": (None, "-1"),
    "long-length": (None, "-1000"),
    "least-length": (None, "-9223372036854775808"),
    "offset": ("-1", "96"),
    "offset-alone": ("-96", None),
    "both": ("-1", "-1"),
}
NO_NUMBER = {
    "empty": "",
    "word": "all",
    "hex": "0x10",
    "real": "96.0",
    "exponent": "1e3",
    "2-64": "18446744073709551616",
    "digits": (Piece("9", times=400),),
}
OUTSIDE = {
    "parent": "../outside/secret.bin",
    "absolute": "{root}/outside/secret.bin",
    "around": "sub/../../outside/secret.bin",
}
ODD = {
    "basepath": ("basepath", "../outside"),
    "absolute-basepath": ("basepath", "{root}/outside"),
    "class": ("__class__", "str"),
    "dict": ("__dict__", "{}"),
    "attribute": ("read", "all"),
    "empty": ("", "x"),
    "upper-case": ("LENGTH", "5"),
    "padded": ("length ", "5"),
    "checksum": ("checksum", "0000000000000000000000000000000000000000"),
}


def _model(offset: Name | None = None, length: Name | None = None, size: int | None = None) -> Model:
    pairs = [Pair(key, value) for key, value in (("offset", offset), ("length", length)) if value is not None]
    return Model(external=External(tuple(pairs), size))


@family.benign("external.range", part=INSIDE)
def part_inside(part: tuple[str, str]) -> Draft:
    """A part of a file that is in it gives just those bytes ({part})."""
    return scene(DATA, calls=read("data.bin"), model=_model(*part))


@family.benign("external.range", offset={"nothing": "0", "page": "512", "last": "999"})
def offset_alone(offset: str) -> Draft:
    """Without a length everything from the offset on is read ({offset})."""
    return scene(DATA, calls=read("data.bin"), model=_model(offset, size=SIZE - int(offset)))


@family.hostile("external.range", part=BEYOND)
def part_beyond(part: tuple[str, str]) -> Draft:
    """A part that is not all in the file is refused, and nothing of its size allocated ({part})."""
    return scene(DATA, calls=read("data.bin"), model=_model(*part))


@family.hostile("external.range", part=NEGATIVE)
def negative(part: tuple[str | None, str | None]) -> Draft:
    """A negative offset or length is refused ({part})."""
    return scene(DATA, calls=read("data.bin"), model=_model(*part))


@family.hostile("external.range", key=("offset", "length"), value=NO_NUMBER)
def no_number(key: str, value: Name) -> Draft:
    """An {key} that is no number is refused ({value})."""
    return scene(DATA, calls=read("data.bin"), model=Model(external=External((Pair(key, value),))))


@family.hostile("external.location", op=OPS, second=OUTSIDE)
def good_location_first(op: Op, second: str) -> Draft:
    """A second location that leads outside ({second}) is not used for a {op} because the first one is good."""
    return scene(calls=access(op, "good.bin"), model=Model(external=External((Pair("location", second),))))


@family.hostile("external.location", op=OPS, first=OUTSIDE)
def good_location_last(op: Op, first: str) -> Draft:
    """A first location that leads outside ({first}) is not used for a {op} because the last one is good."""
    return scene(calls=access(op, first), model=Model(external=External((Pair("location", "good.bin"),))))


@family.hostile("external.location", "contain.parent", op=OPS)
def no_good_location(op: Op) -> Draft:
    """Two locations that both lead outside are refused for a {op}."""
    outside = Pair("location", "../outside/good.bin")
    return scene(File("outside/good.bin"), calls=access(op, "../outside/secret.bin"), model=Model(external=External((outside,))))


@family.hostile("external.keys", pair=ODD)
def odd_key(pair: tuple[str, Name]) -> Draft:
    """A key that nobody asked for ({pair}) changes nothing of what is loaded."""
    model = Model(external=External((Pair(*pair),)))
    return scene(File("outside/good.bin"), calls=read("good.bin"), model=model)
