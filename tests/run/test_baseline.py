"""What a baseline makes of verdicts: what is known, what is new, what no longer occurs."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from epctx.oracle import RULES, Finding, Result, Verdict
from epctx.run.baseline import Baseline, Entry, brought_up_to_date

TODAY = date(2026, 6, 15)
IDS = ("links/a[1]", "links/a[2]", "links/b", "names/c")


def verdict(case: str, *rules: str, result: Result | None = None, noted: tuple[str, ...] = ()) -> Verdict:
    """A case that breaks ``rules``."""
    found = tuple(
        Finding(rule, RULES[rule].tier, RULES[rule].severity, 0, "this", "that", fails=rule not in noted)
        for rule in (*rules, *noted)
    )
    return Verdict(case, result or ("fail" if rules else "note" if noted else "pass"), findings=found)


def entry(rule: str, *cases: str, number: int = 1, **more: Any) -> Entry:
    return Entry("b.toml", number, rule, cases, more.pop("reason", "ticket 12"), **more)


def baseline(*entries: Entry) -> Baseline:
    return Baseline(entries, TODAY)


def test_what_an_entry_names_is_known_with_its_reason() -> None:
    known = baseline(entry("contain.parent", "links/a*", "names/c"), entry("safe.no-hang", "links/*", reason="slow"))
    both = verdict("links/a[1]", "contain.parent", "safe.no-hang", result="hang")
    assert known.known(both) == {"contain.parent": "ticket 12", "safe.no-hang": "slow"}
    assert not known.new(both)


@pytest.mark.parametrize(
    ("judged", "new"),
    [
        (verdict("links/a[1]", "contain.parent"), False),
        (verdict("links/a[1]", "contain.parent", result="crash"), False),
        (verdict("links/b", "contain.parent"), True),
        (verdict("links/a[1]", "contain.absolute"), True),
        (verdict("links/a[1]", "contain.parent", "contain.absolute"), True),
        (verdict("links/a[1]"), False),
        (verdict("links/b", noted=("contain.race",)), False),
        (verdict("links/a[1]", "contain.parent", noted=("contain.race",)), False),
        (verdict("links/b", result="error"), False),
    ],
)
def test_a_case_is_new_unless_all_that_fails_is_known(judged: Verdict, new: bool) -> None:
    assert baseline(entry("contain.parent", "links/a[1]")).new(judged) is new


def test_brackets_are_those_of_a_variant() -> None:
    known = baseline(entry("contain.parent", "links/a[12]"))
    assert known.new(verdict("links/a[1]", "contain.parent"))
    assert known.new(verdict("links/a1", "contain.parent"))


@pytest.mark.parametrize(("day", "counts"), [(date(2026, 6, 14), False), (TODAY, True), (date(2026, 6, 16), True)])
def test_an_entry_counts_through_its_last_day(day: date, counts: bool) -> None:
    known = baseline(entry("contain.parent", "links/*", expires=day))
    assert known.new(verdict("links/b", "contain.parent")) is not counts
    assert bool(known.expired) is not counts


def test_another_entry_may_know_what_an_expired_one_did() -> None:
    known = baseline(entry("contain.parent", "links/*", expires=date(2020, 1, 1)), entry("contain.parent", "links/b", reason="b"))
    assert known.known(verdict("links/b", "contain.parent")) == {"contain.parent": "b"}


ALL = [verdict(i) for i in IDS]


@pytest.mark.parametrize(
    ("globs", "verdicts", "gone"),
    [
        (("links/b",), ALL, ("links/b",)),
        (("links/b", "names/*"), ALL, ("links/b", "names/*")),
        # whatever still occurs is not stale, by whatever name
        (("links/b", "names/c"), [*ALL[:2], verdict("links/b", "contain.parent"), ALL[3]], ("names/c",)),
        (("links/*",), [*ALL[:2], verdict("links/b", "contain.parent"), ALL[3]], ()),
        (("links/b",), [verdict("links/b", "contain.parent", result="crash")], ()),
        (("links/b",), [verdict("links/b", noted=("contain.parent",))], ()),
        # what breaks another rule does not break this one any more
        (("links/b",), [verdict("links/b", "contain.absolute")], ("links/b",)),
        # of a case that did not run nothing is known, and so of a glob until each of its cases ran
        (("links/b",), [], ()),
        (("links/b",), [verdict("links/b", result="skip")], ()),
        (("links/b",), [verdict("links/b", result="error")], ()),
        (("links/*",), ALL[1:], ()),
        (("links/*",), [verdict(IDS[0], result="skip"), *ALL[1:]], ()),
        (("links/*",), ALL[:3], ("links/*",)),
    ],
)
def test_a_glob_is_stale_once_each_of_its_cases_ran_and_none_broke_the_rule(
    globs: tuple[str, ...], verdicts: list[Verdict], gone: tuple[str, ...]
) -> None:
    stale = baseline(entry("contain.parent", *globs)).stale(IDS, verdicts)
    assert stale == ((entry("contain.parent", *gone),) if gone else ())


def test_what_occurs_sometimes_is_never_stale_and_what_expired_is_like_any_other() -> None:
    old = entry("contain.parent", "links/b", number=2, expires=date(2020, 1, 1))
    known = baseline(old, entry("contain.race", "links/a*", sometimes=True), entry("safe.no-hang", "names/c", number=3))
    assert [e.number for e in known.stale(IDS, ALL)] == [2, 3]


def test_a_first_baseline_has_an_entry_for_each_rule_the_most_severe_first() -> None:
    verdicts = [
        verdict("names/c", "status.code", "contain.parent"),
        verdict("links/b", "contain.parent", "safe.no-hang", result="hang"),
        verdict("links/a[2]", "contain.parent"),
        verdict("links/a[1]", noted=("contain.race",)),
    ]
    assert brought_up_to_date(baseline(), verdicts, (), {"links/b"}) == [
        Entry("", 0, "contain.parent", ("links/a[2]", "names/c"), ""),
        Entry("", 0, "contain.parent", ("links/b",), "", sometimes=True),
        Entry("", 0, "safe.no-hang", ("links/b",), "", sometimes=True),
        Entry("", 0, "status.code", ("names/c",), ""),
    ]


def test_a_baseline_brought_up_to_date_knows_exactly_what_occurs() -> None:
    before = (
        entry("contain.parent", "links/a*", "names/c", number=1, expires=date(2030, 1, 1)),
        entry("safe.no-hang", "links/b", number=2),
        entry("contain.absolute", "links/b", number=3, expires=date(2020, 1, 1)),
    )
    known = baseline(*before)
    verdicts = [verdict("links/a[1]", "contain.parent"), ALL[1], verdict("links/b", "contain.absolute"), ALL[3]]
    after = brought_up_to_date(known, verdicts, known.stale(IDS, verdicts), frozenset())
    assert after == [
        Entry("", 0, "contain.absolute", ("links/b",), ""),  # the reason that expired is not one any more
        entry("contain.parent", "links/a*", number=1, expires=date(2030, 1, 1)),
    ]
    again = baseline(*after)
    assert not any(map(again.new, verdicts))
    assert again.stale(IDS, verdicts) == ()
