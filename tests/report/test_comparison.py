"""What is better, what is worse, and what is neither."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from epctx.case import Call, Case, Race, World
from epctx.observation import Observation, Output, Seen
from epctx.oracle import RULES, Finding, Verdict
from epctx.report.comparison import Change, Comparison, compare
from epctx.report.record import Header, Line, Run, footer

HEAD = Header("mine", "spec", 1, "a box", "1.32.0", "0.1.0", "2026-01-01T00:00:00+00:00")
CASE = Case("links/a", "A case.", "hostile", ("contain.parent",), World(), (Call("read", "../x"),))
REFUSED = Seen("returned", code=2, message="no")


def finding(rule: str, happened: str = "it was accepted", **more: Any) -> Finding:
    return Finding(rule, RULES[rule].tier, RULES[rule].severity, 0, "refused", happened, **more)


def line(seen: Seen = REFUSED, *found: Finding, case: Case = CASE, root: str = "", **verdict: Any) -> Line:
    result = "fail" if any(f.fails for f in found) else "note" if found else "pass"
    judged = Verdict(case.id, **{"result": result, "findings": found, **verdict})
    return Line(0, case, judged, Observation(case.id, "mine", root, calls=(seen,)))


def run(*lines: Line, head: Header = HEAD) -> Run:
    return Run(head, lines, footer([one.verdict for one in lines], [one.observation for one in lines], 1.0))


def compared(before: Line, after: Line) -> Comparison:
    return compare(run(before), run(after))


def kinds(before: Line, after: Line) -> list[tuple[str, str, str]]:
    return [(c.kind, c.what, c.rule) for c in compared(before, after).changes]


ACCEPTED = Seen("returned", output=Output(3, "00"))
PARENT = finding("contain.parent")
SKIPPED = line(result="skip", reason="no root")
LOST = line(result="error", reason="no room")


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        (line(), line(), []),
        (line(), line(ACCEPTED, PARENT), [("worse", "finding", "contain.parent")]),
        (line(ACCEPTED, PARENT), line(), [("better", "finding", "contain.parent")]),
        (line(ACCEPTED, PARENT), line(ACCEPTED, PARENT), []),
        (SKIPPED, line(ACCEPTED, PARENT), [("worse", "finding", "contain.parent")]),
        (LOST, line(ACCEPTED, PARENT), [("worse", "finding", "contain.parent")]),
        (line(ACCEPTED, PARENT), SKIPPED, [("other", "result", "")]),
        (line(ACCEPTED, PARENT), LOST, [("other", "result", "")]),
        (line(), SKIPPED, [("other", "result", "")]),
        (SKIPPED, line(), [("other", "result", "")]),
        (SKIPPED, SKIPPED, []),
        (line(), line(Seen("returned", code=1, message="no")), [("other", "code", "")]),
        (line(), line(Seen("returned", code=2, message="never")), [("other", "text", "")]),
        (line(), line(ACCEPTED), [("other", "outcome", "")]),
        (line(ACCEPTED), line(Seen("returned", output=Output(4, "01"))), [("other", "bytes", "")]),
        (line(ACCEPTED), line(replace(ACCEPTED, reads=("model/f",))), [("other", "file", "")]),
        (line(), line(REFUSED, finding("write.atomic", fails=False)), [("other", "note", "write.atomic")]),
        (line(ACCEPTED, PARENT), line(ACCEPTED, finding("contain.parent", "it hung")), [("other", "evidence", "contain.parent")]),
        (
            line(ACCEPTED, PARENT),
            line(ACCEPTED, finding("safe.no-hang")),
            [("worse", "finding", "safe.no-hang"), ("better", "finding", "contain.parent")],
        ),
    ],
)
def test_what_changes_is_worse_better_or_neither(before: Line, after: Line, wanted: list[tuple[str, str, str]]) -> None:
    assert kinds(before, after) == wanted


def test_both_sides_of_a_change_are_in_words() -> None:
    (change,) = compared(line(), line(ACCEPTED, finding("contain.parent", "it gave a secret", file="outside/secret.bin"))).changes
    assert change == Change(
        "worse",
        "finding",
        "links/a",
        "contain.parent",
        RULES["contain.parent"].severity,
        before="it was refused with code 2: no",
        after="it gave a secret",
        file="outside/secret.bin",
    )


def test_the_place_of_a_world_is_no_difference() -> None:
    before = line(Seen("returned", code=2, message="/dev/shm/1/world/x is no file"), root="/dev/shm/1/world")
    after = line(Seen("returned", code=2, message="/dev/shm/2/world/x is no file"), root="/dev/shm/2/world")
    assert kinds(before, after) == []


def test_what_comes_and_goes_is_marked() -> None:
    race = replace(CASE, calls=(replace(CASE.calls[0], race=Race("model/a", "model/b")),))
    (change,) = compared(line(case=race), line(ACCEPTED, PARENT, case=race)).changes
    assert change.by_luck
    (change,) = compared(line(), line(ACCEPTED, PARENT, confirmed=False)).changes
    assert change.by_luck
    (change,) = compared(line(), line(ACCEPTED, PARENT)).changes
    assert not change.by_luck


def test_nothing_follows_from_a_case_that_only_one_run_has() -> None:
    other = replace(CASE, id="links/b")
    found = compare(run(line(), line(case=other)), run(line(), line(ACCEPTED, PARENT, case=replace(CASE, id="links/c"))))
    assert (found.changes, found.only_before, found.only_after, found.compared) == ([], ["links/b"], ["links/c"], 1)


def test_severe_rules_come_first_and_worse_ones_before_better_ones() -> None:
    before = line(ACCEPTED, finding("status.code"), finding("contain.parent"))
    after = line(ACCEPTED, finding("out.empty-on-error"), finding("safe.no-hang"))
    wanted = ["safe.no-hang", "out.empty-on-error", "contain.parent", "status.code"]
    assert [c.rule for c in compared(before, after).changes] == wanted


def test_what_makes_two_runs_unlike_is_told() -> None:
    other = replace(HEAD, profile="hardened", epctx="0.0.9", policies={"contain.hard-link": "refuse"}, sanitizer="address")
    changed = replace(CASE, calls=(Call("read", "../y"),))
    found = compare(run(line()), run(line(case=changed), head=other))
    assert list(found.conditions) == [
        "profile: spec in the first run, hardened in the second",
        "policies: none in the first run, contain.hard-link=refuse in the second",
        "epctx: 0.1.0 in the first run, 0.0.9 in the second",
        "sanitizer: none in the first run, address in the second",
        "1 case with one name asked something else in the second run",
    ]
