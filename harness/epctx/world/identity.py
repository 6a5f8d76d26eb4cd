"""Which file some bytes or an inode belong to."""

from __future__ import annotations

from epctx.case import Content, File, content_of, stream, token
from epctx.observation import content_digest, digest
from epctx.world.build import ModelFile
from epctx.world.watch import Inode

LARGEST_DIGESTED = 64 << 20
"""Files beyond this many bytes are compared by size, times and inode only, and not known by their content."""

_LEAST_TELLING = 8


class Names:
    """All world paths of each inode."""

    def __init__(self) -> None:
        """Start without any."""
        self._paths: dict[Inode, list[bytes]] = {}

    def add(self, inode: Inode, path: bytes) -> None:
        """Learn a name."""
        known = self._paths.get(inode)
        if known is None:
            self._paths[inode] = [path]
        elif path not in known:
            known.append(path)

    def remove(self, inode: Inode, path: bytes) -> None:
        """Forget a name; the inode with its last one."""
        known = self._paths.get(inode)
        if known is not None and path in known:
            known.remove(path)
            if not known:
                del self._paths[inode]

    def of(self, inode: Inode) -> list[bytes]:
        """The names of an inode, none if it is not known."""
        return self._paths.get(inode, [])


def size_of(entry: File | ModelFile) -> int:
    """The size that a declared file has."""
    return len(entry.data) if isinstance(entry, ModelFile) else content_of(entry).size


def digest_of(entry: File | ModelFile) -> str:
    """The digest that a declared file has; empty for one that is too large."""
    if isinstance(entry, ModelFile):
        return digest(entry.data)
    content = content_of(entry)
    return content_digest(content) if content.size <= LARGEST_DIGESTED else ""


def mark_of(content: Content) -> bytes:
    """Bytes that only files of this content hold; empty if it is too short to be told from chance."""
    mark = token(content.key)
    if content.size >= len(mark):
        return mark
    return stream(content.key, content.size) if content.size >= _LEAST_TELLING else b""
