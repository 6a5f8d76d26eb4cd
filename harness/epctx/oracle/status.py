"""The rule on status codes, judged apart from safety."""

from __future__ import annotations

from epctx.observation import UNSAID
from epctx.oracle.rule import HELD, Broken, Look, Ruling, rule


@rule(
    "status.code",
    "spec",
    "medium",
    "Named-Buffer I/O Callbacks",
    applies=lambda look: (
        look.refused and look.expect.outcome == "refuse" and look.expect.status is not None and look.seen.code != UNSAID
    ),
)
def code(look: Look) -> Ruling:
    """The code that the specification names comes back.

    A loader that refuses with another code is not unsafe, but its application cannot tell a hostile name from a missing file.
    """
    return HELD if look.seen.code == look.expect.status else Broken(f"code {look.expect.status}", look.happened)
