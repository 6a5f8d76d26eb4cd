"""The virtual tree against the real file system, over generated worlds.

Each world is built for real, and each generated name resolved in both. The seed is printed; EPCTX_SEED sets it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import random
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from epctx.case import ROOT_DEPTH, Call, Case, Dir, Entry, Fifo, File, HardLink, Link, World, raw, shown
from epctx.spec.predict import predict
from epctx.spec.tree import ROOT, Place, Tree, components

NAMES_IN_A_WORLD = 12
ROOT_PARTS = ROOT[1:].split(b"/")
ERRNO = {"missing": errno.ENOENT, "not-dir": errno.ENOTDIR, "loop": errno.ELOOP, "too-long": errno.ENAMETOOLONG}

# --- worlds and names -------------------------------------------------------------------------------------------------------

DIRS = ("a", "b", "a/c", "a/c/d", "..", "../outside", "../outside/deep", "../model_evil")
FILES = ("f", "a/g", "a/c/h", "b/i", "../outside/s", "../outside/deep/t", "../model_evil/u")
LINKS = ("l1", "l2", "l3", "m1", "a/l1", "a/l2", "a/c/m1", "b/l3", "../l1", "../outside/l2", "gone")
STEPS = (
    "a",
    "b",
    "c",
    "d",
    "f",
    "g",
    "h",
    "i",
    "s",
    "outside",
    "deep",
    "model",
    "model_evil",
    "l1",
    "l2",
    "l3",
    "m1",
    "gone",
    "..",
)


def some_text(rng: random.Random, known: list[str], home: str, link: bool = False) -> str:
    """A name, or the text of a link in ``home``: half of them lead to an entry, by a way with detours; the rest are at random.

    Now and then it is absolute, or has odd slashes, or a component that is too long.
    """
    if rng.random() < 0.5:
        steps = os.path.relpath(rng.choice(known), home).split("/")
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            step = rng.choice(
                (("a", ".."), ("gone", ".."), ("f", ".."), ("l1", ".."), (".",), ("..", os.path.basename(home)), ("l2",))
            )
            where = rng.randrange(len(steps) + 1)
            steps[where:where] = step
    else:
        steps = rng.choices((*STEPS, "..", "..", "l1", "l2", "l3", "m1", "."), k=rng.choice((1, 1, 2, 2, 3, 3, 4, 6)))
    text = ("//" if rng.random() < 0.05 else "/").join(steps)
    roll = rng.random()
    if roll < 0.08:
        text += rng.choice(("/", "//", "/.", "/.."))
    if rng.random() < (0.2 if link else 0.04):
        text = rng.choice(("{root}/model/", "{root}/", "{root}/outside/", "../../../../../../../../../..{root}/model/")) + text
    if rng.random() < 0.01:
        text += "/" + "x" * rng.choice((255, 256))
    return text


def some_world(rng: random.Random) -> World:
    """Directories and files in and around model/, some of them left out, and links of all kinds between them."""
    entries: list[Entry] = [Dir("model")]
    entries += [Dir(at(path)) for path in DIRS if path != ".." and rng.random() < 0.8]
    entries += [File(at(path)) for path in FILES if rng.random() < 0.7]
    if rng.random() < 0.3:
        entries.append(Fifo("model/fifo"))
    known = [str(entry.path) for entry in entries] + ["model/l1", "model/l2", "outside/l2"]
    taken = {*known[:-3], "model/a", "model/b", "model/a/c", "outside", "outside/deep"}
    for path in LINKS:
        if rng.random() < (0.1 if path == "gone" else 0.6) and at(path) not in taken:
            entries.append(Link(at(path), some_text(rng, known, os.path.dirname(at(path)) or ".", link=True)))
    files = [entry for entry in entries if isinstance(entry, File)]
    if files and rng.random() < 0.2:
        entries.append(HardLink("model/hard", rng.choice(files).path))
    return World(tuple(entries))


def at(path: str) -> str:
    return os.path.normpath("model/" + path)


# --- the real thing ---------------------------------------------------------------------------------------------------------


class Ground:
    """A real directory as deep as a world's root, in which one world after the other is built."""

    def __init__(self, top: Path) -> None:
        padding = ROOT_DEPTH - len(top.parts)
        assert padding >= 0, f"{top} is too deep"
        self.root = os.fsencode(top.joinpath(*map(str, range(padding, 0, -1)), "world"))
        os.makedirs(self.root)
        self._parts = self.root[1:].split(b"/")
        self.made: list[tuple[Callable[[bytes], None], bytes]] = []

    def build(self, world: World) -> None:
        for entry in world.entries:
            path = self.root + b"/" + raw(entry.path)
            self._parents(os.path.dirname(path))
            remove: Callable[[bytes], None] = os.unlink
            if isinstance(entry, Dir):
                if os.path.isdir(path):
                    continue
                os.mkdir(path)
                remove = os.rmdir
            elif isinstance(entry, File):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            elif isinstance(entry, Link):
                os.symlink(raw(entry.to, self.root), path)
            elif isinstance(entry, HardLink):
                os.link(self.root + b"/" + raw(entry.to), path, follow_symlinks=False)
            elif isinstance(entry, Fifo):
                os.mkfifo(path)
            self.made.append((remove, path))

    def _parents(self, path: bytes) -> None:
        if not os.path.isdir(path):
            self._parents(os.path.dirname(path))
            os.mkdir(path)
            self.made.append((os.rmdir, path))

    def clear(self) -> None:
        for remove, path in reversed(self.made):
            remove(path)
        self.made.clear()

    def real(self, path: list[bytes]) -> bytes:
        """The real path for one of the tree."""
        shared = next(
            (n for n, (own, root) in enumerate(zip(path, ROOT_PARTS, strict=False)) if own != root), min(len(path), ROOT_DEPTH)
        )
        return b"/" + b"/".join([*self._parts[:shared], *path[shared:]])


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    shared = Path("/dev/shm")
    top = Path(tempfile.mkdtemp(prefix="epctx-", dir=shared if os.access(shared, os.W_OK) else None))
    yield Ground(top)
    shutil.rmtree(top)


@pytest.fixture
def seed() -> int:
    number = int(os.environ.get("EPCTX_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
    print(f"EPCTX_SEED={number}")
    return number


WEAKLY = r"""
#include <cstring>
#include <filesystem>
extern "C" int weakly(const char* path, char* out, size_t size) {
  std::error_code error;
  // once more, so that a link which the first round passed over by the text of a `..` is resolved as an open would
  auto found = std::filesystem::weakly_canonical(path, error);
  if (!error) found = std::filesystem::weakly_canonical(found, error);
  if (error) return -1;
  std::strncpy(out, found.c_str(), size - 1);
  return 0;
}
"""


@pytest.fixture(scope="session")
def weakly_canonical(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes], bytes | None]:
    """std::filesystem::weakly_canonical itself, by which the specification defines where a name leads."""
    if not (compiler := shutil.which(os.environ.get("CXX", "g++"))):
        pytest.skip("no C++ compiler")
    place = tmp_path_factory.mktemp("weakly")
    (place / "weakly.cpp").write_text(WEAKLY)
    subprocess.run([compiler, "-std=c++17", "-O1", "-shared", "-fPIC", "weakly.cpp", "-o", "weakly.so"], cwd=place, check=True)
    function = ctypes.CDLL(str(place / "weakly.so")).weakly
    buffer = ctypes.create_string_buffer(8192)

    def call(path: bytes) -> bytes | None:
        return None if function(ctypes.c_char_p(path), buffer, ctypes.c_size_t(8192)) else buffer.value

    return call


def kernel_open(path: bytes, flags: int = 0) -> int:
    """A descriptor that only stands for what the kernel finds; the negated errno if it finds nothing."""
    try:
        return os.open(path, os.O_PATH | os.O_CLOEXEC | flags)
    except OSError as error:
        return -(error.errno or 0)


class OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


RESOLVE_BENEATH = 0x08
_libc = ctypes.CDLL(None, use_errno=True)


def open_beneath(directory: int, name: bytes) -> int:
    """openat2 with RESOLVE_BENEATH; the negated errno if it refuses."""
    how = OpenHow(os.O_PATH | os.O_CLOEXEC, 0, RESOLVE_BENEATH)
    fd: int = _libc.syscall(437, directory, ctypes.c_char_p(name), ctypes.byref(how), ctypes.c_size_t(24))
    return fd if fd >= 0 else -ctypes.get_errno()


# --- the comparison ---------------------------------------------------------------------------------------------------------


class Comparison:
    """One world, built and as a tree, and what is found of a name in both."""

    def __init__(self, ground: Ground, world: World, weakly: Callable[[bytes], bytes | None] | None, seen: Counter[str]) -> None:
        self.ground, self.world, self.tree, self.weakly, self.seen = ground, world, Tree(world), weakly, seen
        self.base = self.tree.declared(b"model")
        self.model = ground.root + b"/model"
        self.model_fd = os.open(self.model, os.O_PATH | os.O_DIRECTORY)

    def check(self, text: str) -> None:
        virtual, real = raw(text, ROOT), raw(text, self.ground.root)
        absolute = virtual.startswith(b"/")
        start = Place([self.tree.top], []) if absolute else self.base
        parts = components(virtual)
        path = real if absolute else self.model + b"/" + real
        place = self.tree.walk(start, parts)
        identity = self._open(path, place)
        self._no_follow(path, self.tree.walk(start, parts, follow=False))
        weak = self.tree.weakly(start, parts)
        self._realpath(path, weak, self.tree.by_steps(start, parts))
        if self.weakly is not None:
            self._weakly_canonical(path, weak)
        if not absolute:
            self._beneath(real, place, identity)
            self._predicted(text, identity)

    def _open(self, path: bytes, place: Place) -> tuple[int, int] | None:
        """What the kernel opens is what ``walk`` finds, under the same path; or the fault is the same. Gives device and inode."""
        fd = kernel_open(path)
        if fd < 0:
            assert ERRNO.get(place.fault) == -fd, f"the kernel says {errno.errorcode[-fd]}, the tree {place.fault or 'found'}"
            self.seen[place.fault] += 1
            return None
        try:
            assert not place.fault, f"the kernel opens it, the tree says {place.fault}"
            where = os.readlink(b"/proc/self/fd/%d" % fd)
            assert where == self.ground.real(place.path)
            status = os.fstat(fd)
            assert os.path.samestat(status, os.lstat(where))
            self.seen["found"] += 1
            return status.st_dev, status.st_ino
        finally:
            os.close(fd)

    def _no_follow(self, path: bytes, place: Place) -> None:
        fd = kernel_open(path, os.O_NOFOLLOW)
        if fd < 0:
            assert ERRNO.get(place.fault) == -fd
            return
        assert os.path.samestat(os.fstat(fd), os.lstat(self.ground.real(place.path)))
        os.close(fd)

    def _realpath(self, path: bytes, weak: Place, steps: Place) -> None:
        """os.path.realpath, strict where all exists. A dangling link it resolves to its target, which no loader does."""
        if not weak.fault and not weak.through:
            assert os.path.realpath(path, strict=True) == self.ground.real(weak.path) == self.ground.real(steps.path)
        elif steps.fault in ("", "missing") and not steps.leaf:
            assert os.path.realpath(path) == self.ground.real(steps.path)
            self.seen["realpath"] += 1

    def _weakly_canonical(self, path: bytes, weak: Place) -> None:
        assert self.weakly is not None
        found = self.weakly(path)
        if found is None:
            assert weak.fault in ("loop", "too-long"), f"weakly_canonical fails, the tree says {weak.fault or 'found'}"
        else:
            assert found.rstrip(b"/") == self.ground.real(weak.path).rstrip(b"/")
            self.seen["weakly"] += 1

    def _beneath(self, real: bytes, place: Place, identity: tuple[int, int] | None) -> None:
        """What openat2 opens beneath the base, the tree has inside. Not the other way: it refuses absolute links and ways that
        leave and come back, which the specification accepts."""
        fd = open_beneath(self.model_fd, real)
        if fd == -errno.ENOSYS:
            return
        if fd < 0:
            assert place.fault or place.links or b".." in real, f"openat2 refuses ({fd}) what never leaves the base"
            return
        try:
            status = os.fstat(fd)
            assert not place.fault
            assert self.tree.within(self.base, place)
            assert identity == (status.st_dev, status.st_ino)
            self.seen["beneath"] += 1
        finally:
            os.close(fd)

    def _predicted(self, text: str, identity: tuple[int, int] | None) -> None:
        """The expectation for a read, held against the file that the kernel opens."""
        (expect,) = predict(Case("real/world", "", "hostile", (), self.world, (Call("read", text),)))
        self.seen[expect.outcome] += 1
        if expect.file is not None:
            status = os.stat(self.ground.root + b"/" + raw(expect.file))
            assert identity in (None, (status.st_dev, status.st_ino)), "another file is expected than the kernel opens"
        if identity is None:
            return
        inside = any(
            (status.st_dev, status.st_ino) == identity and os.path.isfile(path)
            for path in self._files()
            for status in (os.lstat(path),)
        )
        where = os.path.realpath(self.model + b"/" + raw(text, self.ground.root))
        contained = where.startswith(self.model + b"/")
        assert (expect.outcome != "refuse") == (inside and contained), f"{expect.outcome} by {expect.rule}: {expect.why}"

    def _files(self) -> Iterator[bytes]:
        for entry in self.world.entries:
            if isinstance(entry, File | HardLink):
                yield self.ground.root + b"/" + raw(entry.path)

    def close(self) -> None:
        os.close(self.model_fd)


def compare(ground: Ground, seed: int, worlds: int, weakly: Callable[[bytes], bytes | None] | None) -> Counter[str]:
    seen: Counter[str] = Counter()
    for number in range(worlds):
        rng = random.Random(f"{seed}/{number}")
        world = some_world(rng)
        ground.build(world)
        comparison = Comparison(ground, world, weakly, seen)
        known = [str(entry.path) for entry in world.entries]
        try:
            for _ in range(NAMES_IN_A_WORLD):
                text = some_text(rng, known, "model")
                try:
                    comparison.check(text)
                except AssertionError as error:
                    error.add_note(f"seed {seed}, world {number}, name {text!r}\n{picture(world)}")
                    raise
        finally:
            comparison.close()
            ground.clear()
    return seen


def picture(world: World) -> str:
    """The entries, one a line."""
    lines = []
    for entry in world.entries:
        to = f" -> {shown(entry.to)}" if isinstance(entry, Link | HardLink) else ""
        lines.append(f"  {type(entry).__name__.lower():8} {shown(entry.path)}{to}")
    return "\n".join(lines)


def test_the_tree_agrees_with_the_file_system_on_500_worlds(
    ground: Ground, seed: int, weakly_canonical: Callable[[bytes], bytes | None]
) -> None:
    seen = compare(ground, seed, 500, weakly_canonical)
    assert (
        min(seen[kind] for kind in ("found", "missing", "not-dir", "loop", "beneath", "weakly", "realpath", "accept", "refuse"))
        > 20
    ), seen


@pytest.mark.slow
def test_the_tree_agrees_with_the_file_system_on_20000_worlds(
    ground: Ground, seed: int, weakly_canonical: Callable[[bytes], bytes | None]
) -> None:
    seen = compare(ground, seed, 20_000, weakly_canonical)
    assert min(seen[kind] for kind in ("found", "too-long", "loop", "beneath", "accept", "either", "refuse")) > 100, seen
    print(dict(seen))


@pytest.mark.parametrize("hops", [1, 2, 39, 40, 41])
def test_as_many_links_as_the_kernel_follows(ground: Ground, hops: int) -> None:
    links = tuple(Link(f"model/l{n}", f"l{n + 1}" if n < hops else "f") for n in range(1, hops + 1))
    world = World((File("model/f"), *links))
    ground.build(world)
    seen: Counter[str] = Counter()
    comparison = Comparison(ground, world, None, seen)
    comparison._open(comparison.model + b"/l1", comparison.tree.walk(comparison.base, [b"l1"]))
    comparison.close()
    ground.clear()
    assert seen == {"found" if hops <= 40 else "loop": 1}
