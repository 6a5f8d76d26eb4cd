"""The dictionary: what the names of the listed cases are made from, for engines that string bytes together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import UNSET

from epctx.case import Case, Link, raw
from epctx.fuzz import dictionary

ABOUT = "What the names of epctx's cases are made from; written by `python -m epctx_corpora freeze`."
LONGEST = 32
"""Bytes of the longest token: of longer components no engine makes others by chance."""
LEAST = 2
"""A component counts that so many cases have; what one alone has is most likely a word."""
SERIES = 8
"""Components that differ in a number alone, and are more than that, have one of them stand for all."""
SEPARATORS = (b"/", b"//", b"/./", b"/../", b"../", b"..\\", b"\\", b"\\\\", b":", b"\0")
_ENCODED = re.compile(rb"%[A-Z]+%|(?:%[0-9a-fA-F]{2})+|\\x[0-9a-f]{2}|[\x80-\xff]+|[\x00-\x1f\x7f]|\$\{?\w+\}?|~\w*")
"""What stands for something else in one world or another: percent-encoding, bytes beyond ASCII, control characters, variables."""


def tokens(cases: Iterable[Case]) -> list[bytes]:
    """The components of names and of link texts that several cases have, what is encoded in them, and separators; sorted."""
    counts: Counter[bytes] = Counter()
    for case in cases:
        counts.update({token for text in _texts(case) for token in _parts(text)})
    several = sorted(token for token, count in counts.items() if count >= LEAST)
    series = Counter(map(_series, several))
    first = {_series(token): token for token in reversed(several)}
    kept = (token for token in several if series[_series(token)] <= SERIES or first[_series(token)] == token)
    return sorted({*SEPARATORS, *kept})


def text(cases: Iterable[Case]) -> str:
    """The dictionary as a file."""
    return dictionary.dumps(tokens(cases), ABOUT)


def _texts(case: Case) -> Iterator[bytes]:
    yield from (raw(entry.to) for entry in case.world.entries if isinstance(entry, Link))
    for call in case.calls:
        yield from map(raw, call.names)
        if call.fallback is not UNSET and call.fallback is not None:
            yield raw(call.fallback)
    for node in case.model.nodes:
        yield from (raw(attribute.text) for attribute in node.attributes if attribute.text is not None)


def _parts(text: bytes) -> Iterator[bytes]:
    for part in re.split(rb"[/\\\x00]+", text):
        if 0 < len(part) <= LONGEST and b"{root}" not in part:
            yield part
    yield from (part for part in _ENCODED.findall(text) if len(part) <= LONGEST)


def _series(token: bytes) -> bytes:
    return re.sub(rb"\d+", b"0", token)
