"""Dictionaries: the tokens that names are made from, in the format of libFuzzer and AFL, and files with a name on each line.

A file called ``.dict`` is in that format: each line is empty, a comment that starts with ``#``, or a token in double quotes,
maybe with a keyword and ``=`` in front. In the quotes, ``\\\\``, ``\\"`` and ``\\xHH`` stand for a byte. Of any other file each
line is a name, as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from epctx.case import Name, name_of
from epctx.errors import UsageError

LONGEST = 4096
"""Bytes of the longest token that is taken."""

_LINE = re.compile(rb'\s*(?:[\w.@-]+\s*=\s*)?"((?:[^"\\]|\\["\\]|\\x[0-9a-fA-F]{2})+)"\s*')
_ESCAPE = re.compile(rb'\\(?:x([0-9a-fA-F]{2})|(["\\]))')


def read(path: Path) -> tuple[Name, ...]:
    """The tokens of a dictionary, as names. UsageError if it cannot be read, holds none, or something that is none."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror}; name a dictionary in libFuzzer's format (.dict), or a file of names."
        ) from None
    tokens = _entries(path, lines) if path.suffix == ".dict" else [line for line in lines if line]
    if not tokens or max(map(len, tokens)) > LONGEST:
        raise UsageError(f"{path} holds no token, or one of more than {LONGEST} bytes.")
    return tuple(map(name_of, tokens))


def dumps(tokens: Iterable[bytes], about: str) -> str:
    """A dictionary in libFuzzer's format, which says at its top what it is ``about``."""
    return "".join([f"# {about}\n", *(f'"{_quoted(token)}"\n' for token in tokens)])


def _entries(path: Path, lines: Iterable[bytes]) -> list[bytes]:
    tokens = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith(b"#"):
            continue
        found = _LINE.fullmatch(line)
        if not found:
            raise UsageError(
                f'{path}, line {number}: this is no token; write "...", with \\\\, \\" and \\xHH for what is special.'
            )
        tokens.append(_ESCAPE.sub(lambda escape: bytes.fromhex(escape[1].decode()) if escape[1] else escape[2], found[1]))
    return tokens


def _quoted(token: bytes) -> str:
    plain = {ord('"'): '\\"', ord("\\"): "\\\\"}
    return "".join(plain.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}") for byte in token)
