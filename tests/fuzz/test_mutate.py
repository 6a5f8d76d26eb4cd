"""Mutants: listed cases with a few things changed."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from epctx.case_check import validate
from epctx.case_file import dumps, loads
from epctx.fuzz import Dice, Grammar
from epctx.fuzz.mutate import listed, mutant

SUMMARY = "A listed case that a grammar changed."


def test_every_mutant_may_be_built_and_is_what_its_file_says() -> None:
    dice, grammar = Dice(4), Grammar((), listed())
    cases = [case for number in range(20_000) if (case := grammar.case(dice, f"fuzz/4-{number}")) and case.summary == SUMMARY]
    assert len(cases) > 300
    for case in cases:
        validate(case)
        assert loads(dumps(case)) == case
        assert not case.expect  # the specification is asked


def test_the_same_decisions_give_the_same_mutant() -> None:
    seed, name = listed()[100], Grammar().name
    assert mutant(Dice(3), "fuzz/1-1", seed, name) == mutant(Dice(3), "fuzz/1-1", seed, name)
    assert mutant(Dice(3), "fuzz/1-1", seed, name) != mutant(Dice(4), "fuzz/1-1", seed, name)


def test_calls_and_worlds_are_changed_in_all_ways() -> None:
    dice, name, changed = Dice(5), Grammar().name, Counter[str]()
    seed = next(case for case in listed() if case.id == "links/final-outside[read,relative]")
    for number in range(600):
        case, calls_alone = mutant(dice, f"fuzz/5-{number}", seed, name)
        assert not calls_alone or (case.world, case.model) == (seed.world, seed.model)
        changed["world"] += case.world.entries != seed.world.entries
        changed["model"] += case.model.given != seed.model.given
        changed["more calls"] += len(case.calls) > 1
        call = case.calls[0]
        for field in call.__struct_fields__:
            changed[field] += getattr(call, field) != getattr(seed.calls[0], field)
    for what in ("world", "model", "more calls", "name", "source", "read_callback", "config", "held", "moves", "allocator"):
        assert changed[what], (what, changed)


def test_cases_that_take_long_or_need_more_than_a_helper_have_no_mutants() -> None:
    assert not any(case.heavy or case.model.external for case in listed())
    assert not any(call.threads or call.race or call.lingers or call.support for case in listed() for call in case.calls)
    assert len({id(case.world) for case in listed()}) == len({dumps(replace(listed()[0], world=c.world)) for c in listed()})
