"""Which cases run: globs over ids, and skips that carry their reason."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from difflib import get_close_matches

from epctx.case import Case, Struct
from epctx.errors import NothingRan, UsageError


class Skip(Struct, frozen=True):
    """Cases whose id matches ``glob`` do not run, because of ``reason``."""

    glob: str
    reason: str


def skip(text: str) -> Skip:
    """Read ``GLOB: REASON``; UsageError without a reason."""
    glob, colon, reason = text.partition(": ")
    if not colon or not reason.strip():
        raise UsageError(f"--skip {text!r}: give a reason, as in --skip 'links/*: ticket 12'.")
    return Skip(glob.strip(), reason.strip())


def matcher(glob: str) -> re.Pattern[str]:
    """A pattern for ids: ``*`` and ``?`` are wild, brackets are the brackets of a variant."""
    return re.compile(fnmatch.translate(glob.replace("[", "[[]")))


def select(cases: Sequence[Case], only: Sequence[str] = (), skips: Sequence[Skip] = ()) -> tuple[list[Case], dict[str, str]]:
    """The cases to run, and the reason for each id that is skipped.

    A glob that matches no case is a UsageError: a mistyped ``only`` would test less than was asked, and a stale skip hides
    nothing any more. NothingRan if no case is left.
    """
    chosen = list(cases)
    if only:
        wanted = [_used(glob, cases, "--only") for glob in only]
        chosen = [c for c in chosen if any(w.match(c.id) for w in wanted)]
    skipped: dict[str, str] = {}
    for entry in skips:
        pattern = _used(entry.glob, cases, "--skip")
        skipped |= {c.id: entry.reason for c in chosen if pattern.match(c.id)}
    kept = [c for c in chosen if c.id not in skipped]
    if not kept:
        raise NothingRan("No case is left to run; loosen --only or --skip.")
    return kept, skipped


def _used(glob: str, cases: Sequence[Case], option: str) -> re.Pattern[str]:
    pattern = matcher(glob)
    if not any(pattern.match(c.id) for c in cases):
        ids = [c.id for c in cases]
        near = get_close_matches(glob, [*ids, *dict.fromkeys(i.partition("/")[0] + "/*" for i in ids)], 1, 0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        stale = "the skip is stale" if option == "--skip" else "nothing would run"
        raise UsageError(f"{option} {glob!r} matches no case, so {stale}{hint}")
    return pattern
