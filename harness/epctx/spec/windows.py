"""What Windows makes of a name: roots, separators, and components that do not mean what they say."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

Rooted: TypeAlias = Literal["", "drive", "drive-relative", "root-relative", "unc", "device"]

_DEVICE = re.compile(
    rb"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)(?:[0-9]|\xc2\xb9|\xc2\xb2|\xc2\xb3))[ ]*(?:[.:].*)?\Z",
    re.IGNORECASE | re.DOTALL,
)
_WORDS: dict[Rooted, str] = {
    "drive": "has a drive",
    "drive-relative": "is relative to the working directory of a drive",
    "root-relative": "starts at the root of the present drive",
    "unc": "names a share on the network",
    "device": "is a path in the device namespace",
}


def rooted(name: bytes) -> Rooted:
    """Whether a name is more than a plain relative one, and how (``std::filesystem``: a root name or a root directory)."""
    slashed = name.replace(b"/", b"\\")
    if slashed.startswith((b"\\\\?\\", b"\\\\.\\", b"\\??\\")) or slashed in (b"\\\\?", b"\\\\.", b"\\??"):
        return "device"
    if slashed.startswith(b"\\\\"):
        return "unc"
    if slashed.startswith(b"\\"):
        return "root-relative"
    if len(name) >= 2 and name[1:2] == b":" and name[:1].isalpha():
        return "drive" if slashed[2:3] == b"\\" else "drive-relative"
    return ""


def rooted_words(kind: Rooted) -> str:
    """The predicate of a sentence about a rooted name."""
    return _WORDS[kind]


def odd(part: bytes) -> str:
    """Why a component does not name the file that it spells, in words; empty if it does."""
    if part in (b"", b".", b".."):
        return ""
    if _DEVICE.match(part):
        return "is the name of a device"
    if b":" in part:
        return "names an alternate stream"
    if part.endswith((b".", b" ")):
        return "ends in a dot or space, which Windows drops"
    return ""


def valid_utf8(name: bytes) -> bool:
    """Whether the name can be converted to the wide characters that Windows wants."""
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True
