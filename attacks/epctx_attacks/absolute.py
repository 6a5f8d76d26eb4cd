"""Absolute and rooted names: on POSIX those that start with `/`, on Windows many more."""

from __future__ import annotations

from epctx.attack import OPS, Draft, Family, Op, access, read, scene, write
from epctx.case import Content, File, Link, Model, Name, Piece

family = Family("absolute", "Absolute names, and names that are absolute or rooted under the rules of Windows only.")

PREFIXES = {
    "plain": "{root}",
    "two-slashes": "/{root}",
    "three-slashes": "//{root}",
    "dot": "/.{root}",
    "dots": "/././.{root}",
    "parent": "/..{root}",
    "parents": "/../../..{root}",
    "slashes-inside": "{root}//",
    "dot-inside": "{root}/.",
}
"""The axis of spellings of the world's root."""

# --- outside ----------------------------------------------------------------------------------------------------------------


@family.hostile(
    "contain.absolute",
    "safe.no-outside-{op}",
    "status.code",
    op=OPS,
    prefix=PREFIXES,
    target={"file": "outside/secret.bin", "absent": "outside/new.bin"},
)
def outside(op: Op, prefix: str, target: str) -> Draft | None:
    """A {op} of an absolute name outside is refused (spelling: {prefix}, outside: {target})."""
    if op == "read" and target == "outside/new.bin":
        return None
    return scene(calls=access(op, f"{prefix}/{target}"))


@family.hostile("contain.absolute", op=OPS, given={"bare": "model.onnx", "relative": "../model/model.onnx", "memory": ""})
def outside_by_storage(op: Op, given: str) -> Draft:
    """A {op} of an absolute name is refused when the model path is {given}."""
    cwd = "outside" if given.startswith("..") else "model"
    return scene(calls=access(op, "{root}/outside/secret.bin"), model=Model(given=given), cwd=cwd)


@family.hostile("contain.absolute", "contain.sibling-prefix", op=OPS)
def sibling(op: Op) -> Draft:
    """A {op} of an absolute name that starts like the model directory's is refused."""
    return scene(calls=access(op, "{root}/model_evil/twin.bin"))


@family.hostile("contain.absolute", "out.empty-on-error")
def clears_output() -> Draft:
    """An output that held data is empty after an absolute name was refused."""
    return scene(calls=read("{root}/outside/secret.bin", held=True))


@family.hostile("contain.absolute", "safe.no-outside-write")
def large_write() -> Draft:
    """Not one byte of a payload that fills several buffers arrives at an absolute name."""
    return scene(calls=write("{root}/outside/new.bin", payload=Content("large", 100_000)))


# --- inside -----------------------------------------------------------------------------------------------------------------


@family.hostile(
    "contain.absolute",
    op=OPS,
    name={
        "plain": "{root}/model/good.bin",
        "nested": "{root}/model/sub/inner.bin",
        "two-slashes": "/{root}/model/good.bin",
        "around": "{root}/outside/../model/good.bin",
        "model": "{root}/model/model.onnx",
    },
)
def inside(op: Op, name: str) -> Draft:
    """A {op} of an absolute name is refused though it names a file in the model directory ({name})."""
    return scene(calls=access(op, name))


@family.hostile("contain.absolute", name={"plain": "{root}/model/new.bin", "nested": "{root}/model/sub/new.bin"})
def inside_new_file(name: str) -> Draft:
    """A write creates no file under an absolute name, be it in the model directory ({name})."""
    return scene(calls=write(name))


@family.hostile("contain.absolute", op=OPS, name={"link": "{root}/shelf/good.bin", "real": "{root}/model/good.bin"})
def inside_through_linked_directory(op: Op, name: str) -> Draft:
    """A {op} of an absolute name is refused under either path of a model directory that is linked ({name})."""
    return scene(Link("shelf", "model"), calls=access(op, name), model=Model(given="{root}/shelf/model.onnx"))


@family.hostile(
    "contain.absolute", "safe.no-crash", op=OPS, name={"root": "/", "two": "//", "three": "///", "dot": "/.", "parent": "/.."}
)
def root_itself(op: Op, name: str) -> Draft:
    """The root directory is refused on {op}, however it is spelled ({name})."""
    return scene(calls=access(op, name))


# --- almost absolute --------------------------------------------------------------------------------------------------------


@family.benign(
    "contain.accept-inside",
    op=OPS,
    name={"dot": ".//outside/secret.bin", "back": "sub/..//outside/secret.bin", "plain": "outside/secret.bin"},
)
def same_path_inside(op: Op, name: str) -> Draft:
    """A {op} of a relative path that also exists outside stays below the model directory ({name})."""
    return scene(File("model/outside/secret.bin"), calls=access(op, name))


@family.benign("contain.accept-inside", op=OPS, name={"sub": "sub//inner.bin", "dot": ".///good.bin", "back": "sub/..//good.bin"})
def interior_slashes(op: Op, name: str) -> Draft:
    """Slashes in a row inside a name do not make a {op} start at the root again ({name})."""
    return scene(calls=access(op, name))


# --- rooted under the rules of Windows --------------------------------------------------------------------------------------

ROOTED = {
    "drive": "C:\\x.bin",
    "drive-lower": "c:\\x.bin",
    "drive-slash": "C:/x.bin",
    "drive-relative": "C:x.bin",
    "drive-parent": "C:..\\x.bin",
    "drive-only": "C:",
    "root-relative": "\\x.bin",
    "root-relative-nested": "\\sub\\x.bin",
    "unc": "\\\\host\\share\\x.bin",
    "unc-long": "\\\\?\\UNC\\host\\share\\x.bin",
    "long": "\\\\?\\C:\\x.bin",
    "long-only": "\\\\?\\x.bin",
    "device": "\\\\.\\C:\\x.bin",
    "device-pipe": "\\\\.\\pipe\\x",
    "device-physical": "\\\\.\\PhysicalDrive0",
    "nt": "\\??\\C:\\x.bin",
    "nt-global": "\\\\?\\GLOBALROOT\\Device\\x.bin",
    "volume": "\\\\?\\Volume{00000000-0000-0000-0000-000000000000}\\x.bin",
}


@family.benign("contain.absolute", "contain.accept-inside", windows="refuse", op=OPS, name=ROOTED)
def rooted_on_windows(op: Op, name: str) -> Draft:
    """A {op} takes a name that is rooted on Windows only as it stands, and refuses it under the rules of Windows ({name})."""
    return scene(File(f"model/{name}"), calls=access(op, name))


@family.hostile(
    "contain.absolute", op=OPS, name={"host": "//host/share/x.bin", "question": "//?/C:/x.bin", "dot": "//./C:/x.bin"}
)
def share_with_slashes(op: Op, name: str) -> Draft:
    """A {op} of a name with two slashes in front is refused everywhere: a share on Windows, `/` elsewhere ({name})."""
    path = "model/" + "/".join(part for part in name.split("/") if part not in ("", "."))
    return scene(File(path), calls=access(op, name))


# --- trusted callers --------------------------------------------------------------------------------------------------------


@family.benign("trusted.any-path", op=OPS, prefix=PREFIXES)
def trusted(op: Op, prefix: str) -> Draft:
    """A {op} by a trusted caller may use an absolute name (spelling: {prefix})."""
    return scene(calls=access(op, f"{prefix}/outside/secret.bin", source="caller"))


@family.benign(
    "trusted.any-path",
    name={"outside": "{root}/outside/new.bin", "sibling": "{root}/model_evil/new.bin", "inside": "{root}/model/new.bin"},
)
def trusted_new_file(name: str) -> Draft:
    """A trusted caller may create a file under an absolute name ({name})."""
    return scene(calls=write(name, source="caller"))


@family.benign("trusted.any-path", op=OPS, name={"climb": (Piece("../", times=40), Piece("..{root}/outside/secret.bin"))})
def trusted_from_the_top(op: Op, name: Name) -> Draft:
    """A {op} by a trusted caller may climb to the root and come down again ({name})."""
    return scene(calls=access(op, name, source="caller"), cwd="model")
