"""What makes two findings the same: the rule, how it was broken, and the shape of the smallest case that breaks it."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from epctx.case import Case, Name, raw
from epctx.oracle import Profile, Verdict, expectations


class Sign(NamedTuple):
    """What can be told of a finding before its case is shrunk: findings with other signs are not the same."""

    rule: str
    op: str
    source: str
    outcome: str
    decides: str
    """The rule by which the specification decides the call."""

    def alike(self, other: Sign) -> bool:
        """Whether the same rule is broken in the same way, by whatever call."""
        return (self.rule, self.op, self.outcome) == (other.rule, other.op, other.outcome)


def signs(case: Case, verdict: Verdict, profile: Profile) -> dict[Sign, int]:
    """The signs of a verdict's findings, each with the index of the call that it is about."""
    found: dict[Sign, int] = {}
    decided = expectations(case, profile) if verdict.fails else ()
    for finding in verdict.findings:
        if finding.fails:
            call = case.calls[finding.call]
            sign = Sign(finding.rule, call.op, call.source, verdict.outcomes[finding.call], decided[finding.call].rule)
            found.setdefault(sign, finding.call)
    return found


def fingerprint(sign: Sign, case: Case) -> str:
    """Twelve hex digits that stay the same from run to run and from release to release: for the sign, and the shape of a case."""
    kinds = sorted(type(entry).__name__ for entry in case.world.entries)
    names = [shape(name) for call in case.calls for name in call.names]
    text = repr((*sign, kinds, names, bool(case.model.given), case.world.cwd != ""))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def shape(name: Name) -> str:
    """A name with its letters made one: ``../outside/secret.bin`` is ``../w/w``."""
    data = raw(name)[:256]
    text = data.decode("utf-8", "backslashreplace").replace("{root}", "/root")
    return re.sub(r"(?<![^/])(?!\.{1,2}(?:/|$))[^/\x00]+", "w", text)
