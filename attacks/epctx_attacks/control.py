"""What every usable target does: plain reads and writes, without which the refusals of a target prove nothing."""

from __future__ import annotations

from epctx.attack import Draft, Family, read, scene, write
from epctx.case import Content, File

family = Family("control", "Plain reads and writes that every usable target accepts; they run first.")


@family.control("contain.accept-inside", "size.exact")
def read_beside_model() -> Draft:
    """A file beside the model is read."""
    return scene(calls=read("good.bin"))


@family.control("contain.accept-inside")
def read_in_subdirectory() -> Draft:
    """A file in a directory below the model's is read."""
    return scene(calls=read("sub/inner.bin"))


@family.control("size.exact")
def read_several_buffers() -> Draft:
    """A file of 100,000 bytes is read whole."""
    return scene(File("model/large.bin", Content("large", 100_000)), calls=read("large.bin"))


@family.control("contain.accept-inside", "size.exact")
def write_new_file() -> Draft:
    """A new file is written beside the model."""
    return scene(calls=write("new.bin"))


@family.control("type.write-replaces")
def write_existing_file() -> Draft:
    """A file beside the model is replaced."""
    return scene(calls=write("good.bin"))


@family.control("size.exact")
def write_then_read() -> Draft:
    """What was written is read back."""
    return scene(calls=(write("new.bin", payload=Content("round trip", 5000)), read("new.bin")))


@family.control("trusted.any-path")
def trusted_read() -> Draft:
    """A trusted caller reads a file by its absolute path."""
    return scene(calls=read("{root}/model/good.bin", source="caller"))


@family.control("trusted.any-path")
def trusted_write() -> Draft:
    """A trusted caller writes a file by its absolute path."""
    return scene(calls=write("{root}/model/new.bin", source="caller"))
