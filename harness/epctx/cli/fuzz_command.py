"""``epctx fuzz``: look for what no listed case finds."""

from __future__ import annotations

import re
import secrets
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.live import Live
from rich.text import Text

from epctx import __version__
from epctx.box import Strength
from epctx.case import Sanitizer
from epctx.cli import options
from epctx.errors import INTERRUPTED, HarnessError, NothingRan, UsageError
from epctx.fuzz.campaign import Campaign
from epctx.fuzz.dictionary import read as read_dictionary
from epctx.fuzz.engine import ENGINES, ready
from epctx.fuzz.store import Setting, Store
from epctx.report import campaign as report
from epctx.report.campaign import Course
from epctx.report.console import Output
from epctx.run.check import judging
from epctx.run.runner import Runner, shares_of

if TYPE_CHECKING:
    from epctx.fuzz.cluster import Cluster

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
ERRORS = 10
"""So many errors of the harness are told; of others it is told that they are."""
DRAWN, TOLD = 0.25, 60.0
"""Seconds after which the view on a terminal is drawn again, and after which a line says elsewhere how far it is."""


@click.command(short_help="Look for what no listed case finds.")
@click.argument("target", required=False)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Keep the findings in this new directory.")
@click.option("--resume", type=click.Path(path_type=Path), metavar="DIR", help="Go on with the campaign that is kept in DIR.")
@click.option("--for", "duration", default="10m", show_default=True, metavar="TIME", help="End after 90s, 10m, 2h or 1d.")
@click.option("--cases", "most", type=click.IntRange(1), metavar="N", help="End after about N cases.")
@click.option(
    "--seed", type=click.IntRange(0, (1 << 31) - 1), metavar="N", help="What all cases follow from; by default a new one."
)
@click.option("--engine", type=click.Choice(list(ENGINES)), help="What makes the cases; by default the grammar.")
@click.option(
    "--dictionary",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Try the tokens of FILE.dict, or the lines of any other FILE, as names, too.",
)
@click.option("--cluster", metavar="WHERE", help="Use the workers of a Dask cluster: local, or tcp://HOST:PORT of a scheduler.")
@options.judging
@options.jobs
@options.boxing
@options.sanitizing
@options.settings("cases")
def command(
    target: str | None,
    out: Path | None,
    resume: Path | None,
    duration: str,
    most: int | None,
    seed: int | None,
    engine: str | None,
    dictionary: Path | None,
    cluster: str | None,
    profile_name: str | None,
    policies: tuple[str, ...],
    jobs: int,
    unboxed: bool,
    sanitizer: Sanitizer | None,
) -> None:
    """Run random cases on TARGET, by default the bundled reference helper, and keep what breaks a rule.

    Each finding is confirmed, shrunk to the smallest case that shows it, and kept in a folder of DIR with that case, what was
    seen, and the command that shows it again, before it is reported. The same seed gives the same cases and findings.

    \b
    Exit codes: 0 nothing was found, 1 findings, 2 bad input,
    3 target or harness unusable, 4 nothing ran, 130 interrupted.
    """
    seconds = _seconds(duration)
    if resume is not None:  # the campaign has its own, and so only what is given by hand contradicts it
        target = target if options.typed("target") else None
        profile_name = profile_name if options.typed("profile_name") else None
        policies = policies if options.typed("policies") else ()
    store = _store(target, out, resume, seed, engine, profile_name, policies, dictionary)
    console, setting = Output(), store.setting
    with console.busy(f"making the engine {setting.engine} ready"):
        sanitizer = sanitizer or ready(setting)
    launch = options.prepared(setting.target, console, sanitizer)
    with _workers(cluster, setting, jobs, "none" if unboxed else None, sanitizer) as workers:
        conditions = workers.conditions(launch)
        profile = judging(launch, conditions, setting.profile, setting.policies)
        more = _more(setting, sanitizer, unboxed)
        campaign = Campaign(workers, launch, profile, store, conditions.ort, more)
        console.print(Text.assemble(("epctx fuzz ", "bold"), f"{setting.target}, profile {profile.name}, seed {setting.seed}"))
        console.print(Text(conditions.box, style="dim" if conditions.strength != "none" else "bold yellow"))
        course = Course(store.state, store.found(), workers.jobs, seconds, most, time.monotonic())
        interrupted = _run(console, campaign, course, store)
    report.conclusion(console, course, setting.target, store.directory, time.monotonic())
    sys.exit(INTERRUPTED if interrupted else _code(course))


def _workers(
    cluster: str | None, setting: Setting, jobs: int, box: Strength | None, sanitizer: Sanitizer | None
) -> Runner | Cluster:
    """Those who do the work: processes of this one, or workers of a cluster."""
    if cluster is None:
        return Runner(jobs=jobs, box=box, shares=shares_of(jobs))
    if cluster != "local" and not re.fullmatch(r"(tcp|tls)://.+:\d+", cluster):
        raise UsageError(f"--cluster {cluster!r} is no cluster; write local, or the address of a scheduler as tcp://HOST:PORT.")
    try:
        from epctx.fuzz.cluster import Cluster
    except ImportError:
        raise UsageError("--cluster needs Dask; install it with `pip install 'epctx[cluster]'`.") from None
    return Cluster(cluster, setting, jobs=jobs, box=box, sanitizer=sanitizer)


def _code(course: Course) -> int:
    if course.findings:
        return 1
    if course.state.errors:
        return HarnessError.exit_code
    return NothingRan.exit_code if course.state.cases == course.state.skipped else 0


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text)
    if not found or not float(found[1]):
        raise UsageError(f"--for {text!r} is no time; write 90s, 10m, 2h or 1d.")
    return float(found[1]) * UNITS[found[2]]


def _store(
    target: str | None,
    out: Path | None,
    resume: Path | None,
    seed: int | None,
    engine: str | None,
    profile: str | None,
    policies: tuple[str, ...],
    dictionary: Path | None,
) -> Store:
    """The directory of a new campaign, or of the one to go on with."""
    if resume is not None:
        if out or target or seed is not None or engine or profile or policies or dictionary:
            raise UsageError(
                f"--resume {resume} goes on with the target, the seed and the profile of then; leave the others out."
            )
        return Store(resume, None)
    if out is None:
        raise UsageError("Say with --out DIR where findings are to be kept, or with --resume DIR which campaign is to go on.")
    tokens = read_dictionary(dictionary) if dictionary else ()
    seed = secrets.randbelow(1 << 31) if seed is None else seed
    setting = Setting(target or "reference", seed, engine or "grammar", profile, policies, tokens, __version__)
    ready(setting)  # what is not installed is told before anything is made
    return Store(out, setting)


def _more(setting: Setting, sanitizer: Sanitizer | None, unboxed: bool) -> list[str]:
    """What a replay has to be told besides the case and the target."""
    words = ["--profile", setting.profile] if setting.profile else []
    for policy in setting.policies:
        words += ["--policy", policy]
    words += ["--sanitize", sanitizer] if sanitizer else []
    return [*words, "--unboxed"] if unboxed else words


def _run(console: Output, campaign: Campaign, course: Course, store: Store) -> bool:
    """Run until the campaign had its time, or somebody interrupts it; whether the latter."""
    told = drawn = time.monotonic()
    errors = 0
    with Live(console=console, auto_refresh=False, transient=True) if console.live else nullcontext() as live:
        try:
            for progress in campaign.run():
                now = time.monotonic()
                course.see(progress, now)
                for found in progress.found:
                    report.finding(console, found, store.folder(found))
                for error in progress.errors[: max(0, ERRORS - errors)]:
                    console.print(Text(f"error: {error}", style="bold red"))
                errors += len(progress.errors)
                if course.ended(now):
                    break
                if live and now - drawn >= DRAWN:
                    live.update(course.view(now), refresh=True)
                    drawn = now
                elif not live and now - told >= TOLD:
                    console.print(course.line(now))
                    told = now
        except KeyboardInterrupt:
            return True
    return False
