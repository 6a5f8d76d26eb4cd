"""A plot: the part of a ground that holds one world, and the margin above it."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from epctx.case import ROOT_DEPTH
from epctx.world.clear import remove

if TYPE_CHECKING:
    from epctx.world.ground import Ground

MARGIN = (b"4", b"3", b"2", b"1")
ROOT = b"world"
SCRATCH = "../" * (len(MARGIN) + 1) + "tmp"
"""What observations call the directory for temporary files, which all worlds of a ground share."""
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class Plot:
    """A place for one world. ``root`` is the absolute path of the world's root, ``root_fd`` a descriptor of it.

    ``margin`` holds a descriptor of each directory of the margin, outermost first; ``scratch`` is the path of the directory for
    temporary files, which lies beside all plots, ``marks`` are the ground's, and ``inotify`` is the descriptor that watches them
    all. ``account`` owns all that is made here, and ``why_no_mounts`` is empty where mounts can be made, else the reason.
    """

    def __init__(self, ground: Ground, number: int) -> None:
        """Lay out plot ``number`` of a ground."""
        self._top, self.account, self.why_no_mounts = ground.top, ground.account, ground.why_no_mounts
        self.scratch, self.marks, self.inotify = ground.scratch, ground.marks, ground.inotify
        first, *rest = [b"0"] * (ROOT_DEPTH - len(self._top.split(b"/")) - len(MARGIN)) + [*MARGIN, ROOT]
        self._chain = [first + b"-%d" % number if number else first, *rest]
        self.root = b"/".join((self._top, *self._chain))
        self.margin: list[int] = []
        self.root_fd = -1
        self.lay_out()

    def lay_out(self) -> None:
        """Make margin and root afresh and empty."""
        self.close()
        directory, inner = os.open(self._top, _LIST), []
        mode = stat.S_IMODE(os.fstat(directory).st_mode)
        os.fchmod(directory, mode | 0o200)
        for name in self._chain:
            remove(name, directory)
            os.mkdir(name, 0o755, dir_fd=directory)
            if self.account.changes:
                os.chown(name, self.account.uid, self.account.gid, dir_fd=directory, follow_symlinks=False)
            inner.append(os.open(name, _LIST, dir_fd=directory))
            if len(inner) == 1:
                os.fchmod(directory, mode)
                os.close(directory)
            directory = inner[-1]
        for fd in inner[: -len(MARGIN) - 1]:
            os.close(fd)
        *self.margin, self.root_fd = inner[-len(MARGIN) - 1 :]

    @property
    def places(self) -> tuple[bytes, bytes]:
        """The absolute paths of everything that a call is watched in: margin and world, and the directory for temporary files."""
        return self.root.rsplit(b"/", len(MARGIN))[0], self.scratch

    def close(self) -> None:
        """Let go of the directories; what is in them stays, until the ground is closed. Harmless if called again."""
        for fd in (*self.margin, self.root_fd):
            if fd >= 0:
                os.close(fd)
        self.margin, self.root_fd = [], -1
