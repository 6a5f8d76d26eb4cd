"""Faults looked for in targets whose faults are known: what is right, what is wrong, and what says nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from epctx.cli import options
from epctx.errors import TargetError, UsageError
from epctx.faults import Fault, Faults
from epctx.run import published
from epctx.run.published import Cell, chosen
from epctx.run.runner import Runner
from epctx.target import Launch, prepare

CASES = options.listed_cases()
LINK, UP = "links/final-outside[read,*]", "traversal/climb[read,1,file]"
FAULT = Fault("F-1", "t", "loader:it", "old", "new", (LINK,), ("contain.symlink-file",), ("https://example.org",), "")
BAD, GOOD = "weak:final-link-unchecked", "reference"


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(jobs=1) as made:
        yield made


@pytest.fixture(autouse=True)
def interpreters_are_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-in releases: what would be an environment's interpreter is the name of a bundled target."""

    def prepared(text: str) -> Launch:
        what, _, name = text.partition("?python=")
        assert what == "loader:it"
        if name == "broken":
            raise TargetError("The interpreter does not run.")
        return prepare(name)

    monkeypatch.setattr(published, "prepare", prepared)


def cells(runner: Runner, fault: Fault, old: str | None, new: str) -> tuple[Cell, Cell]:
    """The cells of a fault in two bundled targets; None is one that cannot be had here."""
    here = {"old": old, "new": new} if old else {"new": new}
    (row,) = published.published(runner, [fault], here, {} if old else {"old": "no wheels"}, CASES)
    assert row.fault == fault
    return row.cells


def test_found_where_it_is_and_silent_where_it_is_not(runner: Runner) -> None:
    old, new = cells(runner, FAULT, BAD, GOOD)
    assert (old.outcome, new.outcome) == ("right", "right")
    assert old.ran == new.ran == old.failing == 9
    assert len(old.broken["contain.symlink-file"]) == 9
    assert not new.broken
    assert old.target == f"loader:it?python={BAD}"


def test_not_found_is_wrong(runner: Runner) -> None:
    old, _ = cells(runner, FAULT, GOOD, GOOD)
    assert old.outcome == "wrong"
    assert old.missed == FAULT.rules
    assert len(old.blind) == 9


def test_a_case_that_finds_nothing_is_wrong_although_others_do(runner: Runner) -> None:
    old, _ = cells(runner, replace(FAULT, cases=(LINK, UP)), BAD, GOOD)
    assert old.outcome == "wrong"
    assert old.missed == ()
    assert old.blind == (UP,)


def test_a_rule_that_is_not_broken_is_wrong_although_all_cases_find_something(runner: Runner) -> None:
    old, _ = cells(runner, replace(FAULT, rules=(*FAULT.rules, "contain.parent")), BAD, GOOD)
    assert old.outcome == "wrong"
    assert old.missed == ("contain.parent",)
    assert old.blind == ()


def test_any_finding_in_the_fixed_release_is_wrong(runner: Runner) -> None:
    _, new = cells(runner, replace(FAULT, rules=("safe.no-outside-read",)), BAD, BAD)
    assert new.outcome == "wrong"
    assert set(new.broken) >= {"contain.symlink-file", "safe.no-outside-read"}


def test_a_policy_of_the_fault_counts(runner: Runner) -> None:
    hard = replace(FAULT, cases=("links/hard-outside[read,flat]",), rules=("contain.hard-link",))
    old, new = cells(runner, hard, GOOD, GOOD)
    assert (old.outcome, new.outcome) == ("wrong", "right")
    old, new = cells(runner, replace(hard, policies=("contain.hard-link=refuse",)), GOOD, GOOD)
    assert (old.outcome, new.outcome) == ("right", "wrong")


def test_an_environment_that_is_not_to_be_had_is_skipped_with_its_reason(runner: Runner) -> None:
    old, new = cells(runner, FAULT, None, GOOD)
    assert (old.outcome, old.reason, new.outcome) == ("skipped", "no wheels", "right")


def test_a_release_that_cannot_be_judged_says_why(runner: Runner) -> None:
    old, new = cells(runner, FAULT, BAD, "broken")
    assert (old.outcome, new.outcome, new.reason) == ("right", "unusable", "The interpreter does not run.")


def test_a_release_that_refuses_good_models_is_not_silent(runner: Runner) -> None:
    _, new = cells(runner, FAULT, BAD, "weak:refuses-everything")
    assert new.outcome == "unusable"
    assert new.reason.startswith("The target is not usable: it fails the control ")


def test_cases_that_do_not_run_make_no_release_silent(runner: Runner) -> None:
    negotiated = replace(FAULT, cases=("negotiation/*",), rules=("support.refused",))
    _, new = cells(runner, negotiated, GOOD, GOOD)
    assert new.outcome == "skipped"
    assert new.ran == 0
    assert new.reason


def test_faults_are_chosen_by_globs() -> None:
    faults = Faults(1, (), (FAULT, replace(FAULT, id="F-2"), replace(FAULT, id="G-1")))
    assert [f.id for f in chosen(faults, ())] == ["F-1", "F-2", "G-1"]
    assert [f.id for f in chosen(faults, ("*-1", "F-2"))] == ["F-1", "F-2", "G-1"]
    assert [f.id for f in chosen(faults, ("F*",))] == ["F-1", "F-2"]
    with pytest.raises(UsageError, match="'H' matches no published fault; there are F-1, F-2, G-1"):
        chosen(faults, ("H",))


def test_progress_is_told(runner: Runner) -> None:
    told: list[str] = []
    args: Any = (runner, [FAULT], {"old": BAD, "new": GOOD}, {}, CASES, told.append)
    list(published.published(*args))
    assert told == ["F-1: old", "F-1: new"]
