"""The bundled families: ids, validity, intents, rules and balance of all their cases."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import time
from collections import Counter

import pytest

from epctx import attack
from epctx.case import Case
from epctx.case_file import dumps, loads, validate
from epctx.oracle import RULES
from epctx.spec.predict import predict
from epctx_attacks import bundled

CONTAINMENT = ("names", "traversal", "absolute", "links")


def test_ids_are_unique(cases: list[Case]) -> None:
    assert [id_ for id_, times in Counter(case.id for case in cases).items() if times > 1] == []


def test_there_are_enough(cases: list[Case]) -> None:
    assert len(cases) > 1500


def test_cases_are_valid(cases: list[Case]) -> None:
    for case in cases:
        validate(case, case.id)


def test_cases_survive_json(cases: list[Case]) -> None:
    for case in cases:
        assert loads(dumps(case), case.id) == case


def test_no_two_cases_of_a_family_are_the_same(cases: list[Case]) -> None:
    """A variant that differs from another in its name alone tells no two loaders apart."""
    same: dict[object, list[str]] = {}
    for case in cases:
        same.setdefault((case.family, case.world, case.calls, case.model, case.limits), []).append(case.id)
    assert [ids for ids in same.values() if len(ids) > 1] == []


def test_intents_agree_with_predictions(cases: list[Case]) -> None:
    for case in cases:
        outcomes = {expect.outcome for expect in case.expect}
        assert case.expect == predict(case), case.id
        assert (outcomes == {"accept"}) == (case.intent != "hostile"), case.id


def test_summaries_are_sentences(cases: list[Case]) -> None:
    for case in cases:
        assert case.summary.endswith("."), case.id
        assert "{" not in case.summary, case.id
        assert case.summary[0].isupper() or case.summary[0].isdigit() or case.summary[0] == "`", case.id


def test_order_is_the_same_in_every_process(cases: list[Case]) -> None:
    code = "from epctx_attacks import bundled\nfor _, f in sorted(bundled().items()):\n  for c in f.cases(): print(c.id)"
    env = {"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(sys.path)}
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env).stdout
    assert out.split("\n")[:-1] == [case.id for case in cases]


@pytest.mark.parametrize("family", CONTAINMENT)
def test_benign_neighbours(cases: list[Case], family: str) -> None:
    intents = [case.intent for case in cases if case.family == family]
    assert intents.count("benign") * 3 >= len(intents)


def test_controls_have_a_family_of_their_own(cases: list[Case]) -> None:
    assert {case.family for case in cases if case.intent == "control"} == {"control"}
    assert {case.intent for case in cases if case.family == "control"} == {"control"}


def test_every_rule_has_a_case(cases: list[Case]) -> None:
    named = {rule for case in cases for rule in case.rules}
    assert set(RULES) - named == set()


def test_every_deciding_rule_decides(cases: list[Case]) -> None:
    decided = {expect.rule for case in cases for expect in case.expect}
    decided |= {expect.rule for case in cases if case.family == "platform-windows" for expect in predict(case, "windows")}
    assert {id_ for id_, rule in RULES.items() if rule.condition is None} - decided == set()


def test_rules_are_known(cases: list[Case]) -> None:
    assert {rule for case in cases for rule in case.rules} - set(RULES) == set()


def test_heavy_cases_are_few(cases: list[Case]) -> None:
    assert sum(case.heavy for case in cases) <= 40


def test_windows_family_is_refused_by_windows(cases: list[Case]) -> None:
    """The family has little use where both rules say the same of most cases."""
    own = [case for case in cases if case.family == "platform-windows"]
    refused = [case for case in own if any(e.outcome == "refuse" for e in predict(case, "windows"))]
    assert len(refused) * 2 > len(own)


def test_building_is_fast() -> None:
    start = time.process_time()
    for family in bundled().values():
        family.cases()
    assert time.process_time() - start < 2  # 0.6 s on the machine where it was written


def test_families_are_installed() -> None:
    installed = {point.name: point.value for point in importlib.metadata.entry_points(group=attack.ENTRY_POINTS)}
    if not installed:
        pytest.skip("epctx is on the path, but not installed")
    for name in bundled():
        assert installed[name] == f"epctx_attacks.{name.replace('-', '_')}:family"
    assert installed["regressions"] == "epctx_corpora.finds:family"
