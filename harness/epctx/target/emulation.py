"""Cases on an emulated file system of Windows or macOS: which of them it can show.

pyfakefs has drives, shares, separators, links, hard links, and names in which case does not count. What else a real system does
with a name, and what takes more than one program, is an obstacle, told in a sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator

from msgspec import UNSET

from epctx.case import ROOT_DEPTH, Call, Case, Device, Dir, Fifo, File, Limits, Link, Mount, Platform, Socket, content_of, raw
from epctx.spec import windows

LARGEST = 1 << 20
"""Bytes of the largest file."""
PATH_LONGEST = 1024
"""Bytes of the longest name: pyfakefs knows no limit, and takes its time."""
PLAINTEXT = "plain.no-plaintext"

_FORBIDDEN = re.compile(rb'[<>"|?*\x00-\x1f]')
_IGNORABLE = re.compile("[\u200b-\u200f\u2060-\u206f\ufeff]")
_SPECIAL = {Fifo: "FIFOs", Socket: "sockets", Device: "devices", Mount: "mounts"}


def obstacle(case: Case, platform: Platform) -> str:
    """Why a case cannot be shown on the emulated file system of a platform; else nothing."""
    for entry in case.world.entries:
        if type(entry) in _SPECIAL:
            return f"the emulated file system has no {_SPECIAL[type(entry)]}"
        if isinstance(entry, File) and (entry.attribute or entry.mode != 0o644):
            return "the emulated file system has no permissions of that kind"
        if isinstance(entry, Dir) and entry.mode != 0o755:
            return "the emulated file system has no permissions of that kind"
        if isinstance(entry, File) and content_of(entry).size > LARGEST:
            return "so large a file would be held in memory several times"
    if case.limits.file_size is not None or case.limits.memory != Limits().memory:
        return "the emulated file system has no limits"
    if PLAINTEXT in case.rules:
        return "what is written and removed again during a call cannot be seen on an emulated file system"
    words = next((words for meets, words in _OF_CALLS if any(map(meets, case.calls))), "")
    return words or _of_names(case, platform)


_OF_CALLS: tuple[tuple[Callable[[Call], bool], str], ...] = (
    (lambda call: call.threads is not None, "the emulated file system takes one call after the other"),
    (
        lambda call: call.payload is not None and call.payload.size > LARGEST,
        "so large a file would be held in memory several times",
    ),
    (
        lambda call: call.source == "caller" and any(raw(name, b"/r").startswith(b"//") for name in call.names),
        "what two slashes at the beginning of a path mean is another matter on another system",
    ),
    (
        lambda call: any(len(name) >= PATH_LONGEST or any(len(part) > 255 for part in _parts(name)) for name in _named([call])),
        "the emulated file system knows no longest name",
    ),
)
"""What a call takes for granted that is not emulated, and the reason in words."""


def _of_names(case: Case, platform: Platform) -> str:
    names, paths = list(_named(case.calls)), list(_paths(case))
    links = [raw(entry.to, b"/r") for entry in case.world.entries if isinstance(entry, Link)]
    late = any(b".." in _parts(re.sub(rb"\A(\.\./)+", b"", link)) for link in links)
    if late or (links and any(b".." in _parts(name) for name in (raw(case.model.given), *names))):
        return "what `..` means after a link is emulated now in one way, now in another"
    if any(_parts(link).count(b"..") > ROOT_DEPTH for link in links):
        return "a link that climbs beyond the top leads nowhere on the emulated file system"
    if _twice(case):
        return "of two names in the world that differ in case alone, the file system keeps one"
    if platform == "macos":
        return _of_macos([*names, *paths])
    if any(windows.odd(part) for name in (*names, *paths) if not windows.rooted(name) for part in _parts(name)):
        return "the emulated file system has no devices and no streams, and keeps dots and spaces at the end of a name"
    if any(_FORBIDDEN.search(path) for path in (*names, *paths)):
        return "Windows has no file of such a name, and the emulated file system has"
    return ""


def _of_macos(names: Iterable[bytes]) -> str:
    for name in names:
        try:
            text = name.decode()
        except UnicodeDecodeError:
            return "macOS has no file whose name is not UTF-8, and the emulated file system has"
        if not unicodedata.is_normalized("NFC", text) or not unicodedata.is_normalized("NFD", text) or _IGNORABLE.search(text):
            return "the emulated file system tells apart what are forms of one name to macOS"
    return ""


def _parts(name: bytes) -> list[bytes]:
    return name.replace(b"\\", b"/").split(b"/")


def _named(calls: Iterable[Call]) -> Iterator[bytes]:
    """The names by which files may be asked for: with a callback, the name is that one's."""
    for call in calls:
        by_callback = call.read_callback if call.op == "read" else call.write_callback
        if not by_callback:
            yield from map(raw, call.names)
        if not by_callback and call.fallback is not UNSET and call.fallback is not None:
            yield raw(call.fallback)


def _paths(case: Case) -> Iterator[bytes]:
    """The paths of a world, where links lead to, and the path of the model."""
    for entry in case.world.entries:
        if b"\\" not in raw(entry.path):  # which is none on Windows, and left out there
            yield raw(entry.path)
        if isinstance(entry, Link):
            yield raw(entry.to)
    yield raw(case.model.given)


def _twice(case: Case) -> bool:
    """Whether two paths of a world are one where case does not count."""
    whole = [raw(entry.path).split(b"/") for entry in case.world.entries]
    paths = {b"/".join(parts[:n]) for parts in whole for n in range(1, len(parts) + 1)}
    return len({path.decode("utf-8", "surrogateescape").casefold() for path in paths}) < len(paths)
