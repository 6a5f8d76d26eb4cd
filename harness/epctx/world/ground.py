"""The ground: the place where a process keeps its worlds.

It is a tmpfs in a mount namespace of the process's own, where the system has that: nobody else sees it, and the kernel clears it
away however the process ends. Else it is a private directory, removed by ``close``.

    /dev/shm/epctx/          top: the target can't write here
        scratch/             for the target's temporary files; nobody looks at it
        4/3/2/1/             a plot's margin: a write that climbs out of the world lands here, and is seen
            world/           the world's root, always ROOT_DEPTH components deep
        4-1/3/2/1/world/     the next plot
"""

from __future__ import annotations

import contextlib
import os
import resource
import stat
import tempfile
from pathlib import Path

from epctx import syscalls
from epctx.case import ROOT_DEPTH
from epctx.errors import HarnessError
from epctx.world.account import Account, account_for_targets
from epctx.world.clear import empty
from epctx.world.plot import MARGIN, Plot
from epctx.world.watch import Inotify

_SHARED_MEMORY = "/dev/shm"


class Ground:
    """The place of this process's worlds. One process has at most one, and gives itself to it: its umask becomes 0, it moves
    to a mount namespace, and as an ordinary user to a user namespace (which needs a process with a single thread).

    ``top`` is the absolute path of the whole ground, ``scratch`` that of the temporary directory, ``inotify`` what watches its
    worlds. ``marks`` are two empty files without a name, which the target may touch: where somebody does is seen by a watch that
    was told of them. ``why_no_mounts`` is empty where mounts can be made, else the reason.
    """

    def __init__(self, *, size: int = 1 << 30, namespace: bool = True, account: Account | None = None) -> None:
        """Make the ground, with room for ``size`` bytes. Without ``namespace`` it is a directory. Raises HarnessError."""
        self.inotify = Inotify()
        self.account = account or account_for_targets()
        os.umask(0)
        _raise_descriptor_limit()
        self.why_no_mounts = _enter_namespace() if namespace else "a mount namespace was not asked for"
        self._base, self._made_base = _base(private=not self.why_no_mounts)
        if not self.why_no_mounts:
            self.why_no_mounts = _mount_over(self._base, size)
        if self.why_no_mounts and self._made_base:
            os.rmdir(self._base)
            self._base, self._made_base = _base(private=False)
        self.top = self._make_top()
        self.scratch = self.top + b"/scratch"
        os.mkdir(self.scratch, 0o700)
        if self.account.changes:
            os.chown(self.scratch, self.account.uid, self.account.gid, follow_symlinks=False)
        self._marks = [tempfile.TemporaryFile(dir=os.fsdecode(self.top)) for _ in range(2)]  # noqa: SIM115  (until ``close``)
        for mark in self.marks:
            os.fchmod(mark, 0o666)
        os.chmod(self.top, stat.S_IMODE(os.stat(self.top).st_mode) & ~0o222)
        self._plots: list[Plot] = []
        self._closed = False

    @property
    def marks(self) -> list[int]:
        """The descriptors of the marks."""
        return [mark.fileno() for mark in self._marks]

    def plot(self, number: int | None = None) -> Plot:
        """A new place for a world, beside those that there are; of that ``number``, which its path holds, if one is given."""
        self._plots.append(Plot(self, len(self._plots) if number is None else number))
        return self._plots[-1]

    def close(self) -> None:
        """Remove everything. Harmless if called again."""
        if self._closed:
            return
        self._closed = True
        for mark in self._marks:
            mark.close()
        for plot in self._plots:
            plot.close()
        self.inotify.close()
        if self.why_no_mounts:
            os.chmod(self.top, 0o700)
            top = os.open(self.top, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                empty(top)
            finally:
                os.close(top)
            os.rmdir(self.top)
        else:
            syscalls.umount(self._base)
            if self._made_base:
                os.rmdir(self._base)

    def describe(self) -> str:
        """Where the worlds lie, in words."""
        if self.why_no_mounts:
            return f"the worlds lie in the directory {os.fsdecode(self.top)}, since {self.why_no_mounts}"
        return f"the worlds lie in a private tmpfs at {os.fsdecode(self.top)}"

    def _make_top(self) -> bytes:
        if not self.why_no_mounts:
            top = self._base + b"/epctx"
            os.mkdir(top, 0o755)
            return top
        top = os.fsencode(tempfile.mkdtemp(prefix="epctx-", dir=os.fsdecode(self._base)))
        if self.account.changes:
            os.chmod(top, 0o711)  # the target must get to the world, but need not see what lies beside it
        return top


def _raise_descriptor_limit() -> None:
    """A world holds a descriptor for each of its directories."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _enter_namespace() -> str:
    """Move this process to a mount namespace of its own; the reason why not, or nothing."""
    uid, gid = os.geteuid(), os.getegid()
    try:
        try:
            syscalls.unshare(syscalls.CLONE_NEWNS)
        except PermissionError:
            if uid == 0:  # in a user namespace of its own root could not change to the target's user any more
                raise
            syscalls.unshare(syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS)
            for file, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
                Path("/proc/self", file).write_text(text, encoding="ascii")
        syscalls.mount(b"none", b"/", flags=syscalls.MS_REC | syscalls.MS_PRIVATE)
    except OSError as error:
        threads = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
        hint = f" (this process has {threads} threads, one is allowed)" if threads > 1 and uid != 0 else ""
        return f"there is no mount namespace: {error.strerror}{hint}"
    return ""


def _mount_over(base: bytes, size: int) -> str:
    """Mount the private tmpfs over the directory ``base``; the reason why not, or nothing.

    Never nodev, so that root can make devices in a world. Shared, so that what is mounted in the world later shows in the box of
    a target that runs already.
    """
    try:
        syscalls.mount(b"epctx", base, b"tmpfs", syscalls.MS_NOSUID, b"mode=0755,size=%d" % size)
        syscalls.mount(b"none", base, flags=syscalls.MS_SHARED)
    except OSError as error:
        return f"no tmpfs can be mounted: {error.strerror}"
    return ""


def _base(*, private: bool) -> tuple[bytes, bool]:
    """The directory to lay the ground in, and whether it was made for that."""
    if private and os.path.isdir(_SHARED_MEMORY) and os.path.realpath(_SHARED_MEMORY) == _SHARED_MEMORY:
        return _SHARED_MEMORY.encode(), False
    most = ROOT_DEPTH - len(MARGIN) - 2 - private
    for path in (_SHARED_MEMORY, tempfile.gettempdir(), "/var/tmp", "/tmp"):
        real = os.path.realpath(path)
        if len(Path(real).parts) - 1 <= most and os.path.isdir(real) and os.access(real, os.W_OK):
            return (os.fsencode(tempfile.mkdtemp(prefix="epctx-", dir=real)), True) if private else (os.fsencode(real), False)
    raise HarnessError("there is no room for worlds: neither /dev/shm nor the directory for temporary files can be used")
