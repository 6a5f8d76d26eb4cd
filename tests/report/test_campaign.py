"""What a person sees of a campaign."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console, RenderableType

from epctx.fuzz.campaign import Progress
from epctx.fuzz.fingerprint import Sign
from epctx.fuzz.store import Found, State
from epctx.report import campaign as report
from epctx.report.campaign import Course

SIGNS = tuple((Sign("contain.parent", "read", "model", "accepted", f"rule.{n}", "refuse"), 1) for n in range(9))
FOUND = Found(
    "0123456789ab",
    "contain.parent",
    "critical",
    "fuzz/1-7",
    "refused",
    "it was accepted",
    "outside/secret.bin",
    "weak:S1",
    "1.30.0",
    "0.1.0",
    "epctx replay case.json weak:S1",
)


START = State()


def course(most: int | None = None, before: State = START, found: tuple[Found, ...] = ()) -> Course:
    return Course(before, found, jobs=2, seconds=600.0, most=most, now=100.0)


def state(cases: int, ways: int = 0, **more: int) -> State:
    return State(cases // 128, cases, 2 * ways, 0.0, SIGNS[:ways], **more)


def shown(what: RenderableType) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(what)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())  # type: ignore[attr-defined]  # a StringIO


def test_what_looked_wrong_to_an_engine_alone_is_told() -> None:
    seen = course()
    seen.see(Progress(state(1280, 3, cleared=2, skipped=1), ()), 130.0)
    assert "6 failing in 3 ways, 2 suspicions not confirmed" in seen.line(130.0)
    assert "1,280 cases (1 skipped), 6 failing" in seen.line(130.0)


def test_the_view_has_rates_ways_findings_workers_and_the_time_left() -> None:
    seen = course()
    seen.see(Progress(state(1280, 3), (FOUND, replace(FOUND, rule="status.code", severity="medium"))), 130.0)
    seen.see(Progress(state(2560, 3)), 191.0)
    seen.see(Progress(state(2560, 5), (FOUND,), ahead=1280, looking=1, lost=2), 196.0)
    assert shown(seen.view(201.0)) == (
        "time     0:01:41, 0:08:19 left\n"
        "rate     128 cases/s now, 38 overall\n"
        "cases    3,840 cases\n"
        "failing  10 failing in 5 ways\n"
        "new ways 3 2  by minute\n"
        "workers  2, 1 failing case to look at; replaced 2 times\n"
        "found    critical contain.parent 2\n"
        "         medium   status.code 1"
    )
    assert seen.line(201.0) == "0:01:41  2,560 cases, 10 failing in 5 ways, 3 findings, 38 cases/s"


def test_a_campaign_that_goes_on_counts_its_own_cases_for_its_rate() -> None:
    seen = course(most=256, before=state(12_800, 2), found=(FOUND,))
    seen.see(Progress(state(12_928, 2)), 101.0)
    assert not seen.ended(101.0)
    assert "12,928 cases of 13,056" in shown(seen.view(101.0))
    assert "new ways 0 " in shown(seen.view(101.0))
    assert seen.line(101.0).endswith("12,928 cases, 4 failing in 2 ways, 1 finding, 128 cases/s")
    seen.see(Progress(state(13_056, 2)), 102.0)
    assert seen.ended(102.0)


def test_the_time_ends_it() -> None:
    assert not course().ended(699.0)
    assert course().ended(700.0)


@pytest.mark.parametrize(
    ("at", "found", "last"),
    [
        (state(128, 1), (FOUND,), "weak:S1 breaks rules: 1 finding in a dir/findings"),
        (state(128), (), "nothing was found; go on with --resume 'a dir'"),
        (state(128, skipped=128), (), "no verdict on weak:S1: nothing ran; go on with --resume 'a dir'"),
        (state(128, errors=1), (), "nothing was found, but the harness failed at 1 case"),
    ],
)
def test_the_last_line_says_what_came_of_it(at: State, found: tuple[Found, ...], last: str) -> None:
    console, seen = Console(file=io.StringIO(), width=200), course()
    seen.see(Progress(at, found), 110.0)
    report.conclusion(console, seen, "weak:S1", Path("a dir"), 110.0)
    assert console.file.getvalue().splitlines()[-1] == last  # type: ignore[attr-defined]  # a StringIO


def test_a_finding_is_told_with_a_command_that_can_be_copied() -> None:
    console = Console(file=io.StringIO(), width=40)
    report.finding(console, replace(FOUND, confirmed=False), Path("my dir/contain.parent-0123456789ab"))
    text = console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    assert text.splitlines()[-1] == ("  again    cd 'my dir/contain.parent-0123456789ab' && epctx replay case.json weak:S1")
    assert "only in company" in text
    assert "critical  contain.parent  from fuzz/1-7" in text
