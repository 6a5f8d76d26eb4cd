"""A run of a target from the command line: what is said of it, its progress, and what is known when it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from epctx import __version__
from epctx.case import Case
from epctx.cli.reporting import in_repository
from epctx.oracle import Profile, Verdict
from epctx.report.console import Output
from epctx.report.record import Header
from epctx.run.check import Judged, check, judging
from epctx.run.keeper import Conditions
from epctx.run.runner import Runner
from epctx.target import Launch


def header(
    target: str, launch: Launch, conditions: Conditions, profile: Profile, cases: int, skipped: dict[str, str], *, unboxed: bool
) -> Header:
    """What is known of a run before it begins."""
    return Header(
        target,
        profile.name,
        cases,
        conditions.box,
        conditions.ort,
        __version__,
        datetime.now().astimezone().isoformat(timespec="seconds"),
        contract=profile.contract,
        scope=profile.scope,
        by_itself=profile.name == judging(launch, conditions).name,
        met=conditions.met,
        opens_only=launch.loader is not None and launch.loader.opens_only,
        notes=launch.notes,
        sessions=launch.sessions,
        lent=conditions.lent,
        policies=dict(profile.policies),
        boxed=conditions.strength != "none",
        unboxed=unboxed,
        sanitizer=launch.sanitizer,
        instrumented=launch.instrumented,
        chunking=launch.chunking,
        skipped=skipped,
        judged_by=profile,
        source=in_repository(launch.source) if launch.source else "",
        patience=launch.granted or None,
    )


def run(
    console: Output,
    runner: Runner,
    launch: Launch,
    cases: Sequence[Case],
    profile: Profile,
    until: Callable[[Verdict], bool] | None = None,
) -> tuple[list[Judged], float, bool]:
    """Run with a progress bar: what is known by the end, the seconds, and whether an interrupt ended it."""
    done: list[Judged] = []
    start, interrupted = time.monotonic(), False
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    with Progress(*columns, console=console, transient=True, disable=not console.live) as progress:
        task = progress.add_task("cases", total=len(cases), rate="")
        try:
            for judged in check(runner, launch, cases, profile, until=until):
                done.append(judged)
                rate = len(done) / (time.monotonic() - start)
                progress.update(task, advance=1, rate=f"{rate:,.0f} cases/s")
        except KeyboardInterrupt:
            interrupted = True
    return sorted(done, key=lambda j: j.index), time.monotonic() - start, interrupted
