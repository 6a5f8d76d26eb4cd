"""Making and removing the entries of a world, each by one directory descriptor and one name, so that no link is ever followed."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
from collections.abc import Callable
from typing import Any

from epctx import syscalls
from epctx.case import (
    TAIL,
    Content,
    Device,
    Dir,
    Fifo,
    File,
    HardLink,
    Link,
    Mount,
    Socket,
    raw,
    stream,
)
from epctx.world.clear import empty, remove
from epctx.world.entries import CannotBuild, Declared, Given, ModelFile, content
from epctx.world.paths import path_of, split, text_of
from epctx.world.plot import Plot
from epctx.world.watch import Watch

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PATH = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_ATTRIBUTES = {"immutable": 0x10, "append-only": 0x20}
_CHARACTER_DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "tty": (5, 0), "whiteout": (0, 0)}
_SMALLEST_FILE_SYSTEM = 4096


class Builder:
    """Makes entries below a plot's root. Paths are world paths; the directory of an entry must exist before it.

    ``directories`` holds a descriptor (open for reading) of every directory that was made; each is watched.
    """

    def __init__(self, plot: Plot, watch: Watch) -> None:
        """Start with the root alone."""
        self._plot, self._watch, self._account = plot, watch, plot.account
        self.directories: dict[bytes, int] = {b"": plot.root_fd}
        self._mounts: list[tuple[bytes, int]] = []
        self._last: list[Callable[[], None]] = []
        self._model_fd, self._model_size = -1, 0
        self._makers: dict[type, Callable[[int, bytes, bytes, Any], None]] = {
            Dir: self._dir,
            File: self._file,
            Given: self._file,
            ModelFile: self._model,
            Link: self._link,
            HardLink: self._hard_link,
            Fifo: self._fifo,
            Socket: self._socket,
            Device: self._device,
            Mount: self._mount,
        }
        watch.add_directory(plot.root_fd, b"")

    def make(self, path: bytes, entry: Declared) -> None:
        """Make one entry. What must come last (modes of directories, attributes) is left to ``finish``. Raises CannotBuild."""
        directory, name = split(path)
        try:
            self._makers[type(entry)](self.directories[directory], name, path, entry)
        except KeyError:
            raise CannotBuild(f"{text_of(directory)} is not a directory of the world") from None
        except OSError as error:
            raise CannotBuild(f"a {type(entry).__name__.lower()} cannot be made here: {error.strerror}") from error

    def finish(self) -> None:
        """Do what must come after all entries are made. Raises CannotBuild."""
        if not self._last:
            return
        last, self._last = self._last, []
        for action in last:
            try:
                action()
            except OSError as error:
                raise CannotBuild(f"the world cannot be finished here: {error.strerror}") from error

    def make_directory(self, path: bytes, mode: int = 0o755) -> None:
        """Make a directory and watch it; its mode counts from ``finish`` on."""
        directory, name = split(path)
        parent = self.directories[directory]
        os.mkdir(name, 0o755, dir_fd=parent)
        self._own(parent, name)
        self._open_directory(parent, name, path)
        if mode != 0o755:
            self._last.append(lambda: os.fchmod(self.directories[path], mode))

    def rewrite_model(self, data: bytes) -> os.stat_result:
        """Replace the bytes of the model file that was made last, in place; its status then."""
        done = os.pwrite(self._model_fd, data, 0)
        while done < len(data):
            done += os.pwrite(self._model_fd, memoryview(data)[done:], done)
        if len(data) < self._model_size:
            os.ftruncate(self._model_fd, len(data))
        self._model_size = len(data)
        return os.fstat(self._model_fd)

    def remove(self, path: bytes) -> None:
        """Remove an entry, if it is there, whatever it is by now, and what is in it."""
        directory, name = split(path)
        remove(name, self.directories[directory])

    def remove_directory(self, path: bytes) -> None:
        """Remove an empty directory that was made."""
        directory, name = split(path)
        os.rmdir(name, dir_fd=self.directories[directory])
        self._drop_directory(path)

    def clear(self) -> None:
        """Remove everything from the world."""
        self._last.clear()
        for _, fd in reversed(self._mounts):
            with contextlib.suppress(OSError):
                syscalls.umount(b"/proc/self/fd/%d" % fd)
            os.close(fd)
        self._mounts.clear()
        self._close_model()
        for path in [path for path in self.directories if path]:
            self._drop_directory(path)
        empty(self._plot.root_fd)

    def _drop_directory(self, path: bytes) -> None:
        os.close(self.directories.pop(path))
        self._watch.forget(path)

    def _open_directory(self, parent: int, name: bytes, path: bytes) -> None:
        fd = os.open(name, _LIST, dir_fd=parent)
        if path in self.directories:
            os.close(self.directories[path])
        self.directories[path] = fd
        self._watch.add_directory(fd, path)

    def _own(self, parent: int, name: bytes) -> None:
        if self._account.changes:
            os.chown(name, self._account.uid, self._account.gid, dir_fd=parent, follow_symlinks=False)

    def _dir(self, _parent: int, _name: bytes, path: bytes, entry: Dir) -> None:
        if path not in self.directories:
            self.make_directory(path, entry.mode)
        else:  # it was implied by an entry before it
            self._last.append(lambda: os.fchmod(self.directories[path], entry.mode))

    def _file(self, parent: int, name: bytes, path: bytes, entry: File) -> None:
        self._regular(parent, name, entry.mode, entry.data if isinstance(entry, Given) else content(entry))
        if entry.attribute:
            self._last.append(lambda: self._set_attribute(path, entry.attribute))

    def _model(self, parent: int, name: bytes, _path: bytes, entry: ModelFile) -> None:
        self._regular(parent, name, 0o644, entry.data)
        self._close_model()
        self._model_fd = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        self._model_size = len(entry.data)

    def _close_model(self) -> None:
        if self._model_fd >= 0:
            os.close(self._model_fd)
            self._model_fd = -1

    def _regular(self, parent: int, name: bytes, mode: int, held: Content | bytes) -> None:
        fd = os.open(name, _CREATE, mode, dir_fd=parent)
        try:
            if self._account.changes:
                os.fchown(fd, self._account.uid, self._account.gid)
            if isinstance(held, bytes):
                _write(fd, held)
            elif held.sparse:
                tail = stream(held.key, min(TAIL, held.size))
                os.ftruncate(fd, held.size)
                os.pwrite(fd, tail, held.size - len(tail))
            elif held.size:
                _write(fd, stream(held.key, held.size))
            if mode & 0o7000:  # a change of the owner or the content cleared these
                os.fchmod(fd, mode)
        finally:
            os.close(fd)

    def _set_attribute(self, path: bytes, attribute: str) -> None:
        directory, name = split(path)
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=self.directories[directory])
        try:
            syscalls.set_file_flags(fd, _ATTRIBUTES[attribute])
        except OSError as error:
            raise CannotBuild(f"a file cannot be made {attribute} here: {error.strerror}") from error
        finally:
            os.close(fd)

    def _link(self, parent: int, name: bytes, _path: bytes, entry: Link) -> None:
        os.symlink(raw(entry.to, self._plot.root), name, dir_fd=parent)  # whose it is makes no difference to anybody

    def _hard_link(self, parent: int, name: bytes, _path: bytes, entry: HardLink) -> None:
        directory, other = split(path_of(entry.to))
        os.link(other, name, src_dir_fd=self.directories[directory], dst_dir_fd=parent, follow_symlinks=False)

    def _fifo(self, parent: int, name: bytes, _path: bytes, _entry: Fifo) -> None:
        os.mkfifo(name, 0o644, dir_fd=parent)
        self._own(parent, name)

    def _socket(self, parent: int, name: bytes, _path: bytes, _entry: Socket) -> None:
        with socket.socket(socket.AF_UNIX) as unix:
            unix.bind(b"/proc/self/fd/%d/%s" % (parent, name))  # an address holds 108 bytes only
        os.chmod(name, 0o755, dir_fd=parent)
        self._own(parent, name)

    def _device(self, parent: int, name: bytes, _path: bytes, entry: Device) -> None:
        if entry.device == "block":
            os.mknod(name, stat.S_IFBLK | 0o666, os.makedev(_unused_block_major(), 0), dir_fd=parent)
        else:
            os.mknod(name, stat.S_IFCHR | 0o666, os.makedev(*_CHARACTER_DEVICES[entry.device]), dir_fd=parent)
        self._own(parent, name)

    def _mount(self, parent: int, name: bytes, path: bytes, entry: Mount) -> None:
        if self._plot.why_no_mounts:
            raise CannotBuild(f"nothing can be mounted: {self._plot.why_no_mounts}")
        source = -1
        if entry.of is not None:
            source_directory, source_name = split(path_of(entry.of))
            source = os.open(source_name, _PATH, dir_fd=self.directories[source_directory])
        try:
            if source < 0 or stat.S_ISDIR(os.fstat(source).st_mode):
                if path not in self.directories:
                    self.make_directory(path)
            else:
                self._regular(parent, name, 0o644, b"")
            point = os.open(name, _PATH, dir_fd=parent)
            try:
                if source < 0:
                    self._mount_new(point, entry.size)
                else:
                    _bind(source, point, readonly=entry.readonly)
            finally:
                os.close(point)
            top = os.open(name, _PATH, dir_fd=parent)
            self._mounts.append((path, top))
            if stat.S_ISDIR(os.fstat(top).st_mode):
                self._open_directory(parent, name, path)
            if source < 0 and entry.readonly:
                flags = syscalls.MS_REMOUNT | syscalls.MS_RDONLY | syscalls.MS_NOSUID
                self._last.append(lambda: syscalls.mount(b"none", b"/proc/self/fd/%d" % top, flags=flags))
        finally:
            if source >= 0:
                os.close(source)

    def _mount_new(self, point: int, size: int) -> None:
        options = b"mode=0755,size=%d" % max(size, _SMALLEST_FILE_SYSTEM)  # 0 would mean no limit
        if self._account.changes:
            options += b",uid=%d,gid=%d" % (self._account.uid, self._account.gid)
        syscalls.mount(b"epctx", b"/proc/self/fd/%d" % point, b"tmpfs", syscalls.MS_NOSUID, options)


def _bind(source: int, point: int, *, readonly: bool) -> None:
    """Bind a directory or file; read-only from the start, since a later change would not reach boxes that exist already."""
    tree = syscalls.open_tree(source, syscalls.OPEN_TREE_CLONE)
    try:
        if readonly:
            syscalls.set_mount_attributes(tree, syscalls.MOUNT_ATTR_RDONLY)
        syscalls.move_mount(tree, point)
    finally:
        os.close(tree)


def _write(fd: int, data: bytes) -> None:
    done = os.write(fd, data)
    while done < len(data):
        done += os.write(fd, memoryview(data)[done:])


def _unused_block_major() -> int:
    """A major number for local use that no block driver has taken, so that opening the device gives an error."""
    with open("/proc/devices", encoding="ascii") as file:
        _, _, block = file.read().partition("Block devices:")
    taken = {int(line.split()[0]) for line in block.splitlines() if line.strip()}
    for major in range(240, 255):
        if major not in taken:
            return major
    raise OSError(errno.ENODEV, "every local block device number has a driver")
