from __future__ import annotations

import pytest

from epctx.case import Call, Case, World
from epctx.errors import NothingRan, UsageError
from epctx.run.select import Skip, select, skip

CASES = [Case(i, "A case.", "benign", (), World(), (Call("read", "x"),)) for i in ("links/a[read,x]", "links/b", "names/c")]


def ids(only: tuple[str, ...] = (), skips: tuple[Skip, ...] = ()) -> list[str]:
    return [c.id for c in select(CASES, only, skips)[0]]


def test_globs_choose_by_id() -> None:
    assert ids(("links/*",)) == ["links/a[read,x]", "links/b"]
    assert ids(("*/b", "names/*")) == ["links/b", "names/c"]


def test_brackets_are_those_of_a_variant() -> None:
    assert ids(("links/a[read,x]",)) == ["links/a[read,x]"]
    assert ids(("links/a[read,*]",)) == ["links/a[read,x]"]


def test_a_skip_carries_its_reason() -> None:
    kept, skipped = select(CASES, skips=[skip("links/*: ticket 12")])
    assert [c.id for c in kept] == ["names/c"]
    assert skipped == {"links/a[read,x]": "ticket 12", "links/b": "ticket 12"}


@pytest.mark.parametrize("text", ["links/*", "links/*:", "links/*: ", "links/*:no space"])
def test_a_skip_without_a_reason_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="give a reason"):
        skip(text)


def test_a_stale_skip_is_an_error_and_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"the skip is stale; did you mean 'links/\*'"):
        ids(skips=(Skip("link/*", "why"),))


def test_only_that_matches_nothing_is_an_error() -> None:
    with pytest.raises(UsageError, match="nothing would run"):
        ids(("nothing/*",))


def test_when_all_is_skipped_nothing_ran() -> None:
    with pytest.raises(NothingRan):
        ids(skips=(Skip("*", "all of it"),))
