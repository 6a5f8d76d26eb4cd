"""The world of a case as a tree, for all reports that draw it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from epctx.case import Case, Device, Dir, Entry, Fifo, File, HardLink, Link, Mount, Socket, Struct, content_of, shown
from epctx.oracle import path_text

Kind: TypeAlias = Literal["root", "dir", "file", "link", "hardlink", "fifo", "socket", "device", "mount", "model", "other"]

KINDS: dict[type[Entry], Kind] = {
    Dir: "dir",
    File: "file",
    Link: "link",
    HardLink: "hardlink",
    Fifo: "fifo",
    Socket: "socket",
    Device: "device",
    Mount: "mount",
}


class Node(Struct, frozen=True):
    """An entry of the world: ``depth`` is 0 for the root, ``path`` its world path as observations write it, ``name`` the last
    part of that for people, and ``about`` what else is to be said of it."""

    depth: int
    path: str
    name: str
    kind: Kind
    about: str = ""


def tree(case: Case, others: Iterable[str] = ()) -> list[Node]:
    """The world of ``case``, each directory before what is in it. ``others`` are paths of observations that the case does not
    declare: what came to be, or lies above the world."""
    labels: dict[str, tuple[Kind, str]] = {path_text(e.path): (KINDS[type(e)], _about(e)) for e in case.world.entries}
    labels[path_text(case.model.path)] = ("model", "the model")
    cwd = path_text(case.world.cwd)
    parts_of = {path: (path,) if path.startswith("/") else tuple(path.split("/")) for path in (*labels, *others) if path != "."}
    every = {parts[:depth] for parts in parts_of.values() for depth in range(1, len(parts) + 1)}
    directories = {parts[:-1] for parts in every}
    nodes = [Node(0, "", "{root}", "root")]
    for parts in sorted(every):
        path, name = "/".join(parts), shown(parts[-1])
        kind, about = labels.get(path, ("dir" if parts in directories else "other", ""))
        words = [about] if about else []
        words += ["working directory"] if path == cwd else []
        nodes.append(Node(len(parts), path, name + "/" if kind in ("dir", "mount") else name, kind, ", ".join(words)))
    return nodes


def _about(entry: Entry) -> str:
    """What a tree says of an entry beside its name."""
    match entry:
        case Dir(mode=mode):
            return f"mode {mode:03o}" if mode != 0o755 else ""
        case File(mode=mode, attribute=attribute):
            content = content_of(entry)
            words = [f"{content.size:,} bytes" + (", sparse" if content.sparse else "")]
            words += [f"mode {mode:03o}"] if mode != 0o644 else []
            words += [attribute] if attribute else []
            return ", ".join(words)
        case Link(to=to):
            return f"-> {shown(to)}"
        case HardLink(to=to):
            return f"hard link to {shown(to)}"
        case Fifo(writer=writer):
            return "FIFO" + (" with an endless writer" if writer else "")
        case Socket():
            return "socket"
        case Device(device=device):
            return f"device {device}"
        case Mount(of=of, size=size, readonly=readonly):
            what = f"mount of {shown(of)}" if of is not None else f"file system of {size:,} bytes"
            return what + (", read-only" if readonly else "")
