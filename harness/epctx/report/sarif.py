"""SARIF 2.1.0, for code scanning: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html

What GitHub's code scanning takes of a run: 25,000 results, of which it keeps the 5,000 most severe; 25,000 rules; 20 tags of a
rule, of which it shows 10; a file of 10 MB, compressed.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import msgspec

from epctx.case import visible
from epctx.oracle import CWE_NAMES, RULES, Rule, Severity
from epctx.report.console import plural
from epctx.report.escape import clipped
from epctx.report.failing import Broken, broken
from epctx.report.record import Header, Run
from epctx.report.terminal import conclusion

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MOST = 5_000
"""Results of a run that are shown."""
MESSAGES = 100
"""Notifications of one kind."""
TEXT = 2_000
"""Characters of one text."""

WEAKNESSES = tuple(CWE_NAMES)
LEVELS: dict[Severity, str] = {"critical": "error", "high": "error", "medium": "warning", "low": "note"}
SCORES: dict[Severity, str] = {"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "2.5"}
"""What code scanning shows as critical (over 9), high (from 7), medium (from 4) and low."""


def sarif(run: Run) -> str:
    """SARIF 2.1.0, for code scanning: findings with rules, weaknesses (CWE) and stable fingerprints."""
    head, _, foot = run
    everything = list(_ordered(run))
    start = datetime.fromisoformat(head.started).astimezone(UTC)
    invocation = {
        "executionSuccessful": foot.exit_code in (0, 1),
        "exitCode": foot.exit_code,
        "exitCodeDescription": _text(conclusion(head, foot).plain),
        "startTimeUtc": _time(start),
        "endTimeUtc": _time(start + timedelta(seconds=foot.seconds)),
        "toolExecutionNotifications": list(_notifications(run, everything)),
        "toolConfigurationNotifications": list(_settings(head)),
    }
    one = {
        "tool": {
            "driver": {
                "name": "epctx",
                "version": head.epctx,
                "semanticVersion": head.epctx,
                "shortDescription": {"text": "Tests whether an EPContext loader keeps hostile models in their place."},
                "rules": [_rule(rule) for rule in RULES.values()],
                "supportedTaxonomies": [{"name": "CWE", "index": 0}],
            }
        },
        "taxonomies": [_taxonomy()],
        "automationDetails": {"id": f"epctx/{_target(head)}/"},
        "invocations": [invocation],
        "results": [_result(rule, found, head) for rule, found in everything[:MOST]],
        "properties": {
            "target": visible(head.target),
            "profile": head.profile,
            "onnxruntime": head.ort,
            "counts": dict(foot.counts),
        },
    }
    return msgspec.json.format(msgspec.json.encode({"$schema": SCHEMA, "version": "2.1.0", "runs": [one]}), indent=1).decode()


def _ordered(run: Run) -> Iterator[tuple[str, Broken]]:
    """All findings, then all notes; the most severe rules first, cases by their ids: the same, in whatever order they ran."""
    for fails in (True, False):
        for rule, cases in broken(run, fails=fails).items():
            yield from ((rule, found) for found in sorted(cases, key=lambda found: found.case.id))


def _rule(rule: Rule) -> dict[str, Any]:
    tags = ["EPContext", f"epctx/{rule.tier}", *(["security"] if rule.cwe else [])]
    properties: dict[str, Any] = {
        "tags": [*tags, *(f"external/cwe/cwe-{number:03}" for number in rule.cwe)],
        "precision": "very-high",
    }
    if rule.cwe:
        properties["security-severity"] = SCORES[rule.severity]
    why = f"\n\n{rule.why}" if rule.why else ""
    source = f"\n\nSource: {rule.source}. `epctx explain {rule.id}` tells the same."
    return {
        "id": rule.id,
        "name": "".join(part.capitalize() for part in re.split(r"\W", rule.id)),
        "shortDescription": {"text": _text(rule.statement)},
        "fullDescription": {"text": _text(rule.why or rule.statement)},
        "help": {
            "text": _text(f"{rule.statement}{why}{source}"),
            "markdown": _text(f"**{rule.statement}**{why}{source}"),
        },
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": properties,
        "relationships": [
            {
                "target": {
                    "id": str(number),
                    "index": list(CWE_NAMES).index(number),
                    "toolComponent": {"name": "CWE", "index": 0},
                },
                "kinds": ["superset"],
            }
            for number in rule.cwe
        ],
    }


def _taxonomy() -> dict[str, Any]:
    return {
        "name": "CWE",
        "organization": "MITRE",
        "informationUri": "https://cwe.mitre.org/",
        "shortDescription": {"text": "The MITRE Common Weakness Enumeration"},
        "isComprehensive": False,
        "taxa": [
            {
                "id": str(number),
                "name": name,
                "shortDescription": {"text": name},
                "helpUri": f"https://cwe.mitre.org/data/definitions/{number}.html",
            }
            for number, name in CWE_NAMES.items()
        ],
    }


def _result(rule: str, found: Broken, head: Header) -> dict[str, Any]:
    first = found.first
    again = found.again(head)
    rows = "\n".join(f"{label}: {clipped(text, TEXT)}" for label, text in found.rows)
    result: dict[str, Any] = {
        "ruleId": rule,
        "level": LEVELS[first.severity] if first.fails else "note",
        "message": {"text": _text(f"{found.case.id}: {clipped(first.happened, TEXT)}.\n{rows}\nagain: {again}")},
        "locations": [_location(head, found.case.id)],
        "partialFingerprints": _fingerprints(rule, found.case.id, head),
        "properties": {"case": found.case.id, "again": visible(again), "confirmed": found.line.verdict.confirmed},
    }
    if rule in RULES:  # a run that another version saved may break a rule that this one does not have
        result["ruleIndex"] = list(RULES).index(rule)
    if found.known:
        justification = clipped(found.known, TEXT)
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": justification}]
    return result


def _location(head: Header, case: str) -> dict[str, Any]:
    target = visible(head.target)
    location: dict[str, Any] = {"logicalLocations": [{"name": case, "fullyQualifiedName": f"{target}/{case}", "kind": "member"}]}
    if head.source:
        path = head.source.encode("utf-8", "surrogateescape")
        uri = f"file://{quote(path)}" if path.startswith(b"/") else quote(path)
        location["physicalLocation"] = {"artifactLocation": {"uri": uri}, "region": {"startLine": head.line}}
    return location


def _target(head: Header) -> str:
    """The target without its options, which say how it is built."""
    return visible(head.target.partition("?")[0])


def _fingerprints(rule: str, case: str, head: Header) -> dict[str, str]:
    """What a finding is known again by. Code scanning looks at the first of them alone, and would make its own of the line in the
    source, which all findings share."""
    mark = hashlib.sha256("\0".join((_target(head), rule, case)).encode("utf-8", "backslashreplace")).hexdigest()[:32]
    return {"primaryLocationLineHash": f"{mark}:1", "epctx/v1": mark}


def _notifications(run: Run, everything: Sequence[tuple[str, Broken]]) -> Iterator[dict[str, Any]]:
    """What was left out, what the harness failed at, and what was skipped."""
    if left := everything[MOST:]:
        rules = ", ".join(f"{rule} {count:,}" for rule, count in Counter(rule for rule, _ in left).items())
        words = f"{plural(len(left), 'result')} more, as code scanning shows no more than {MOST:,}: {rules}"
        yield {"level": "warning", "message": {"text": _text(words)}}
    lines = run.lines
    errors = [f"{line.case.id}: {line.verdict.reason}" for line in lines if line.verdict.result == "error"]
    for text in errors[:MESSAGES]:
        yield {"level": "error", "message": {"text": _text(f"the harness failed at {text}")}}
    skips = Counter([*run.header.skipped.values(), *(line.verdict.reason for line in lines if line.verdict.result == "skip")])
    for reason, count in skips.most_common(MESSAGES):
        yield {"level": "note", "message": {"text": _text(f"skipped {plural(count, 'case')}: {reason}")}}


def _settings(head: Header) -> Iterator[dict[str, Any]]:
    if not head.source:
        words = "results have no place in code, without which code scanning does not show them; name one with --source FILE"
        yield {"level": "warning", "message": {"text": _text(words)}}


def _text(text: str) -> str:
    """A text as messages of SARIF have it: braces would be placeholders, and a bracket before a parenthesis the end of a link."""
    lines = "\n".join(map(visible, text.split("\n")))
    return lines.replace("{", "{{").replace("}", "}}").replace("](", "\\](")


def _time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
