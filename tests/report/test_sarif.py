"""SARIF: valid, stable, within the limits of code scanning, and nothing but findings."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec.structs import replace
from tests.report.runs import HEAD, MIXED, finding, line, run

from epctx.oracle import CWE_NAMES, RULES
from epctx.report.record import Run
from epctx.report.sarif import sarif

SCHEMA = json.loads((Path(__file__).parent.parent / "schemas" / "sarif-schema-2.1.0.json").read_text())
VALIDATOR = jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker())


def made(whole: Run) -> dict[str, Any]:
    document = json.loads(sarif(whole))
    VALIDATOR.validate(document)
    (one,) = document["runs"]
    return dict(one)


def results(whole: Run) -> dict[tuple[str, str], dict[str, Any]]:
    return {(result["ruleId"], result["properties"]["case"]): result for result in made(whole)["results"]}


def test_findings_and_notes_are_results_and_nothing_else_is() -> None:
    assert list(results(MIXED)) == [
        ("contain.parent", "links/bad"),
        ("contain.parent", "links/half"),
        ("contain.parent", "links/known"),
        ("safe.no-outside-read", "links/bad"),
        ("safe.no-crash", "names/company"),
        ("own.moves", "links/half"),
        ("write.atomic", "names/noted"),
    ]


def test_a_result_in_full() -> None:
    assert results(MIXED)["safe.no-outside-read", "links/bad"] == {
        "ruleId": "safe.no-outside-read",
        "ruleIndex": list(RULES).index("safe.no-outside-read"),
        "level": "error",
        "message": {
            "text": "links/bad: it gave a secret.\ncall: read ../x\nexpected: refused\nhappened: it gave a secret\n"
            "file: outside/secret.bin\nagain: epctx replay links/bad 'header:src/my.h?namespace=mine'"
        },
        "locations": [
            {
                "logicalLocations": [
                    {
                        "name": "links/bad",
                        "fullyQualifiedName": "header:src/my.h?namespace=mine/links/bad",
                        "kind": "member",
                    }
                ],
                "physicalLocation": {"artifactLocation": {"uri": "src/my%20header.h"}, "region": {"startLine": 7}},
            }
        ],
        "partialFingerprints": {
            "primaryLocationLineHash": "fb44d519605dc3867197c6460fb049aa:1",
            "epctx/v1": "fb44d519605dc3867197c6460fb049aa",
        },
        "properties": {
            "case": "links/bad",
            "again": "epctx replay links/bad 'header:src/my.h?namespace=mine'",
            "confirmed": True,
        },
    }


def test_what_is_known_is_suppressed_with_its_reason() -> None:
    found = results(MIXED)
    suppressed = {key: result["suppressions"] for key, result in found.items() if "suppressions" in result}
    accepted = {"kind": "external", "status": "accepted"}
    assert suppressed == {
        ("contain.parent", "links/known"): [{**accepted, "justification": "ticket 12"}],
        ("own.moves", "links/half"): [{**accepted, "justification": "harmless"}],
    }


def test_levels_are_those_of_the_rules_and_notes_are_notes() -> None:
    levels = {rule: result["level"] for (rule, _), result in results(MIXED).items()}
    assert levels == {
        "contain.parent": "error",
        "safe.no-outside-read": "error",
        "safe.no-crash": "error",
        "own.moves": "warning",
        "write.atomic": "note",
    }


def test_rules_carry_what_they_demand_and_the_weaknesses_that_break_them() -> None:
    one = made(MIXED)
    rules = {rule["id"]: rule for rule in one["tool"]["driver"]["rules"]}
    assert list(rules) == list(RULES)
    parent = rules["contain.parent"]
    assert parent["shortDescription"]["text"] == RULES["contain.parent"].statement
    assert parent["properties"]["security-severity"] == "9.5"
    assert parent["properties"]["tags"] == [
        "EPContext",
        "epctx/spec",
        "security",
        "external/cwe/cwe-023",
        "external/cwe/cwe-022",
    ]
    taxa = one["taxonomies"][0]["taxa"]
    assert [taxa[r["target"]["index"]]["id"] for r in parent["relationships"]] == ["23", "22"]
    assert "security-severity" not in rules["contain.accept-inside"]["properties"]
    assert all(len(rule["properties"]["tags"]) <= 10 for rule in rules.values())
    assert all(set(rule.cwe) <= set(CWE_NAMES) for rule in RULES.values())


def test_fingerprints_are_the_same_whatever_the_order_and_whatever_else_is_found() -> None:
    def prints(whole: Run) -> dict[tuple[str, str], str]:
        return {key: result["partialFingerprints"]["primaryLocationLineHash"] for key, result in results(whole).items()}

    first = prints(MIXED)
    assert len(set(first.values())) == len(first)
    turned = list(MIXED.lines)
    random.Random(4).shuffle(turned)
    assert sarif(run(*turned, head=MIXED.header)) == sarif(run(*MIXED.lines, head=MIXED.header))
    rebuilt = replace(
        MIXED.header, target="header:src/my.h?namespace=mine&include=third_party", started="2027-01-01T00:00:00+00:00"
    )
    assert prints(run(*MIXED.lines[1:3], head=rebuilt)).items() <= first.items()
    other = replace(MIXED.header, target="header:src/other.h")
    assert not set(prints(run(*MIXED.lines, head=other)).values()) & set(first.values())


def test_how_the_run_went_is_told() -> None:
    (told,) = made(MIXED)["invocations"]
    assert (told["executionSuccessful"], told["exitCode"]) == (True, 1)
    assert (told["startTimeUtc"], told["endTimeUtc"]) == ("2026-01-01T08:00:00.000Z", "2026-01-01T08:00:01.500Z")
    assert [n["message"]["text"] for n in told["toolExecutionNotifications"]] == [
        "the harness failed at sizes/lost: no room left",
        "skipped 1 case: slow here",
        "skipped 1 case: needs root",
    ]
    assert told["toolConfigurationNotifications"] == []
    (told,) = made(run(line("links/good"), interrupted=True))["invocations"]
    assert (told["executionSuccessful"], told["exitCode"]) == (False, 130)
    assert "name one with --source FILE" in told["toolConfigurationNotifications"][0]["message"]["text"]


def test_a_source_elsewhere_is_named_in_full() -> None:
    head = replace(HEAD, source="/opt/ä/my.h")
    (result,) = results(run(line("links/bad", finding("contain.parent")), head=head)).values()
    place = result["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "file:///opt/%C3%A4/my.h"}, "region": {"startLine": 1}}


def test_twenty_thousand_findings_stay_within_the_limits_of_code_scanning() -> None:
    rules = ("own.moves", "contain.parent", "safe.error-has-text", "safe.no-crash")
    lines = [line(f"links/bad[{n}]", finding(rules[n % 4], f"it was accepted with {n} bytes")) for n in range(20_000)]
    text = sarif(run(*lines))
    (one,) = json.loads(text)["runs"]
    assert len(gzip.compress(text.encode())) < 10_000_000
    assert [len(one["results"]), len({r["ruleId"] for r in one["results"]})] == [5_000, 1]
    assert {r["ruleId"] for r in one["results"]} == {"contain.parent"}
    (left,) = one["invocations"][0]["toolExecutionNotifications"]
    assert left["message"]["text"] == (
        "15,000 results more, as code scanning shows no more than 5,000: "
        "safe.no-crash 5,000, own.moves 5,000, safe.error-has-text 5,000"
    )


@pytest.mark.parametrize("rule", ["contain.parent", "mine.own"])
def test_a_rule_that_this_version_does_not_have_is_reported_all_the_same(rule: str) -> None:
    (result,) = results(run(line("links/bad", finding(rule)))).values()
    assert ("ruleIndex" in result) is (rule in RULES)
