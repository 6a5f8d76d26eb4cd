"""The file system of another system, emulated by pyfakefs: worlds in it, in which adapters in pure Python are called.

What the harness does for worlds on a disk, build, watch and compare, is done here: it tells what was opened during a call, and
how the tree looks after it. What is opened is an inode, whatever it was called.
"""

from __future__ import annotations

import base64
import contextlib
import json
import ntpath
import posixpath
import stat
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from types import ModuleType
from typing import Any

from epctx_driver import protocol
from epctx_driver.protocol import field
from epctx_driver.serve import Unusable

OWN = ("epctx_driver", "epctx")
"""The packages that go on to see the real file system: pyfakefs does not find them."""


Entry = tuple[str, str, int, str]
Tree = list[Entry]
"""What lies on a file system: of each entry its path, kind, inode and content."""


class Emulation:
    """Worlds on an emulated ``platform``, windows or macos, one after the other. Unusable where pyfakefs is not installed.

    ``path`` is the module for its paths, ``met`` what emulates it, in words.
    """

    def __init__(self, platform: str) -> None:
        try:
            from pyfakefs.fake_filesystem import OSType
            from pyfakefs.fake_filesystem_unittest import Patcher
        except ImportError:
            raise Unusable(
                f"the file systems of other systems are emulated by pyfakefs, which is not installed for {sys.executable}: run "
                f"{sys.executable} -m pip install 'pyfakefs>=6.3'"
            ) from None
        self.path: ModuleType = ntpath if platform == "windows" else posixpath
        self.met = f"the file system of {platform}, emulated by pyfakefs {version('pyfakefs')}"
        self._os = OSType.WINDOWS if platform == "windows" else OSType.MACOS
        self._new: Callable[[], Any] = lambda: Patcher(allow_root_user=False)
        self._patcher: Any = None
        self._top = ""
        self._opened: list[int] = []
        self._tree: Tree = []

    def begin(self, world: bytes) -> None:
        """Build a world, in place of the one before it: its ``entries``, each a path, a kind, and a content or where it leads to;
        ``top`` is the directory that is looked at, ``temporary`` that for temporary files, ``cwd`` the working directory."""
        if self._patcher:
            self._patcher.tearDown()
        self._patcher = self._new()
        with _hidden():
            self._patcher.setUp()
        told, system = json.loads(world), self._patcher.fs
        system.os = self._os
        self._top, self._opened = told["top"], []
        for path, kind, value in told["entries"]:
            if kind == "dir":
                system.makedirs(path, exist_ok=True)
            elif kind == "file":
                system.create_file(path, contents=base64.b64decode(value))
            elif kind == "link":
                system.create_symlink(path, value)
            else:
                system.create_link(value, path, follow_symlinks=False)
        system.makedirs(told["temporary"], exist_ok=True)
        system.makedirs(told["cwd"], exist_ok=True)
        system.cwd = told["cwd"]
        self._tree = self._look()
        keep = system.add_open_file

        def add_open_file(opened: Any, *args: Any, **kwargs: Any) -> Any:
            self._opened.append(_inode(opened))
            return keep(opened, *args, **kwargs)

        system.add_open_file = add_open_file

    def seen(self) -> bytes:
        """What was opened since the last time, by inode, and the tree as it was then and as it is now, as a field of a reply."""
        before, self._tree = self._tree, self._look()
        opened, self._opened = list(dict.fromkeys(self._opened)), []
        told = {"opened": opened, "before": before, "after": self._tree}
        return field(protocol.EMULATED_SEEN, json.dumps(told).encode())

    def _look(self) -> Tree:
        return list(self._entries(self._patcher.fs.get_object(self._top), self._top))

    def _entries(self, directory: Any, path: str) -> Iterator[Entry]:
        """All that lies in a directory."""
        for name, entry in sorted(directory.entries.items()):
            place = self.path.join(path, name)
            kind = "dir" if stat.S_ISDIR(entry.st_mode) else "link" if stat.S_ISLNK(entry.st_mode) else "file"
            content = b"" if kind == "dir" else entry.byte_contents or b""
            yield place, kind, entry.st_ino, base64.b64encode(content).decode()
            if kind == "dir":
                yield from self._entries(entry, place)


@contextlib.contextmanager
def _hidden() -> Iterator[None]:
    """Have nobody find our own modules."""
    own = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in OWN}
    try:
        yield
    finally:
        sys.modules.update(own)


def _inode(opened: Any) -> int:
    """The inode of a file that pyfakefs opened."""
    return int(opened.get_object().st_ino)
