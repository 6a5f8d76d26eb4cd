"""Windows rules, held against Python's own where both say something."""

from __future__ import annotations

import ntpath
import random
from pathlib import PureWindowsPath

import pytest

from epctx.case import Call, Case, File, Link, Name, Piece, World
from epctx.spec import windows
from epctx.spec.predict import predict

WORLD = World((File("model/good.bin"), File("model/sub/inner.bin"), File("outside/secret.bin"), Link("model/link", "../outside")))

ROOTED = {
    "C:\\x": "drive",
    "c:/x": "drive",
    "C:x": "drive-relative",
    "C:": "drive-relative",
    "C:..\\x": "drive-relative",
    "f:s": "drive-relative",
    "\\x": "root-relative",
    "/x": "root-relative",
    "\\": "root-relative",
    "\\\\host\\share\\x": "unc",
    "//host/share/x": "unc",
    "\\\\?\\C:\\x": "device",
    "\\\\.\\pipe\\x": "device",
    "//?/C:/x": "device",
    "\\??\\C:\\x": "device",
    "\\\\?\\Volume{00000000-0000-0000-0000-000000000000}\\x": "device",
    "x": "",
    "x\\y": "",
    "..\\x": "",
    "file:stream": "",
    "é:x": "",
}

ODD = {
    "CON": "device",
    "con": "device",
    "nul.txt": "device",
    "NUL .txt": "device",
    "AUX:": "device",
    "COM1": "device",
    "com0.bin": "device",
    "LPT9": "device",
    "COM¹": "device",
    "lpt³.log": "device",
    "CONIN$": "device",
    "conout$.x": "device",
    "f:s": "stream",
    "f::$DATA": "stream",
    "f.": "dot or space",
    "f ": "dot or space",
    "...": "dot or space",
    "f. .": "dot or space",
    "console": "",
    "COM": "",
    "COM10": "",
    "com1x": "",
    "nul_": "",
    "lpt": "",
    " con": "",
    "..foo": "",
    ".": "",
    "..": "",
    "": "",
}


@pytest.mark.parametrize("name", ROOTED)
def test_roots(name: str) -> None:
    assert windows.rooted(name.encode()) == ROOTED[name]


@pytest.mark.parametrize("name", ODD)
def test_odd_components(name: str) -> None:
    words = windows.odd(name.encode())
    assert ODD[name] in words
    assert bool(words) == bool(ODD[name])


def test_roots_agree_with_pathlib_and_ntpath() -> None:
    rng = random.Random(7)
    for _ in range(20_000):
        name = "".join(rng.choices(("C:", "\\", "/", "?", ".", "a", "host", ":", "..", "con"), k=rng.randrange(1, 7)))
        if name[1:2] == ":" and not name[0].isalpha():
            continue  # Python takes any character for a drive; Windows reads a stream, which is refused as one
        path = PureWindowsPath(name)
        rooted = windows.rooted(name.encode())
        assert bool(rooted) == bool(path.anchor), name
        if rooted in ("drive", "unc"):
            assert path.is_absolute() or rooted == "unc", name
        if rooted in ("drive-relative", "root-relative"):
            assert not path.is_absolute(), name
        assert bool(ntpath.splitdrive(name)[0]) <= bool(rooted), name


def test_odd_components_agree_with_pathlib() -> None:
    """What Python takes for reserved is odd; it does not know the devices with digit 0."""
    reserved = getattr(ntpath, "isreserved", lambda name: PureWindowsPath(name).is_reserved())
    rng = random.Random(8)
    for _ in range(20_000):
        name = "".join(
            rng.choices(("con", "NUL", "aux", "com", "lpt", "1", "9", "²", ".", " ", "x", ".txt"), k=rng.randrange(1, 5))
        )
        if reserved(name):
            assert windows.odd(name.encode()), name


def outcome(name: Name, op: str = "read") -> tuple[str, str, int | None]:
    call = Call("read" if op == "read" else "write", name)
    (expect,) = predict(Case("windows/case", "", "hostile", (), WORLD, (call,)), "windows")
    return expect.outcome, expect.rule, expect.status


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("good.bin", ("accept", "contain.accept-inside", None)),
        ("GOOD.BIN", ("either", "contain.accept-inside", None)),  # a directory may be told to mind case
        ("sub\\inner.bin", ("accept", "contain.accept-inside", None)),
        ("sub\\..\\good.bin", ("accept", "contain.accept-inside", None)),
        ("link\\..\\good.bin", ("accept", "contain.accept-inside", None)),  # `..` goes by the text
        ("..\\model\\good.bin", ("accept", "contain.accept-inside", None)),
        ("link\\secret.bin", ("refuse", "contain.symlink-dir", 2)),
        ("..\\outside\\secret.bin", ("refuse", "contain.parent", 2)),
        ("../outside\\secret.bin", ("refuse", "contain.parent", 2)),
        ("sub\\..\\..\\outside/secret.bin", ("refuse", "contain.parent", 2)),
        ("C:good.bin", ("refuse", "contain.absolute", 2)),
        ("\\\\?\\C:\\x", ("refuse", "contain.absolute", 2)),
        ("sub/con.txt", ("refuse", "name.windows-device", None)),
        ("good.bin::$DATA", ("refuse", "name.windows-device", None)),
        ("good.bin.", ("refuse", "name.windows-device", None)),
        ((Piece(hex="676f6fff"),), ("refuse", "name.invalid-utf8", 2)),
        ("sub\\", ("refuse", "type.read-directory", 2)),
        ("gone.bin", ("refuse", "type.read-missing", 1)),
    ],
)
def test_reads(name: Name, expected: tuple[str, str, int | None]) -> None:
    assert outcome(name) == expected


@pytest.mark.parametrize("name", ["nul", "aux.bin", "f:s", "f ", "..\\x", "C:x", "\\x"])
def test_writes_are_refused(name: str) -> None:
    assert outcome(name, "write")[0] == "refuse"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("model/good.bin", ("accept", "model/good.bin")),
        ("model\\good.bin", ("either", "model/good.bin")),
        ("model/GOOD.BIN", ("either", "model/GOOD.BIN")),
        ("model/sub/../good.bin", ("either", "model/good.bin")),
        ("model/none\\x", ("refuse", None)),
        ("model/NUL", ("refuse", None)),
    ],
)
def test_what_a_trusted_name_means_is_the_affair_of_the_system(name: str, found: tuple[str, Name | None]) -> None:
    """Which need not be Windows where its rules are tested."""
    case = Case("windows/case", "", "hostile", (), WORLD, (Call("read", name, "caller"),))
    (expect,) = predict(case, "windows")
    assert (expect.outcome, expect.file) == found


@pytest.mark.parametrize("name", ["none/../good.bin/", "none\\..\\good.bin\\.", "link/../good.bin/"])
def test_what_ends_like_a_directory_does_so_still_when_its_parents_are_undone(name: str) -> None:
    assert outcome(name)[0] == "refuse"
