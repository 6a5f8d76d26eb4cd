"""JUnit XML, as the JUnit task of Apache Ant writes it and every CI reads it: families are suites, cases are test cases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from xml.etree import ElementTree

from epctx.case import visible
from epctx.oracle import Finding
from epctx.report.comparison import statement
from epctx.report.escape import xml
from epctx.report.failing import Broken
from epctx.report.record import FAILING, Header, Line, Run
from epctx.report.terminal import by_severity, conclusion, measure


def junit(run: Run) -> str:
    """JUnit XML, for the test reports of a CI: a suite for each family of cases."""
    root = ElementTree.Element("testsuites")
    lines = sorted(run.lines, key=lambda line: line.case.family)
    skipped = run.header.skipped
    families = {family: list(group) for family, group in groupby(lines, key=lambda line: line.case.family)}
    for id in skipped:
        families.setdefault(id.partition("/")[0], [])
    for number, family in enumerate(sorted(families)):
        left_out = {id: reason for id, reason in skipped.items() if id.partition("/")[0] == family}
        root.append(_suite(run, number, family, families[family], left_out))
    ElementTree.indent(root)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ElementTree.tostring(root, encoding='unicode')}\n"


def _suite(run: Run, number: int, family: str, lines: Sequence[Line], left_out: dict[str, str]) -> ElementTree.Element:
    head = run.header
    cases = [_case(line, head) for line in lines] + [_left_out(id, reason) for id, reason in left_out.items()]
    counts = {kind: sum(case.find(kind) is not None for case in cases) for kind in ("failure", "error", "skipped")}
    suite = ElementTree.Element(
        "testsuite",
        {
            "name": _attribute(family),
            "package": "epctx",
            "id": str(number),
            "timestamp": datetime.fromisoformat(head.started).strftime("%Y-%m-%dT%H:%M:%S"),
            "hostname": "localhost",
            "tests": str(len(cases)),
            "failures": str(counts["failure"]),
            "errors": str(counts["error"]),
            "skipped": str(counts["skipped"]),
            "time": f"{sum(map(_seconds, lines)):.3f}",
        },
    )
    properties = ElementTree.SubElement(suite, "properties")
    about = {
        "target": head.target,
        "profile": head.profile,
        "epctx": head.epctx,
        "judged by": measure(head),
        "box": head.box,
        "verdict": conclusion(head, run.footer).plain,
    }
    for name, value in about.items():
        ElementTree.SubElement(properties, "property", name=name, value=_attribute(value))
    suite.extend(cases)
    notes = [f"{line.case.id}: note {f.rule}: {f.happened}" for line in lines for f in line.verdict.findings if not f.fails]
    ElementTree.SubElement(suite, "system-out").text = xml("\n".join(map(visible, notes)))
    ElementTree.SubElement(suite, "system-err")
    return suite


def _case(line: Line, head: Header) -> ElementTree.Element:
    verdict = line.verdict
    case = _element(line.case.id, _seconds(line))
    if verdict.result in FAILING:
        _failure(case, line, head)
    elif verdict.result == "skip":
        ElementTree.SubElement(case, "skipped", message=_attribute(verdict.reason))
    elif verdict.result == "error":
        ElementTree.SubElement(case, "error", message=_attribute(verdict.reason), type="harness")
    return case


def _left_out(id: str, reason: str) -> ElementTree.Element:
    case = _element(id, 0.0)
    ElementTree.SubElement(case, "skipped", message=_attribute(reason))
    return case


def _element(id: str, seconds: float) -> ElementTree.Element:
    family, _, name = id.partition("/")
    return ElementTree.Element("testcase", name=_attribute(name), classname=_attribute(f"epctx.{family}"), time=f"{seconds:.3f}")


def _failure(case: ElementTree.Element, line: Line, head: Header) -> None:
    """All that a case breaks as one failure; as a skip where all of it is known, since a CI has no word for that."""
    of_rule: dict[str, list[Finding]] = {}
    for finding in line.verdict.findings:
        if finding.fails:
            of_rule.setdefault(finding.rule, []).append(finding)
    found = [Broken(line, of_rule[rule], line.known.get(rule, "")) for rule in sorted(of_rule, key=by_severity)]
    new = [broken for broken in found if not broken.known]
    if not new:
        reasons = "; ".join(f"{broken.first.rule}: {broken.known}" for broken in found)
        ElementTree.SubElement(case, "skipped", message=_attribute(f"known: {reasons}"))
        return
    parts = []
    for broken in found:
        first = broken.first
        rows = "\n".join(f"  {label:9}{visible(text)}" for label, text in broken.rows)
        parts.append(f"{first.severity}  {first.rule}\n  {statement(first.rule)}\n{rows}")
    again = f"  {'again':9}{visible(new[0].again(head))}"
    message = "; ".join(f"{broken.first.rule}: {broken.first.happened}" for broken in new)
    failure = ElementTree.SubElement(case, "failure", message=_attribute(message), type=new[0].first.rule)
    failure.text = xml("\n".join(("", *parts, again, "")))


def _seconds(line: Line) -> float:
    return sum(seen.seconds for seen in line.observation.calls)


def _attribute(text: str) -> str:
    """A text for an attribute, whose readers make one space of several."""
    return re.sub(r"\s+", " ", xml(visible(text))).strip() or "-"
