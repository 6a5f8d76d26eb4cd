"""A loader of external data that keeps to the rules, and the same with one thing wrong."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence

import onnx

from epctx_driver.serve import Request

CAP = 1 << 32
"""No tensor has more bytes."""

LONGEST = 4096
"""Bytes of the longest path that the system takes."""

Pairs = Sequence[tuple[str, str]]
"""The keys of a tensor's external data with their values, in order."""


class Refused(Exception):
    """What a model says is not done."""


def open_loader(weak: str = "") -> BundledLoader:
    """The good loader, or the one with the fault ``weak``."""
    return WEAK[weak]() if weak else BundledLoader()


class BundledLoader:
    """Opens a file once it is known to lie in the model's directory and to be regular, and reads what it is known to hold."""

    can = ("read", "write")
    met = f"the bundled loader of external data, with onnx {onnx.__version__} as reader of models"
    ort = ""

    def read(self, request: Request) -> bytes:
        """The part of the file that the first initializer names."""
        pairs = _pairs(_tensor(request))
        with _closing(self.open(self.place(_base(request), pairs))) as file:
            size = os.fstat(file).st_size
            offset, length = self.part(pairs, size)
            if length > CAP:
                raise Refused("the tensor is too large")
            return _read_all(file, offset, length)

    def write(self, request: Request) -> None:
        """Put the tensor's content where it says, whole or not at all."""
        tensor = _tensor(request)
        self.put(self.place(_base(request), _pairs(tensor)), tensor.raw_data)

    def place(self, base: str, pairs: Pairs) -> str:
        """The path of the file that the keys lead to, in the directory ``base``."""
        locations = [value for key, value in pairs if key == "location"]
        if len(locations) != 1:
            raise Refused("a tensor has one location")
        return self.inside(base, locations[0])

    def inside(self, base: str, location: str) -> str:
        """The real path of a location, which does not lead out of the directory ``base``."""
        if not location or "\0" in location or os.path.isabs(location):
            raise Refused("the location is no relative path")
        if len(os.fsencode(location)) >= LONGEST:
            raise Refused("the location is too long")
        joined, real_base = os.path.join(base, location), os.path.realpath(base)
        path = os.path.realpath(joined)
        if not path.startswith(real_base + os.sep):
            raise Refused("the location leads out of the directory of the model")
        if os.path.islink(joined) and not os.path.exists(path):
            raise Refused("the location is a link that leads nowhere")
        if location.rstrip("/") != location or location.rpartition("/")[2] in (".", ".."):
            raise Refused("the location is that of a directory")
        if _mount_of(os.path.dirname(path)) != _mount_of(real_base) or (os.path.exists(path) and _is_mounted(path)):
            raise Refused("the location leads through a mount")
        return path

    def part(self, pairs: Pairs, size: int) -> tuple[int, int]:
        """The offset and the length of the data in a file of ``size`` bytes."""
        found = [(key, value) for key, value in pairs if key in ("offset", "length")]
        numbers = {key: int(value) for key, value in found if value.isascii() and value.isdigit()}
        if len(numbers) != len(found):
            raise Refused("an offset or a length is no number")
        offset = numbers.get("offset", 0)
        length = numbers.get("length", size - offset)
        if length < 0 or offset + length > size:
            raise Refused("the file does not hold that much")
        return offset, length

    def open(self, path: str) -> int:
        """Open a file that is a regular one, before it is opened and afterwards."""
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise Refused("this is no regular file")
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise Refused("this is no regular file any more")
        return file

    def put(self, path: str, content: bytes) -> None:
        """Write a file beside the one to be replaced, then put it in its place."""
        if os.path.lexists(path) and not (stat.S_ISREG(os.stat(path).st_mode) and os.access(path, os.W_OK)):
            raise Refused("what is there cannot be replaced")
        made, beside = tempfile.mkstemp(dir=os.path.dirname(path))
        try:
            with open(made, "wb") as file:
                file.write(content)
            os.replace(beside, path)
        except BaseException:
            os.unlink(beside)
            raise


class Joins(BundledLoader):
    """Opens whatever the location leads to, the last of several."""

    def place(self, base: str, pairs: Pairs) -> str:
        """The path of the last location."""
        return self.inside(base, dict(pairs)["location"])

    def inside(self, base: str, location: str) -> str:
        """The location, joined to the directory."""
        return os.path.join(base, location)

    def open(self, path: str) -> int:
        """Open whatever is there."""
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def put(self, path: str, content: bytes) -> None:
        """Write in place, through whatever is there."""
        with open(path, "wb") as file:
            file.write(content)


class ChecksFirst(Joins):
    """Checks the first location, and uses the last."""

    def place(self, base: str, pairs: Pairs) -> str:
        """The path of the last location."""
        locations = [value for key, value in pairs if key == "location"]
        BundledLoader.inside(self, base, locations[0])
        return self.inside(base, locations[-1])


class ChecksLast(Joins):
    """Checks the last location, and uses the first."""

    def place(self, base: str, pairs: Pairs) -> str:
        """The path of the first location."""
        locations = [value for key, value in pairs if key == "location"]
        BundledLoader.inside(self, base, locations[-1])
        return self.inside(base, locations[0])


class TakesAnyRange(BundledLoader):
    """Reads what there is, wherever a range begins and ends."""

    def part(self, pairs: Pairs, size: int) -> tuple[int, int]:
        """What the numbers come to once they are cut to the file; what is no number counts for nothing."""
        numbers = {key: _lenient(value) for key, value in pairs if key in ("offset", "length")}
        offset = min(max(numbers.get("offset", 0), 0), size)
        length = numbers.get("length", size)
        return offset, min(length if length >= 0 else size, size - offset)


class IgnoresOffset(BundledLoader):
    """Reads as much as is asked for, from the beginning."""

    def part(self, pairs: Pairs, size: int) -> tuple[int, int]:
        """The length alone."""
        return 0, super().part(pairs, size)[1]


class IgnoresLength(BundledLoader):
    """Reads the whole file."""

    def part(self, pairs: Pairs, size: int) -> tuple[int, int]:
        """All of it."""
        super().part(pairs, size)
        return 0, size


class LosesLastByte(BundledLoader):
    """Takes a length for the number of the last byte."""

    def part(self, pairs: Pairs, size: int) -> tuple[int, int]:
        """One byte less than asked for."""
        offset, length = super().part(pairs, size)
        return offset, max(length - 1, 0)


class TakesBasePath(BundledLoader):
    """Takes a directory from the model for its own."""

    def place(self, base: str, pairs: Pairs) -> str:
        """The path of the location, from the directory that the model says."""
        told = dict(pairs)
        return super().place(os.path.join(base, told.get("basepath", "")), pairs)


class AbortsOnKeys(BundledLoader):
    """Takes it for granted that it knows all keys, and that a checksum is right."""

    def place(self, base: str, pairs: Pairs) -> str:
        """End the process where that is not so."""
        if any(key not in ("location", "offset", "length") for key, _ in pairs):
            os.abort()
        return super().place(base, pairs)


WEAK: dict[str, type[BundledLoader]] = {
    "external-joins": Joins,
    "external-checks-first": ChecksFirst,
    "external-checks-last": ChecksLast,
    "external-any-range": TakesAnyRange,
    "external-ignores-offset": IgnoresOffset,
    "external-ignores-length": IgnoresLength,
    "external-loses-last-byte": LosesLastByte,
    "external-basepath": TakesBasePath,
    "external-aborts-on-keys": AbortsOnKeys,
}


def _tensor(request: Request) -> onnx.TensorProto:
    with open(request.path, "rb") as file:
        tensor: onnx.TensorProto = onnx.ModelProto.FromString(file.read()).graph.initializer[0]
    return tensor


def _pairs(tensor: onnx.TensorProto) -> Pairs:
    return [(entry.key, os.fsdecode(entry.value)) for entry in tensor.external_data]


def _base(request: Request) -> str:
    return os.path.dirname(os.fsdecode(request.path)) or "."


@contextlib.contextmanager
def _closing(file: int) -> Iterator[int]:
    try:
        yield file
    finally:
        os.close(file)


def _read_all(file: int, offset: int, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        part = os.pread(file, length - len(data), offset + len(data))
        if not part:
            raise Refused("the file became shorter")
        data += part
    return bytes(data)


def _lenient(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        return 0


def _is_mounted(path: str) -> bool:
    return _mount_of(path) != _mount_of(os.path.dirname(path))


def _mount_of(path: str) -> str:
    """The number of the mount that a path is on: device numbers do not tell a directory from what is bound over it."""
    file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        with open(f"/proc/self/fdinfo/{file}", encoding="ascii") as info:
            return next(line for line in info if line.startswith("mnt_id"))
    finally:
        os.close(file)
