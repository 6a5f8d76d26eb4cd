"""JUnit XML: valid by two schemas that are in wide use, and in the words of the terminal report."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
import xmlschema
from tests.report.runs import HEAD, MIXED, finding, line, run

from epctx.report.junit import junit
from epctx.report.record import Run

SCHEMAS = [xmlschema.XMLSchema(Path(__file__).parent.parent / "schemas" / name) for name in ("JUnit.xsd", "junit-10.xsd")]


def made(whole: Run) -> ElementTree.Element:
    text = junit(whole)
    for schema in SCHEMAS:
        schema.validate(text)
    return ElementTree.fromstring(text)


def test_families_are_suites_and_cases_are_test_cases() -> None:
    root = made(MIXED)
    suites = {
        suite.get("name"): tuple(int(suite.get(kind, "")) for kind in ("tests", "failures", "errors", "skipped"))
        for suite in root
    }
    assert suites == {"links": (4, 2, 0, 1), "names": (2, 1, 0, 0), "races": (1, 0, 0, 1), "sizes": (2, 0, 1, 1)}
    assert [(case.get("classname"), case.get("name")) for case in root.iter("testcase")][:2] == [
        ("epctx.links", "good"),
        ("epctx.links", "bad"),
    ]
    assert [suite.get("id") for suite in root] == ["0", "1", "2", "3"]


def test_a_failure_has_the_words_of_the_terminal_report() -> None:
    (bad,) = made(MIXED).findall("testsuite/testcase[@name='bad']/failure")
    assert bad.get("message") == "contain.parent: it was accepted; safe.no-outside-read: it gave a secret"
    assert bad.get("type") == "contain.parent"
    assert bad.text == (
        "\n"
        "critical  contain.parent\n"
        "  A name whose resolved path leaves the model directory is refused.\n"
        "  call     read ../x\n"
        "  expected refused\n"
        "  happened it was accepted\n"
        "critical  safe.no-outside-read\n"
        "  No byte of a file outside the model directory reaches the output or an error text, and no such file is opened.\n"
        "  call     read ../x\n"
        "  expected refused\n"
        "  happened it gave a secret\n"
        "  file     outside/secret.bin\n"
        "  again    epctx replay links/bad 'header:src/my.h?namespace=mine'\n"
    )


def test_what_is_known_is_a_skip_with_its_reason_unless_something_is_new() -> None:
    root = made(MIXED)
    (known,) = root.findall("testsuite/testcase[@name='known']/*")
    assert (known.tag, known.get("message")) == ("skipped", "known: contain.parent: ticket 12")
    (half,) = root.findall("testsuite/testcase[@name='half']/*")
    assert (half.tag, half.get("message")) == ("failure", "contain.parent: it was accepted")
    assert "  known    harmless\n" in (half.text or "")


@pytest.mark.parametrize(
    ("name", "tag", "message"),
    [("skipped", "skipped", "needs root"), ("left-out", "skipped", "slow here"), ("lost", "error", "no room left")],
)
def test_what_was_not_judged_has_its_reason(name: str, tag: str, message: str) -> None:
    (found,) = made(MIXED).findall(f"testsuite/testcase[@name='{name}']/*")
    assert (found.tag, found.get("message")) == (tag, message)


def test_notes_fail_nothing_and_are_told_with_their_suite() -> None:
    root = made(MIXED)
    assert root.findall("testsuite/testcase[@name='noted']/*") == []
    assert root.findtext("testsuite[@name='names']/system-out") == "names/noted: note write.atomic: it left a file"


def test_what_ran_and_what_it_came_to_are_properties() -> None:
    suite = made(MIXED)[0]
    about = {one.get("name"): one.get("value") for one in suite.iter("property")}
    assert about["target"] == HEAD.target
    assert (about["verdict"] or "").startswith(f"{HEAD.target} does not hold: 4 of 6 cases break rules of profile ort-1.31")
    assert (suite.get("timestamp"), suite.get("time")) == ("2026-01-01T10:00:00", "0.006")


def test_a_run_of_nothing_is_valid() -> None:
    assert list(made(run())) == []


def test_only_in_company_says_so() -> None:
    (found,) = made(run(line("names/company", finding("safe.no-crash"), confirmed=False))).iter("failure")
    assert "  again    only in company: alone the case does not fail" in (found.text or "")
