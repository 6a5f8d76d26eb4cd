"""What a person sees of a campaign: a view that changes on a terminal, a line now and then elsewhere, and each finding."""

from __future__ import annotations

import shlex
from collections import Counter, deque
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from epctx.fuzz.campaign import Progress
from epctx.fuzz.store import Found, State
from epctx.oracle import SEVERITIES
from epctx.report.console import indented, plural
from epctx.report.terminal import COLOURS, labelled

NOW = 10.0
"""Seconds that the present rate is measured over."""
MINUTES = 12
"""So many of the last minutes are shown."""
COMPANY = "only in company: alone the case does not fail, so what ran before it may be the cause"


class Course:
    """The course of a campaign, as its progress tells it, by a clock that all functions are given in seconds.

    ``state`` and ``found`` are what it began with. It ends after some ``seconds``, or when it had ``most`` cases more.
    """

    def __init__(self, state: State, found: Iterable[Found], jobs: int, seconds: float, most: int | None, now: float) -> None:
        self.state, self.findings = state, Counter((f.severity, f.rule) for f in found)
        self.new = [0]
        """How many ways to fail were new in each minute."""
        self._first, self._jobs, self._seconds, self._most, self._start = state, jobs, seconds, most, now
        self._ahead = self._looking = self._lost = 0
        self._before: deque[tuple[float, int]] = deque([(now, state.cases)])

    def see(self, progress: Progress, now: float) -> None:
        """Take down how far the campaign is."""
        minute = int((now - self._start) // 60)
        self.new += [0] * (minute + 1 - len(self.new))
        self.new[minute] += len(progress.state.signs) - len(self.state.signs)
        self.state, self._ahead, self._looking, self._lost = progress.state, progress.ahead, progress.looking, progress.lost
        self.findings.update((f.severity, f.rule) for f in progress.found)
        self._before.append((now, self.cases))
        while now - self._before[0][0] > NOW:
            self._before.popleft()

    def ended(self, now: float) -> bool:
        """Whether the campaign had its time, or its cases."""
        enough = self._most is not None and self.state.cases - self._first.cases >= self._most
        return enough or now - self._start >= self._seconds

    @property
    def cases(self) -> int:
        """How many cases were judged."""
        return self.state.cases + self._ahead

    def rate(self, now: float) -> float:
        """Cases a second since the start."""
        return (self.cases - self._first.cases) / max(now - self._start, 1e-9)

    def rate_now(self, now: float) -> float:
        """Cases a second of late."""
        since, cases = self._before[0]
        return (self.cases - cases) / max(now - since, 1e-9)

    def line(self, now: float) -> str:
        """All of it in a line."""
        found = plural(self.findings.total(), "finding")
        cases, rate = self._cases(self.state.cases), f"{self.rate(now):,.0f} cases/s"
        return f"{_clock(now - self._start)}  {cases}, {self._failing()}, {found}, {rate}"

    def view(self, now: float) -> Table:
        """All of it for somebody who looks on."""
        passed = now - self._start
        left = "" if self._most is not None else f", {_clock(self._seconds - passed)} left"
        rows: list[tuple[str, str | Text]] = [
            ("time", f"{_clock(passed)}{left}"),
            ("rate", f"{self.rate_now(now):,.0f} cases/s now, {self.rate(now):,.0f} overall"),
            ("cases", self._cases(self.cases) + (f" of {self._first.cases + self._most:,}" if self._most is not None else "")),
            ("failing", self._failing()),
            ("new ways", f"{' '.join(map(str, self.new[-MINUTES:]))}  by minute"),
            ("workers", self._workers()),
        ]
        around = len(rows)
        for severity in SEVERITIES:
            for rule, count in sorted((rule, count) for (of, rule), count in self.findings.items() if of == severity):
                label = "found" if len(rows) == around else ""
                rows.append((label, Text.assemble((f"{severity:9}", COLOURS[severity]), f"{rule} {count}")))
        return labelled(rows)

    def _cases(self, cases: int) -> str:
        state = self.state
        untold = [(state.skipped, "skipped"), (state.errors, "not judged for an error of the harness")]
        more = ", ".join(f"{count:,} {what}" for count, what in untold if count)
        return plural(cases, "case") + (f" ({more})" if more else "")

    def _failing(self) -> str:
        cleared = f", {plural(self.state.cleared, 'suspicion')} not confirmed" if self.state.cleared else ""
        return f"{self.state.failing:,} failing in {plural(len(self.state.signs), 'way')}{cleared}"

    def _workers(self) -> str:
        looking = f", {plural(self._looking, 'failing case')} to look at" if self._looking else ""
        lost = f"; replaced {plural(self._lost, 'time')}" if self._lost else ""
        return f"{self._jobs}{looking}{lost}"


def finding(console: Console, found: Found, folder: Path) -> None:
    """A finding that is kept in a folder."""
    style = COLOURS[found.severity]
    console.print(Text.assemble("\n", (found.severity, style), "  ", (found.rule, "bold"), f"  from {found.case}"))
    rows = [("expected", found.expected), ("happened", found.happened), ("file", found.file)]
    rows += [] if found.confirmed else [("note", COMPANY)]
    console.print(indented(labelled([(label, text) for label, text in rows if text])))
    # a line of its own, which no line break enters: it is there to be copied
    console.print(Text.assemble("  ", ("again    ", "dim"), f"cd {shlex.quote(str(folder))} && {found.again}"), soft_wrap=True)


def conclusion(console: Console, course: Course, target: str, directory: Path, now: float) -> None:
    """The last lines: how far it came, and what was found."""
    console.print(Text(f"\n{course.line(now)}", style="dim"))
    state, again = course.state, f"go on with --resume {shlex.quote(str(directory))}"
    if kept := course.findings.total():
        text = Text(f"{target} breaks rules: {plural(kept, 'finding')} in {directory / 'findings'}", style="bold red")
    elif state.errors:
        text = Text(f"nothing was found, but the harness failed at {plural(state.errors, 'case')}", style="bold red")
    elif state.cases == state.skipped:
        text = Text(f"no verdict on {target}: nothing ran; {again}", style="bold yellow")
    else:
        text = Text(f"nothing was found; {again}", style="bold green")
    console.print(text, soft_wrap=True)


def _clock(seconds: float) -> str:
    """A span of time as clocks show it: 0:01:30."""
    return str(timedelta(seconds=max(0, int(seconds))))
