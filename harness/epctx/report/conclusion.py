"""What a run comes to, in words: the last line of the terminal report, and the first of others."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from epctx.report.comparison import Comparison
from epctx.report.console import plural
from epctx.report.record import Footer, Header

Mood: TypeAlias = Literal["good", "open", "bad"]

OPENS_ONLY = "only which file is opened counts"
"""Said where nothing can be loaded and run."""


class Conclusion(NamedTuple):
    """Plainly whether the target held (``claim``), what that rests on (``grounds``, which may be empty), and how good it is."""

    claim: str
    grounds: str
    mood: Mood

    def __str__(self) -> str:
        return f"{self.claim}: {self.grounds}" if self.grounds else self.claim


def conclude(head: Header, foot: Footer) -> Conclusion:
    """What a run comes to."""
    failing = foot.failing
    target = f"{head.target} ({head.met})" if head.met else head.target
    ran = sum(foot.counts.values())
    opens = f"; {OPENS_ONLY}" if head.opens_only else ""
    early = f" so far: the run {'was interrupted' if foot.interrupted else 'stopped'} after {ran} of {plural(head.cases, 'case')}"
    until = early if ran < head.cases else ""
    stale = "; the baseline is stale" if foot.stale else ""
    if failing:
        breaks = "breaks" if failing == 1 else "break"
        new = f", {failing - foot.known} of them new" if foot.known < failing and foot.known else ""
        but = "" if foot.known < failing else ", but nothing is new"
        grounds = f"{failing} of {plural(foot.judged, 'case')} {breaks} rules of profile {head.profile}{new}{until}{opens}{stale}"
        return Conclusion(f"{target} does not hold{but}", grounds, "open" if but and not stale else "bad")
    if foot.held:
        grounds = f"every rule of profile {head.profile} held in {plural(foot.judged, 'case')}{opens}{stale}"
        return Conclusion(f"{target} holds", grounds, "bad" if stale else "good")
    if errors := foot.counts.get("error"):
        return Conclusion(f"no verdict on {target}", f"{plural(errors, 'case')} could not be run{until}{stale}", "bad")
    grounds = f"nothing failed{until}" if until else "nothing ran"
    return Conclusion(f"no verdict on {target}", f"{grounds}{stale}", "open")


def conclude_comparison(compared: Comparison) -> Conclusion:
    """What a comparison comes to."""
    worse, better, other = (len(compared.of(kind)) for kind in ("worse", "better", "other"))
    numbers = f"{plural(worse, 'finding')} worse, {plural(better, 'finding')} better, {other} changed otherwise"
    names = f"{compared.before.header.target} -> {compared.after.header.target}"
    mood: Mood = "bad" if worse else "good" if compared.compared else "open"
    return Conclusion(names, f"{numbers}, in {plural(compared.compared, 'case')} that both runs judged", mood)
