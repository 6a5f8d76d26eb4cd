"""What a world and its margin look like, and how that differs from before."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from epctx.observation import State, digest
from epctx.world.entries import LARGEST_DIGESTED
from epctx.world.paths import join
from epctx.world.plot import MARGIN, ROOT, Plot

Signature: TypeAlias = tuple[int, int, int, int, int, int]
"""Mode, inode, device, size, times of modification and status; of a directory only the first three, as entries count alone."""

_DEEPEST = 64
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "dir", stat.S_IFLNK: "link", stat.S_IFIFO: "fifo", stat.S_IFSOCK: "socket"}
_ABOVE = [b"/".join([b".."] * n) for n in range(len(MARGIN), 0, -1)]
"""The paths of the margin's directories, outermost first."""


def signature(status: os.stat_result) -> Signature:
    """What is compared of a status."""
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        return (mode, status.st_ino, status.st_dev, 0, 0, 0)
    return (mode, status.st_ino, status.st_dev, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def scan(plot: Plot, directories: Mapping[bytes, int], known: Mapping[bytes, Signature]) -> dict[bytes, Signature]:
    """The signature of everything in the margin and the world.

    ``directories`` holds descriptors of directories that are in place as long as their signature is the ``known`` one; others are
    opened for the purpose. Directories that a target nested deeper than 64 levels are not entered.
    """
    seen: dict[bytes, Signature] = {}
    waiting: list[tuple[bytes, int, bool]] = []
    for number, (path, fd) in enumerate(zip(_ABOVE, plot.margin, strict=True)):
        inner, inner_path = (MARGIN[number + 1], _ABOVE[number + 1]) if number + 1 < len(MARGIN) else (ROOT, b"")
        for name, found in _entries(fd):
            below = inner_path if name == inner else join(path, name)
            seen[below] = found
            if name != inner and stat.S_ISDIR(found[0]):
                waiting.append((below, os.open(name, _LIST, dir_fd=fd), True))
    waiting.append((b"", plot.root_fd, False))
    while waiting:
        path, fd, opened = waiting.pop()
        try:
            for name, found in _entries(fd):
                below = join(path, name)
                seen[below] = found
                if stat.S_ISDIR(found[0]):
                    if below in directories and known.get(below, ())[:3] == found[:3]:
                        waiting.append((below, directories[below], False))
                    elif below.count(b"/") < _DEEPEST:
                        waiting.append((below, os.open(name, _LIST, dir_fd=fd), True))
        except PermissionError:  # a directory that its own user may not look into: only for an ordinary user without namespaces
            inside = path + b"/"
            seen.update((below, found) for below, found in known.items() if below.startswith(inside))
        finally:
            if opened:
                os.close(fd)
    return seen


def _entries(fd: int) -> Iterator[tuple[bytes, Signature]]:
    for name in map(os.fsencode, os.listdir(fd)):
        yield name, signature(os.stat(name, dir_fd=fd, follow_symlinks=False))


def read_digest(name: bytes, directory: int, found: Signature) -> str:
    """The digest of a file's bytes or a link's text as it is now; empty for other kinds, very large files and unreadable ones."""
    try:
        if stat.S_ISLNK(found[0]):
            return digest(os.readlink(name, dir_fd=directory))
        if not stat.S_ISREG(found[0]) or found[3] > LARGEST_DIGESTED:
            return ""
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    except OSError:
        return ""
    try:
        if (os.fstat(fd).st_ino, os.fstat(fd).st_dev) != found[1:3]:
            return ""
        state = hashlib.sha256()
        while block := os.read(fd, 1 << 20):
            state.update(block)
        return state.hexdigest()[:32]
    finally:
        os.close(fd)


def open_parent(path: bytes, plot: Plot, directories: Mapping[bytes, int]) -> int:
    """A new descriptor of the directory that ``path`` lies in, whoever made it; no link is followed. Raises OSError."""
    *parts, _ = path.split(b"/")
    above = [part for part in parts if part == b".."]
    below = parts[len(above) :]
    if above:
        fd = os.dup(plot.margin[-len(above)])
    else:
        while below and b"/".join(below) not in directories:
            below.pop()
        fd = os.dup(directories[b"/".join(below)])
        below = parts[len(below) :]
    for part in below:
        try:
            inner = os.open(part, _LIST, dir_fd=fd)
        finally:
            os.close(fd)
        fd = inner
    return fd


def state_of(found: Signature | None, content: str = "") -> State:
    """A signature, with the digest of its content, as observations hold it."""
    if found is None:
        return State()
    kind = _KINDS.get(stat.S_IFMT(found[0]), "device")
    size = found[3] if kind in ("file", "link") else 0
    return State(kind, found[1], stat.S_IMODE(found[0]), size, content)  # type: ignore[arg-type]
