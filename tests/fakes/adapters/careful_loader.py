"""A loader in pure Python that keeps all rules, as an adapter for epctx: to read, and to take over."""

from __future__ import annotations

import errno
import os
import re
import stat
import tempfile

from epctx.adapter import FAIL, INVALID_ARGUMENT, Buffer, Call, ReadCall, Refused, WriteCall

LONGEST, LARGEST = 4096, 1 << 32
DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *([.:]|\Z)", re.IGNORECASE)
"""What Windows takes for a device, whatever its extension."""


class Loader:
    """Finds out what a name leads to, sees that it is a regular file in the directory of the model, and only then opens it."""

    def read(self, call: ReadCall) -> Buffer:
        """The content for a name: what the callback gives, else what the file holds."""
        if not call.name:
            raise Refused(INVALID_ARGUMENT, "the name is empty")
        if call.callback:
            return call.callback(call.name)
        file = self.opened(self.place(call, call.name, writes=False))
        with open(file, "rb") as stream:
            size = os.fstat(file).st_size
            if size > LARGEST:
                raise Refused(FAIL, "the file is too large")
            return stream.read(size)

    def write(self, call: WriteCall) -> None:
        """Hand the payload to the callback, else put it into the file, whole or not at all."""
        if not call.name:
            raise Refused(INVALID_ARGUMENT, "the name is empty")
        if call.callback:
            call.callback(call.name, call.payload)
            return
        name = call.name if call.fallback is None else call.fallback
        if not name:
            raise Refused(INVALID_ARGUMENT, "the name of the file is empty")
        self.put(self.place(call, name, writes=True), call.payload)

    def place(self, call: Call, name: str, writes: bool) -> str:
        """The path of the file that a name stands for. Refused if it may not be used."""
        if "\0" in name:
            raise Refused(INVALID_ARGUMENT, "the name holds a NUL")
        if len(os.fsencode(name)) >= LONGEST:
            raise Refused(INVALID_ARGUMENT, "the name is too long")
        if os.sep == "\\":
            name = self.on_windows(name)
        path = name if call.trusted else self.inside(call, name)
        if name.endswith(os.sep) or os.path.basename(name) in (os.curdir, os.pardir):
            raise Refused(INVALID_ARGUMENT, "the name is that of a directory")
        if writes and os.path.islink(path if call.trusted else os.path.join(call.directory or "", name)):
            self.check_link(call, path)
        return path

    def on_windows(self, name: str) -> str:
        """The name as Windows writes it. Refused where it means something else there than it says."""
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise Refused(INVALID_ARGUMENT, "the name is not UTF-8")
        name = name.replace("/", os.sep)
        for part in os.path.splitdrive(name)[1].split(os.sep):
            if part not in (os.curdir, os.pardir) and (part.rstrip(". ") != part or ":" in part or DEVICE.match(part)):
                raise Refused(INVALID_ARGUMENT, "the name is that of a device or a stream, or ends in what Windows drops")
        return name

    def inside(self, call: Call, name: str) -> str:
        """The real path of a name from a model, which does not lead out of the directory of that."""
        if call.directory is None:
            raise Refused(INVALID_ARGUMENT, "a model from memory has no directory")
        if os.path.isabs(name) or os.path.splitdrive(name)[0]:
            raise Refused(INVALID_ARGUMENT, "the name is absolute")
        base = os.path.realpath(call.directory)
        path = self.resolved(os.path.join(base, name))
        if os.path.commonpath((base, path)) != base:
            raise Refused(INVALID_ARGUMENT, "the name leads out of the directory of the model")
        return path

    def resolved(self, path: str) -> str:
        """The real path: what exists of it with its links resolved, the rest by its text. Refused where links go in a circle."""
        there, missing = path, list[str]()
        while True:
            try:
                real = os.path.realpath(there, strict=True)
            except OSError as error:
                if error.errno == errno.ELOOP:
                    raise Refused(INVALID_ARGUMENT, "the links of the name go in a circle") from None
                there, _, last = there.rpartition(os.sep)
                missing.insert(0, last)
                continue
            found = os.path.normpath(os.path.join(real, *missing))
            # what is missing may have been taken back by `..`, after which links count again
            return found if os.pardir not in missing else self.resolved(found)

    def check_link(self, call: Call, path: str) -> None:
        """Refuse to write through a link: a trusted name's, and one whose target does not exist."""
        if call.trusted or not os.path.exists(path):
            raise Refused(INVALID_ARGUMENT, "the name is a link")

    def opened(self, path: str) -> int:
        """A descriptor of a regular file."""
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise Refused(INVALID_ARGUMENT, "this is no regular file")
            file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise Refused(FAIL, f"the file cannot be opened: {error.strerror}") from None
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise Refused(INVALID_ARGUMENT, "this is no regular file any more")
        return file

    def put(self, path: str, content: bytes) -> None:
        """Write a file beside the one to be replaced, then put it in its place."""
        if os.path.lexists(path) and not stat.S_ISREG(os.stat(path).st_mode):
            raise Refused(INVALID_ARGUMENT, "what is there is no regular file")
        try:
            made, beside = tempfile.mkstemp(dir=os.path.dirname(path))
            try:
                with open(made, "wb") as file:
                    file.write(content)
                os.replace(beside, path)
            except BaseException:
                os.unlink(beside)
                raise
        except OSError as error:
            raise Refused(FAIL, f"the file cannot be written: {error.strerror}") from None
