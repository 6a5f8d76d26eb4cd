"""What a world and its margin looked like when it was last looked at."""

from __future__ import annotations

import stat
from collections.abc import Iterable

from epctx.world.differences import Signature
from epctx.world.watch import Inode


class Inventory:
    """The signature of each path, the names of each inode, and the digests of those contents that are not as declared."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.signatures: dict[bytes, Signature] = {}
        self.digests: dict[bytes, str] = {}
        self._names: dict[Inode, list[bytes]] = {}

    def learn(self, path: bytes, found: Signature) -> None:
        """Know what is at a path."""
        was = self.signatures.get(path)
        if was is not None:
            if was[1:3] == found[1:3]:
                self.signatures[path] = found
                return
            self._unname(was[1:3], path)
        self.signatures[path] = found
        if not stat.S_ISDIR(found[0]):
            names = self._names.setdefault(found[1:3], [])
            if path not in names:
                names.append(path)

    def forget(self, path: bytes) -> Inode | None:
        """No longer know a path; the inode, if that was its last name."""
        found = self.signatures.pop(path, None)
        self.digests.pop(path, None)
        if found is None:
            return None
        inode = found[1:3]
        self._unname(inode, path)
        return None if inode in self._names else inode

    def names_of(self, inode: Inode) -> list[bytes]:
        """All paths of an inode that is not a directory; none if it is not known."""
        return self._names.get(inode, [])

    def names_at(self, path: bytes) -> list[bytes]:
        """All paths of what is at a path, itself included; none if nothing is there."""
        found = self.signatures.get(path)
        return self._names.get(found[1:3], []) if found is not None else []

    def inodes(self) -> Iterable[Inode]:
        """All inodes that have names."""
        return self._names.keys()

    def _unname(self, inode: Inode, path: bytes) -> None:
        names = self._names.get(inode)
        if names is not None and path in names:
            names.remove(path)
            if not names:
                del self._names[inode]
