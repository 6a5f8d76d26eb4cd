"""Names that mean something else on Windows. On POSIX all of them are literal.

Each name that Windows would misread also exists as a file of that very name, so that a loader which applies the rules of Windows
is told from one that does not: on POSIX the file must be read, under the rules of Windows the name must be refused.
"""

from __future__ import annotations

from epctx.attack import OPS, Draft, Family, Op, access, read, scene, write
from epctx.case import File, Link, Piece

family = Family("platform-windows", "Devices, streams, trailing dots and separators of Windows, which POSIX takes as they stand.")


def literal(op: Op, name: str) -> Draft:
    """An access to a file whose name is ``name``, byte for byte."""
    return scene(File(f"model/{name}"), calls=access(op, name))


# --- devices ----------------------------------------------------------------------------------------------------------------

SUPERSCRIPTS = {"one": "\u00b9", "two": "\u00b2", "three": "\u00b3"}
DEVICES = {
    **{name.lower(): name for name in ("CON", "PRN", "AUX", "NUL")},
    **{f"{port.lower()}{digit}": f"{port}{digit}" for port in ("COM", "LPT") for digit in range(10)},
    **{f"{port.lower()}-superscript-{word}": port + digit for port in ("COM", "LPT") for word, digit in SUPERSCRIPTS.items()},
    "conin": "CONIN$",
    "conout": "CONOUT$",
}
"""The axis of device names."""

SUFFIXES = {
    "extension": "{}.bin",
    "extensions": "{}.tar.gz",
    "dot": "{}.",
    "space": "{} ",
    "space-extension": "{} .bin",
    "colon": "{}:",
    "stream": "{}:s",
    "nested": "sub/{}",
    "nested-extension": "sub/{}.bin",
    "directory": "{}/f.bin",
    "directory-extension": "{}.d/f.bin",
}
"""The axis of what stands around a device name."""


@family.benign("name.windows-device", windows="refuse", device=DEVICES)
def device(device: str) -> Draft:
    """A file called like the device {device} is a file on POSIX, and refused under the rules of Windows."""
    return literal("read", device)


@family.benign("name.windows-device", windows="refuse", device=DEVICES)
def device_lower_case(device: str) -> Draft:
    """A device name in lower case ({device}) is one as well."""
    return literal("write", device.lower())


@family.benign(
    "name.windows-device",
    windows="refuse",
    op=OPS,
    device={"con": "CON", "com1": "com1"},
    around=SUFFIXES,
)
def device_with_suffix(op: Op, device: str, around: str) -> Draft:
    """A {op} of a device name stays one with what usually stands around it ({device}, {around})."""
    return literal(op, around.format(device))


@family.benign(
    "contain.accept-inside",
    windows="accept",
    op=OPS,
    name={
        "longer": "console",
        "prefix": "xcon",
        "two-digits": "COM10",
        "dash": "con-1.bin",
        "inside": "a.con",
        "nothing": "com",
        "letter": "COMA",
        "underscore": "nul_",
    },
)
def almost_device(op: Op, name: str) -> Draft:
    """A {op} of a name that only resembles a device is accepted under all rules ({name})."""
    return literal(op, name)


# --- streams ----------------------------------------------------------------------------------------------------------------


@family.benign(
    "name.windows-device",
    windows="refuse",
    op=OPS,
    name={
        "named": "good.bin:s",
        "data": "good.bin::$DATA",
        "named-data": "good.bin:s:$DATA",
        "missing-file": "f:s.bin",
        "directory": "sub:s",
        "index": "sub:$I30:$INDEX_ALLOCATION",
        "index-child": "sub::$INDEX_ALLOCATION/inner.bin",
        "first": ":s.bin",
        "last": "good.bin:",
        "nested": "sub/inner.bin:s",
    },
)
def stream(op: Op, name: str) -> Draft:
    """A {op} takes a name that denotes an alternate stream on Windows as it stands, and refuses it there ({name})."""
    return literal(op, name)


# --- trailing dots and spaces -----------------------------------------------------------------------------------------------


@family.benign(
    "name.windows-device",
    windows="refuse",
    op=OPS,
    name={
        "dot": "good.bin.",
        "dots": "good.bin...",
        "space": "good.bin ",
        "spaces": "good.bin   ",
        "dot-space": "good.bin. ",
        "space-dot": "good.bin .",
        "directory-dot": "sub./inner.bin",
        "directory-space": "sub /inner.bin",
        "only-dots": "...",
        "only-space": " ",
        "dots-directory": ".../f.bin",
    },
)
def trailing(op: Op, name: str) -> Draft:
    """A {op} takes dots and spaces at the end of a component as they stand; Windows drops them, so it refuses ({name})."""
    return literal(op, name)


@family.hostile(
    "type.read-missing",
    windows="refuse",
    name={
        "dot": "good.bin.",
        "space": "good.bin ",
        "dots": "good.bin. . ",
        "directory": "sub./inner.bin",
        "stream": "good.bin::$DATA",
    },
)
def trailing_is_not_dropped(name: str) -> Draft:
    """Without a file of that very name there is nothing to read, though Windows would find another one ({name})."""
    return scene(calls=read(name))


@family.hostile(
    "type.read-missing",
    "safe.no-outside-read",
    windows="refuse",
    name={
        "space": ".. /outside/secret.bin",
        "dot": ".../outside/secret.bin",
        "dot-space": ".. ./outside/secret.bin",
        "stream": "..::$INDEX_ALLOCATION/outside/secret.bin",
    },
)
def trailing_makes_parent(name: str) -> Draft:
    """A component that becomes `..` once its tail is dropped does not lead outside ({name})."""
    return scene(calls=read(name))


# --- separators -------------------------------------------------------------------------------------------------------------


@family.benign(
    "contain.accept-inside",
    windows="accept",
    op=OPS,
    name={"nested": "sub\\inner.bin", "dot": ".\\good.bin", "around": "sub\\..\\good.bin", "mixed": "sub\\../good.bin"},
)
def backslash(op: Op, name: str) -> Draft:
    """A {op} takes a backslash as an ordinary character on POSIX, and as a separator under the rules of Windows ({name})."""
    return scene(File(f"model/{name}"), calls=access(op, name))


@family.benign(
    "contain.accept-inside",
    op=OPS,
    name={"parent": "..\\f.bin", "parents": "..\\..\\f.bin", "mixed": "..\\/f.bin", "around": "sub\\..\\..\\f.bin"},
    windows="refuse",
)
def backslash_climb_is_literal(op: Op, name: str) -> Draft:
    """A {op} takes `..` before a backslash as part of a name on POSIX; on Windows it climbs and is refused ({name})."""
    return scene(File("f.bin"), File(f"model/{name}"), calls=access(op, name))


@family.hostile(
    "safe.no-outside-{op}",
    windows="refuse",
    op=OPS,
    name={
        "plain": "..\\outside\\secret.bin",
        "nested": "sub\\..\\..\\outside\\secret.bin",
        "mixed": "sub/..\\..\\outside/secret.bin",
        "slash-last": "..\\outside/secret.bin",
        "both": "..\\/outside/secret.bin",
        "dot": ".\\..\\outside\\secret.bin",
        "sibling": "..\\model_evil\\twin.bin",
        "doubled": "..\\\\outside\\\\secret.bin",
    },
)
def backslash_climb(op: Op, name: str) -> Draft | None:
    """A {op} does not get outside with backslashes, be they literal or separators ({name})."""
    if op == "write" and "/" not in name:
        return None  # on POSIX that is a new file of a strange name, which may be made
    return scene(calls=access(op, name))


@family.benign(
    "contain.accept-inside", windows="refuse", name={"plain": "..\\outside\\new.bin", "nested": "sub\\..\\..\\outside\\new.bin"}
)
def backslash_climb_new_file(name: str) -> Draft:
    """A new file of a name with backslashes is made inside on POSIX, and nowhere under the rules of Windows ({name})."""
    return scene(calls=write(name))


@family.hostile(
    "safe.no-outside-{op}",
    windows="refuse",
    op=OPS,
    name={"slash-first": "../outside\\secret.bin", "late": "sub/../..\\../outside/secret.bin"},
)
def mixed_separators(op: Op, name: str) -> Draft:
    """A {op} of a name that climbs with both kinds of separators is refused under all rules ({name})."""
    return scene(File("outside\\secret.bin"), calls=access(op, name))


# --- short names, case, length ----------------------------------------------------------------------------------------------


@family.benign("contain.accept-inside", op=OPS, name={"file": "LONGNA~1.BIN", "directory": "LONGDI~1/f.bin", "tilde": "good~1"})
def short_name(op: Op, name: str) -> Draft:
    """A {op} takes a name that looks like a generated short one as it stands ({name})."""
    return scene(File("model/longname.binary"), File("model/longdirectory/f.bin"), File(f"model/{name}"), calls=access(op, name))


@family.hostile("type.read-missing", name={"file": "LONGNA~1.BIN", "directory": "LONGDI~1/f.bin"})
def short_name_finds_nothing(name: str) -> Draft:
    """A short name that nobody gave is missing ({name})."""
    return scene(File("model/longname.binary"), File("model/longdirectory/f.bin"), calls=read(name))


@family.hostile("type.read-missing", name={"file": "GOOD.BIN", "directory": "Sub/INNER.bin", "around": "SUB/../good.BIN"})
def case_variant(name: str) -> Draft:
    """A name in another case is missing wherever the file system tells cases apart ({name})."""
    return scene(calls=read(name))


@family.hostile(
    "contain.sibling-prefix",
    windows="refuse",
    op=OPS,
    name={"upper": "../MODEL_EVIL/twin.bin", "mixed": "../Model_Evil/twin.bin"},
)
def case_variant_of_sibling(op: Op, name: str) -> Draft:
    """A {op} in a sibling with the model directory's prefix is refused in every case of letters ({name})."""
    return scene(File(name[3:]), calls=access(op, name), layout=(File("model/good.bin"),))


@family.benign("contain.accept-inside", windows="accept", op=OPS, length={"259": 259, "260": 260, "261": 261, "500": 500})
def long_path(op: Op, length: int) -> Draft:
    """A {op} of a relative path of {length} bytes is accepted, though it is longer than old interfaces of Windows take."""
    name = (Piece("d" * 99 + "/", times=2), Piece("f" * (length - 200)))
    if length > 455:
        name = (Piece("d" * 99 + "/", times=4), Piece("f" * (length - 400)))
    return scene(File((Piece("model/"), *name)), calls=access(op, name))


# --- encodings --------------------------------------------------------------------------------------------------------------


@family.benign(
    "name.invalid-utf8",
    windows="refuse",
    op=OPS,
    surrogate={"high": "eda080", "low": "edb080", "pair": "eda0bdedb882", "reversed": "edb080eda080", "last": "edbfbf"},
)
def surrogate(op: Op, surrogate: str) -> Draft:
    """A {op} takes encoded surrogates ({surrogate}) as bytes on POSIX; under the rules of Windows they are refused."""
    name = (Piece("a"), Piece(hex=surrogate), Piece(".bin"))
    return scene(File((Piece("model/"), *name)), calls=access(op, name))


@family.benign(
    "contain.accept-inside",
    windows="accept",
    op=OPS,
    name={"astral": "\U0001f512.bin", "private": "\ue000.bin", "noncharacter": "\uffff.bin", "devanagari": "मॉडल.bin"},
)
def wide_characters(op: Op, name: str) -> Draft:
    """A {op} of a name with characters that Windows holds in one unit or two is accepted under all rules ({name})."""
    return literal(op, name)


# --- junctions --------------------------------------------------------------------------------------------------------------


@family.hostile(
    "contain.symlink-dir",
    windows="refuse",
    op=OPS,
    name={"slash": "junction/secret.bin", "parent": "junction/../outside/secret.bin"},
)
def junction(op: Op, name: str) -> Draft:
    """A {op} through a junction, which is an absolute link to a directory, is refused ({name})."""
    return scene(Link("model/junction", "{root}/outside"), Link("model/outside", "{root}/outside"), calls=access(op, name))
