"""What a batch of the grammar's is made of."""

from __future__ import annotations

from epctx.fuzz.engine import ALIKE, BATCH, cases
from epctx.fuzz.grammar import Grammar
from epctx.fuzz.mutate import listed


def test_a_batch_follows_from_seed_and_number() -> None:
    assert cases(Grammar(), 5, 3) == cases(Grammar(), 5, 3)
    assert cases(Grammar(), 5, 3) != cases(Grammar(), 6, 3)
    ids = [case.id for number in range(3) for case in cases(Grammar(), 5, number)]
    assert len(set(ids)) == len(ids)


def test_the_first_batch_has_more_worlds_than_a_late_one_and_all_kinds_of_cases_come_in_both() -> None:
    grammar = Grammar((), listed())
    first, late = (cases(grammar, 1, number) for number in (0, 50))
    worlds, few = (len({id(case.world) for case in batch}) for batch in (first, late))
    assert worlds > 3 * few
    assert few >= BATCH / ALIKE
    assert {call.op for case in late for call in case.calls} == {"read", "write", "load", "config"}
    assert any(call.threads for number in range(40, 60) for case in cases(grammar, 1, number) for call in case.calls)
