"""A whole check on a runner that answers by script: what is confirmed, and where a run ends."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, cast

import pytest

from epctx.case import Call, Case, File, World
from epctx.observation import Observation, Seen
from epctx.oracle import Verdict, profile
from epctx.run.check import Judged, check
from epctx.run.runner import Runner
from epctx.target import Launch

CASES = [
    Case(
        f"names/{slug}", "A read outside.", "hostile", ("contain.parent",), World((File("secret"),)), (Call("read", "../secret"),)
    )
    for slug in "abcde"
]
SPEC = profile("spec", (), "posix", "1.32.0", False)


class Scripted:
    """A runner: what each case does in company and what it does alone, "refused" where nothing is said. ``asked`` is what ran."""

    def __init__(self, company: dict[str, str], alone: dict[str, str]) -> None:
        self.company, self.alone = company, alone
        self.asked: list[tuple[list[str], bool]] = []

    def run(
        self, launch: Launch, cases: Sequence[Case], *, alone: bool = False
    ) -> Generator[tuple[int, Observation], None, None]:
        self.asked.append(([case.id[-1] for case in cases], alone))
        for index, case in enumerate(cases):
            does = (self.alone if alone else self.company).get(case.id[-1], "refused")
            seen = {
                "refused": Seen("returned", code=2, message="no"),
                "accepted": Seen("returned"),
                "hang": Seen("hang"),
            }[does]
            yield index, Observation(case.id, "mine", calls=(seen,))


def checked(runner: Scripted, **options: Any) -> dict[str, Judged]:
    judged = check(cast(Runner, runner), cast(Launch, None), CASES, SPEC, controls=False, **options)
    return {j.case.id[-1]: j for j in judged}


def anything(_: Verdict) -> bool:
    return True


def test_what_fails_runs_once_more_alone() -> None:
    runner = Scripted({"b": "accepted", "c": "hang", "d": "accepted", "e": "hang"}, {"b": "accepted", "e": "hang"})
    results = {slug: (j.verdict.result, j.verdict.confirmed) for slug, j in checked(runner).items()}
    assert results == {"a": ("pass", True), "b": ("fail", True), "c": ("pass", True), "d": ("fail", False), "e": ("hang", True)}
    assert runner.asked == [(list("abcde"), False), (list("bcde"), True)]


def test_a_run_ends_at_the_first_failure_that_counts() -> None:
    runner = Scripted({"b": "accepted", "c": "accepted"}, {"b": "accepted", "c": "accepted"})
    assert list(checked(runner, until=anything)) == ["a", "b"]
    assert runner.asked == [(list("abcde"), False), (["b"], True)]

    known = checked(runner, until=lambda verdict: verdict.case != "names/b")
    assert list(known) == ["a", "b", "c"]
    assert runner.asked[2:] == [(list("abcde"), False), (list("bc"), True)]


def test_a_run_does_not_end_at_a_hang_that_does_not_come_again() -> None:
    runner = Scripted({"b": "hang"}, {})
    results = checked(runner, until=anything)
    assert sorted(results) == list("abcde")
    assert not any(j.verdict.fails for j in results.values())
    assert runner.asked == [(list("abcde"), False), (["b"], True), (list("cde"), False)]


@pytest.mark.parametrize("until", [None, anything])
def test_unconfirmed_failures_count_as_they_are(until: Any) -> None:
    runner = Scripted({"b": "accepted"}, {})
    assert checked(runner, confirm=False, until=until)["b"].verdict.confirmed
    assert all(not alone for _, alone in runner.asked)
