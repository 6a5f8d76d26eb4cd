"""A run as data: a header, a line for each case, a footer. Every report is made of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import astuple

from epctx.case import Case, Sanitizer, Struct
from epctx.errors import INTERRUPTED
from epctx.observation import Observation, RaceSeen
from epctx.oracle import DESIGN, Profile, Result, Scope, Verdict
from epctx.run.baseline import Entry

FORMAT = 2
"""Version of the format of saved runs."""

JUDGED: tuple[Result, ...] = ("pass", "note", "fail", "hang", "crash")
"""The results of cases that ran to a judgement."""
FAILING: tuple[Result, ...] = ("fail", "hang", "crash")
"""The results of cases that break a rule of the profile."""


class Header(Struct, frozen=True, tag="header", omit_defaults=False):
    """What ran, on what, judged how. ``box`` says in words how the target was isolated, ``ort`` which ONNX Runtime it met.

    ``unboxed`` is whether the user asked for no isolation, ``boxed`` whether there was any.
    """

    target: str
    profile: str
    cases: int
    box: str
    ort: str
    epctx: str
    started: str
    """Time of the start, ISO 8601 with the offset from UTC."""
    format: int = FORMAT
    contract: str = DESIGN
    """Whose demands the target is held to, in words."""
    scope: Scope = "contract"
    """Whether it is judged by the whole contract, or by its effects on files and the bytes that it gives alone."""
    by_itself: bool = True
    """Whether the profile is the one that goes with the target by itself."""
    met: str = ""
    """What the target is, with its release, where its name does not say it."""
    opens_only: bool = False
    """Whether good data cannot be loaded and run here, so that a name counts as accepted once a file was opened for it."""
    notes: tuple[str, ...] = ()
    """What is special about the target, and what a verdict on it does not show."""
    sessions: bool = False
    """Whether the target was met in real sessions of that ONNX Runtime."""
    lent: bool = False
    """Whether the target looks for functions of another ONNX Runtime, and gets them from epctx."""
    policies: dict[str, str] = {}
    boxed: bool = True
    unboxed: bool = False
    sanitizer: Sanitizer | None = None
    instrumented: bool = True
    """Whether the target was built for the sanitizer, and not the driver alone."""
    chunking: bool = False
    """Whether the target declares that it hands payloads to a write callback in pieces."""
    files: tuple[str, ...] = ()
    """The case files that were run in place of the listed cases."""
    skipped: dict[str, str] = {}
    """The cases that the user skips, each with its reason."""
    baselines: tuple[str, ...] = ()
    """The files that say which findings are known."""
    expired: tuple[Entry, ...] = ()
    """The entries of those files that do not count any more."""
    judged_by: Profile | None = None
    """The profile as this target is judged by it, which says what was expected of each call."""
    source: str = ""
    """The file that findings are about, for reports that point into code: relative to the repository that it is in, if any."""
    line: int = 1
    """The line of that file."""
    settings: str = ""
    """The file that the settings are from."""
    patience: float | None = None
    """Seconds that each call was granted, whatever its case says."""


class Line(Struct, frozen=True, tag="case"):
    """What was seen of one case and what it means.

    ``known`` are the rules that it breaks and a baseline knows of, each with the reason.
    """

    index: int
    case: Case
    verdict: Verdict
    observation: Observation
    known: dict[str, str] = {}


class Footer(Struct, frozen=True, tag="footer"):
    """How a run ended. A saved run without one was cut off."""

    counts: dict[Result, int]
    held: bool
    seconds: float
    interrupted: bool = False
    """Whether the run was ended before all cases had run."""
    races: RaceSeen | None = None
    """How the rounds of all reads that raced with an attacker ended, added up; None if there was none."""
    known: int = 0
    """How many cases fail, and break no rule but such as a baseline knows of."""
    stale: tuple[Entry, ...] = ()
    """The entries of baselines that no longer occur, each with those of its globs of which that is so."""

    @property
    def failing(self) -> int:
        """How many cases break a rule of the profile."""
        return sum(self.counts.get(r, 0) for r in FAILING)

    @property
    def judged(self) -> int:
        """How many cases were judged, rather than skipped or lost to an error."""
        return sum(self.counts.get(r, 0) for r in JUDGED)

    @property
    def exit_code(self) -> int:
        """What ``epctx check`` exits with."""
        if self.interrupted:
            return INTERRUPTED
        if self.failing > self.known:
            return 1
        if self.counts.get("error"):
            return 3
        if self.stale:
            return 1
        return 0 if self.judged else 4


class Run(NamedTuple):
    """A run that has ended, or was interrupted: all that a report is made of. The lines are in the order of the cases."""

    header: Header
    lines: Sequence[Line]
    footer: Footer


def footer(
    verdicts: Sequence[Verdict],
    observations: Iterable[Observation],
    seconds: float,
    interrupted: bool = False,
    known: int = 0,
    stale: tuple[Entry, ...] = (),
) -> Footer:
    """Sum up a run. The target held if something ran to its end, and no rule of the profile broke, known or not."""
    counts: Counter[Result] = Counter(v.result for v in verdicts)
    held = any(counts[r] for r in JUDGED) and not any(v.fails for v in verdicts) and not counts["error"] and not interrupted
    # what a write did to a file outside is seen when its last round is over, not round by round
    races = [seen.race for o in observations for seen in o.calls if seen.race and seen.output]
    total = RaceSeen(*map(sum, zip(*map(astuple, races), strict=True))) if races else None
    return Footer(dict(sorted(counts.items())), held, round(seconds, 3), interrupted, total, known, stale)
