"""Every rule has an example, out of sources that are compiled."""

from __future__ import annotations

import pytest

from epctx.oracle import RULES
from epctx.target import Weakness, weaknesses
from epctx.target.build import NATIVE
from epctx.target.example import Code, example, example_of

HARNESS = NATIVE.parent.parent


def lines_of(code: Code) -> list[str]:
    return [line.strip() for line in code.text.splitlines() if line.strip() and "// ..." not in line]


@pytest.mark.parametrize("weakness", weaknesses(), ids=lambda w: str(w.name))
def test_the_code_of_every_weak_target_is_in_its_source(weakness: Weakness) -> None:
    shown = example_of(weakness)
    assert shown.weak
    for code in (*shown.weak, *shown.right):
        source = [line.strip() for line in (HARNESS / code.file).read_text(encoding="utf-8").splitlines()]
        assert lines_of(code)
        assert [line for line in lines_of(code) if line not in source] == []


@pytest.mark.parametrize("rule", [r.id for r in RULES.values() if not r.informational])
def test_every_rule_has_an_example(rule: str) -> None:
    shown = example(rule)
    assert shown is not None
    assert rule in shown.weakness.breaks
    assert shown.right or rule.startswith(("config.", "support."))  # there the fault is a condition in the right form


def test_an_example_is_the_weak_form_and_what_it_replaces() -> None:
    shown = example("contain.sibling-prefix")
    assert shown is not None
    (weak,), (right,) = shown.weak, shown.right
    assert weak.file == "epctx/native/weak/containment.cc"
    assert weak.text.startswith("bool CharacterPrefix(const FileRequest&, int base, int descriptor) {\n")
    assert weak.text.endswith('\n\ntable["prefix-containment"] = [](Behaviour& b) { b.defences.contained = CharacterPrefix; };')
    assert right.text.startswith("inline bool Contained(const FileRequest&, int base, int descriptor) {\n")
    assert right.text.endswith("\n}")


def test_a_rule_that_nothing_breaks_has_none() -> None:
    assert example("chunk.no-order-between-names") is None
