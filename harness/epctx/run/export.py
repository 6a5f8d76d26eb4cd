"""Cases as files on disk: the model, the world around it, and ``case.json``."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path

from epctx.case import TAIL, Case, Dir, Entry, Fifo, File, HardLink, Link, Socket, content_of, raw, shown, stream
from epctx.case_file import dumps
from epctx.errors import UsageError
from epctx.model import model_bytes

SPECIAL: dict[str, tuple[type, ...]] = {"links": (Link, HardLink), "fifos": (Fifo, Socket)}
"""What is only made on request, by the option that asks for it."""


def export(directory: Path, cases: Sequence[Case], special: Sequence[type] = ()) -> int:
    """Write each case to a folder of ``directory`` named by its id; the number of entries that were left out.

    Folders and files are always made, entries of the types in ``special`` on request, devices and mounts never. UsageError if the
    directory is neither new nor empty; nothing is ever overwritten.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise UsageError(f"{directory} is not empty; name a new directory to export to.")
        return sum(_export(directory.absolute() / case.id, case, special) for case in cases)
    except OSError as error:
        raise UsageError(f"{error.filename or directory}: {error.strerror}; name a directory that can be written to.") from None


def _export(folder: Path, case: Case, special: Sequence[type]) -> int:
    root = os.fsencode(folder / "world")
    os.makedirs(root)
    (folder / "case.json").write_text(dumps(case) + "\n", encoding="utf-8")
    made = [e for e in case.world.entries if isinstance(e, (Dir, File, *special))]
    for entry in sorted(made, key=lambda e: not isinstance(e, Dir | File)):  # links last, so that nothing is made through one
        _make(os.path.join(root, raw(entry.path)), root, entry)
    if case.model.given:
        path = os.path.join(root, raw(case.model.path))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _write(path, model_bytes(case, root))
    else:
        _write(os.fsencode(folder / "model.onnx"), model_bytes(case, root))
    left_out = [e for e in case.world.entries if e not in made]
    if left_out:
        text = "".join(f"{type(e).__name__.lower()} {shown(e.path, 4096)}\n" for e in left_out)
        (folder / "LEFT-OUT.txt").write_text(text, encoding="utf-8")
    return len(left_out)


def _make(path: bytes, root: bytes, entry: Entry) -> None:
    os.makedirs(path if isinstance(entry, Dir) else os.path.dirname(path), exist_ok=True)
    match entry:
        case File():
            content = content_of(entry)
            if content.sparse:
                _write(path, stream(content.key, min(TAIL, content.size)), content.size)
            else:
                _write(path, stream(content.key, content.size))
        case Link():
            os.symlink(raw(entry.to, root), path)
        case HardLink():
            os.link(os.path.join(root, raw(entry.to)), path, follow_symlinks=False)
        case Fifo():
            os.mkfifo(path)
        case Socket():
            _socket(path)


def _write(path: bytes, data: bytes, size: int | None = None) -> None:
    """Make a new file that ends with ``data`` and has ``size`` bytes."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    with os.fdopen(fd, "wb") as file:
        if size is not None:
            file.seek(size - len(data))
        file.write(data)


def _socket(path: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        directory = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)
        try:
            listener.bind(b"/proc/self/fd/%d/" % directory + os.path.basename(path))  # a socket's own path may not be long
        finally:
            os.close(directory)
