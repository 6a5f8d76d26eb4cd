"""Runs as data, made for a test."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from epctx.case import Call, Case, File, Name, World
from epctx.observation import Observation, Seen
from epctx.oracle import RULES, Finding, Verdict
from epctx.report.record import Header, Line, Run, footer

HEAD = Header("header:src/my.h?namespace=mine", "ort-1.31", 3, "a box", "1.32.0", "0.1.0", "2026-01-01T10:00:00+02:00")


def finding(rule: str, happened: str = "it was accepted", **more: Any) -> Finding:
    found = RULES.get(rule, RULES["contain.parent"])
    return Finding(rule, found.tier, found.severity, **{"call": 0, "expected": "refused", "happened": happened, **more})


def case(id: str, *names: Name) -> Case:
    calls = tuple(Call("read", name) for name in names or ("../x",))
    return Case(id, "A case.", "hostile", ("contain.parent",), World((File("model/good.bin"),)), calls)


def line(id: str, *found: Finding, known: dict[str, str] | None = None, name: Name = "../x", **verdict: Any) -> Line:
    result = "fail" if any(f.fails for f in found) else "note" if found else "pass"
    made = case(id, name)
    seen = () if verdict.get("result") in ("skip", "error") else (Seen("returned", code=2, message="no", seconds=0.0015),)
    judged = Verdict(id, **{"result": result, "findings": found, **verdict})
    return Line(0, made, judged, Observation(id, "mine", calls=seen), known or {})


def run(*lines: Line, head: Header = HEAD, seconds: float = 1.5, interrupted: bool = False) -> Run:
    numbered = [replace(one, index=index) for index, one in enumerate(lines)]
    known = sum(one.verdict.fails and {f.rule for f in one.verdict.findings if f.fails} <= one.known.keys() for one in lines)
    foot = footer([one.verdict for one in lines], [one.observation for one in lines], seconds, interrupted, known)
    return Run(replace(head, cases=len(lines)), numbered, foot)


MIXED = run(
    line("links/good"),
    line("links/bad", finding("safe.no-outside-read", "it gave a secret", file="outside/secret.bin"), finding("contain.parent")),
    line("links/known", finding("contain.parent"), known={"contain.parent": "ticket 12"}),
    line("links/half", finding("contain.parent"), finding("own.moves"), known={"own.moves": "harmless"}),
    line("names/noted", finding("write.atomic", "it left a file", fails=False)),
    line("names/company", finding("safe.no-crash", "it crashed"), confirmed=False, result="crash"),
    line("sizes/skipped", result="skip", reason="needs root"),
    line("sizes/lost", result="error", reason="no room left"),
    head=replace(HEAD, skipped={"races/left-out": "slow here"}, baselines=("known.toml",), source="src/my header.h", line=7),
)
"""A run with each kind of result."""
