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


def select(
    cases: Sequence[Case], only: Sequence[str] = (), skips: Sequence[Skip] = (), *, controls: bool = False
) -> tuple[list[Case], dict[str, str]]:
    """The cases to run, and the reason for each id that is skipped; with ``controls`` also those, whatever ``only`` says.

    A glob that matches no case is a UsageError: a mistyped ``only`` would test less than was asked, and a stale skip hides
    nothing any more. NothingRan if no case is left that was asked for.
    """
    wanted = [matching(glob, cases, "--only", "nothing would run") for glob in only] or [matcher("*")]
    reasons: dict[str, str] = {}
    for entry in skips:
        pattern = matching(entry.glob, cases, "--skip", "the skip is stale")
        reasons |= {c.id: entry.reason for c in cases if pattern.match(c.id)}
    asked = {c.id for c in cases if any(w.match(c.id) for w in wanted)}
    chosen = [c for c in cases if c.id in asked or (controls and c.intent == "control")]
    if not asked - reasons.keys():
        raise NothingRan("No case is left to run; loosen --only or --skip.")
    kept = [c for c in chosen if c.id not in reasons]
    return kept, {c.id: reasons[c.id] for c in chosen if c.id in reasons}


def matching(glob: str, cases: Sequence[Case], where: str, so: str) -> re.Pattern[str]:
    """The pattern of a glob; UsageError where it matches none of ``cases``, which says ``where`` it is, and what follows."""
    pattern = matcher(glob)
    if not any(pattern.match(c.id) for c in cases):
        ids = [c.id for c in cases]
        near = get_close_matches(glob, [*ids, *dict.fromkeys(i.partition("/")[0] + "/*" for i in ids)], 1, 0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"{where} {glob!r} matches no case, so {so}{hint}")
    return pattern
