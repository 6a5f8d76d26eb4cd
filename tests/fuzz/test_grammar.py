"""The grammar: its cases may be built, follow from the seed, and cover what the specification decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from epctx.case import Case, Link, raw
from epctx.case_check import validate, validate_names
from epctx.case_file import dumps, loads
from epctx.errors import CaseError
from epctx.fuzz import Dice, Grammar
from epctx.fuzz.engine import cases as batch
from epctx.spec import predict


class Zeros:
    """The simplest decisions."""

    def below(self, count: int) -> int:
        return 0


def test_every_case_may_be_built_and_is_what_its_file_says() -> None:
    dice, grammar = Dice(11), Grammar()
    for number in range(1500):
        case = grammar.case(dice, f"fuzz/11-{number}")
        assert case is not None
        validate(case)
        assert loads(dumps(case)) == case


def test_names_alone_reach_as_far_as_in_a_case_that_is_looked_at_as_a_whole() -> None:
    dice, grammar, told = Dice(3), Grammar(), Counter[str]()
    for number in range(400):
        case = grammar.case(dice, f"fuzz/3-{number}", apart=1 << 30)
        assert case is not None
        ups = "../" * dice.below(9)
        calls = tuple(replace(call, name=f"{ups}{call.name}") if isinstance(call.name, str) else call for call in case.calls)
        other = replace(case, calls=calls)
        both = [_why_not(check, other) for check in (validate, validate_names)]
        assert both[0] == both[1], calls
        told["refused" if both[0] else "taken"] += 1
    assert min(told["refused"], told["taken"]) > 40


def _why_not(check: Callable[[Case], None], case: Case) -> str:
    try:
        check(case)
    except CaseError as error:
        return str(error)
    return ""


def test_a_seed_gives_the_same_cases_and_another_one_others() -> None:
    grammar = Grammar()
    assert batch(grammar, 5, 3) == batch(Grammar(), 5, 3)
    assert batch(grammar, 5, 3) != batch(grammar, 6, 3)
    assert batch(grammar, 5, 3) != batch(grammar, 5, 4)


def test_the_simplest_decisions_give_a_plain_read() -> None:
    case = Grammar().case(Zeros(), "fuzz/0-0")
    assert case is not None
    assert [(call.op, call.name) for call in case.calls] == [("read", "good.bin")]
    assert predict(case)[0].outcome == "accept"


def test_most_of_what_the_specification_decides_is_met() -> None:
    dice, grammar = Dice(1), Grammar()
    cases = [case for number in range(6000) if (case := grammar.case(dice, f"fuzz/1-{number}"))]
    decided = Counter(expect.rule for case in cases for expect in predict(case))
    for rule in ("contain.parent", "contain.absolute", "contain.sibling-prefix", "contain.symlink-file", "contain.symlink-dir"):
        assert decided[rule] >= 10, (rule, decided)
    for rule in ("type.read-regular", "type.write-symlink-leaf", "contain.symlink-loop", "contain.dangling-dir", "name.empty"):
        assert decided[rule] >= 5, (rule, decided)
    assert len(decided) >= 45
    outcomes = Counter(expect.outcome for case in cases for expect in predict(case))
    assert min(outcomes["accept"], outcomes["refuse"]) > sum(outcomes.values()) // 10


@pytest.mark.parametrize("token", ["x/../../outside/secret.bin", "geheim"])
def test_the_names_of_a_dictionary_are_tried(token: str) -> None:
    dice, grammar = Dice(2), Grammar((token,))
    cases = [case for number in range(600) if (case := grammar.case(dice, f"fuzz/2-{number}"))]
    assert any(raw(name) == token.encode() for case in cases for call in case.calls for name in call.names)


def test_links_are_there_to_be_met() -> None:
    dice, grammar = Dice(3), Grammar()
    cases = [case for number in range(600) if (case := grammar.case(dice, f"fuzz/3-{number}"))]
    assert sum(any(isinstance(entry, Link) for entry in case.world.entries) for case in cases) > 150
