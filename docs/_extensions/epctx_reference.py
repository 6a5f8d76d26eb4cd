"""Writes pages out of the code before Sphinx reads them: they are made anew with every build, and no part of the repository.

There is a page for each rule in ``reference/rules``, one for each family in ``reference/attacks``, tables of targets and of
profiles, and in ``projects`` the page of each project in ``examples/``.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from sphinx.application import Sphinx

from epctx.attack import Family, families
from epctx.case import Case
from epctx.oracle import POLICIES, PROFILES, RULES, Rule
from epctx.target import kinds, weaknesses
from epctx.target.example import Code, example

SHOWN = 12
"""How many cases of a rule are named on its page."""

FOLDERS = ("reference/rules", "reference/attacks", "projects")
"""The folders in which everything is generated."""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", lambda app: generate(Path(app.srcdir)))
    app.connect("source-read", _lead_to_projects)
    for part in ("description", "options", "arguments"):
        app.connect(f"sphinx-click-process-{part}", _help_as_written)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def generate(docs: Path) -> None:
    """Write all pages, each only where it is not there as it should be; remove those that nothing is left of."""
    known = families()
    pages = dict(_rules([c for family in known.values() for c in family.cases()]))
    pages |= dict((*_attacks(known), *_targets(), *_profiles(), *_projects(docs)))
    for folder in FOLDERS:
        (docs / folder).mkdir(exist_ok=True)
        for path in (docs / folder).glob("*.md"):
            if f"{folder}/{path.name}" not in pages:
                path.unlink()
    for name, text in pages.items():
        path = docs / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _help_as_written(app: Sphinx, context: object, lines: list[str]) -> None:
    """Help texts are no reStructuredText: an asterisk is one, and what click is told to leave alone keeps its columns."""
    written = []
    for alone, group in groupby(lines, key=lambda line: line.startswith("| ")):
        if alone:
            written += [".. code-block:: text", "", *("   " + line[2:] for line in group), ""]
        else:
            written += [line.replace("*", "\\*") for line in group]
    lines[:] = written


# --- rules ------------------------------------------------------------------------------------------------------------------


def _rules(cases: Sequence[Case]) -> Iterator[tuple[str, str]]:
    index = ["# Rules", "", INTRODUCTION, ""]
    order = [*ROOMS, *dict.fromkeys(map(_room, RULES.values()))]
    for room, rules in groupby(sorted(RULES.values(), key=lambda rule: order.index(_room(rule))), key=_room):
        index += [f"## {ROOMS.get(room, room)}", "", "| rule | severity | tier | what is demanded |", "|---|---|---|---|"]
        for rule in rules:
            index.append(f"| [{rule.id}]({rule.id}.md) | {rule.severity} | {rule.tier} | {_flat(rule.statement)} |")
            yield f"reference/rules/{rule.id}.md", _rule(rule, [c for c in cases if rule.id in c.rules])
        index.append("")
    index += ["```{toctree}", ":hidden:", ":glob:", "", "*", "```", ""]
    yield "reference/rules/index.md", "\n".join(index)


INTRODUCTION = """\
What epctx judges by. Each rule is one clause of the specification; `epctx explain RULE` says the same as its page. The
[profile](../profiles.md) says which of them must hold: tier `spec` is the design document, `stable` what ONNX Runtime 1.31 and
later add, `hardened` what a careful loader does beyond, and `policy` what loaders differ on with good reason."""


ROOMS = {
    "safe": "Whatever happens",
    "contain": "Where a name leads",
    "name": "What a name means",
    "type": "Kinds of files",
    "size": "Sizes and contents",
    "write": "Writing",
    "trusted": "Trusted callers",
    "cb": "Callbacks",
    "plain": "Plaintext",
    "chunk": "Payloads in pieces",
    "config": "Configs",
    "support": "Negotiation",
    "own": "Ownership",
    "out": "Outputs",
    "mem": "Memory",
    "thread": "Threads",
    "model": "Nodes of a model",
    "external": "External data",
    "status": "Codes",
}
"""The groups of rules, by what their ids begin with, in the order in which a newcomer meets them."""


def _room(rule: Rule) -> str:
    return rule.id.partition(".")[0]


def _rule(rule: Rule, cases: Sequence[Case]) -> str:
    """The page of a rule."""
    weak = [w for w in weaknesses() if rule.id in w.breaks]
    lines = [f"# {rule.id}", "", _flat(rule.statement), ""]
    lines += [f"Severity **{rule.severity}**, tier **{rule.tier}**, source: {rule.source}.", ""]
    lines += ["## Why it matters", "", _flat(rule.why), ""]
    if shown := example(rule.id):
        lines += ["## A weak form", "", f"`{shown.weakness.target}` {shown.weakness.summary}.", "", *_codes(shown.weak)]
        lines += ["## The right form", ""]
        lines += _codes(shown.right) or ["The same without what depends on the fault.", ""]
    lines += ["## Cases", ""]
    if not cases:
        lines += ["None aims at it: it is judged on every case.", ""]
    else:
        lines += [f"{len(cases)} aim at it: `epctx list cases` names all, `epctx show CASE` shows one.", ""]
        lines += _case_rows(cases[:SHOWN])
    lines += ["## Caught in the self-test", ""]
    lines += ["| weak target | what is wrong with it |", "|---|---|"] if weak else ["It is never broken: it tells something."]
    lines += [f"| `{w.target}` | {_flat(w.summary)} |" for w in weak]
    return "\n".join((*lines, ""))


def _codes(codes: Iterable[Code]) -> list[str]:
    return [
        line
        for code in codes
        for line in (f"```{{code-block}} {code.language}", f":caption: {code.file}", "", code.text, "```", "")
    ]


def _case_rows(cases: Iterable[Case]) -> list[str]:
    rows = ["| case | intent | what it is |", "|---|---|---|"]
    return [*rows, *(f"| `{c.id}` | {c.intent} | {_flat(c.summary)} |" for c in cases), ""]


# --- attacks ----------------------------------------------------------------------------------------------------------------


def _attacks(known: Mapping[str, Family]) -> Iterator[tuple[str, str]]:
    index = ["# Attacks", "", "The families of cases. [How to write a case](../../extending/case.md) adds one.", ""]
    index += ["| family | cases | what it is |", "|---|---:|---|"]
    for name, family in known.items():
        cases = family.cases()
        index.append(f"| [{name}]({name}.md) | {len(cases)} | {_flat(family.summary)} |")
        yield f"reference/attacks/{name}.md", _family(family, cases)
    index += ["", "```{toctree}", ":hidden:", ":glob:", "", "*", "```", ""]
    yield "reference/attacks/index.md", "\n".join(index)


def _family(family: Family, cases: Sequence[Case]) -> str:
    """The page of a family: each idea with its axes and the rules that it aims at."""
    lines = [f"# {family.name}", "", _flat(family.summary), ""]
    lines += [f"{len(cases)} cases; `epctx check TARGET --only '{family.name}/*'` runs them.", ""]
    for idea, group in groupby(cases, key=lambda c: c.id.partition("[")[0]):
        variants = list(group)
        rules = dict.fromkeys(rule for case in variants for rule in case.rules)
        lines += [f"## {idea.partition('/')[2]}", "", _flat(variants[0].summary), ""]
        lines += [f"- {variants[0].intent}, {len(variants)} {'case' if len(variants) == 1 else 'cases'}"]
        axes = family.axes().get(idea.partition("/")[2], {})
        lines += [f"- `{axis}`: {', '.join(f'`{word}`' for word in words)}" for axis, words in axes.items()]
        lines += ["- aims at " + ", ".join(f"[{rule}](../rules/{rule}.md)" for rule in rules), ""]
    return "\n".join(lines)


# --- tables -----------------------------------------------------------------------------------------------------------------


def _targets() -> Iterator[tuple[str, str]]:
    lines = ["# Targets", "", TARGETS, ""]
    for name, kind in kinds().items():
        lines += [f"## {name}", "", f"`epctx check {name}` and further: {_flat(kind.summary)}.", ""]
    yield "reference/targets.md", "\n".join(lines)


TARGETS = """\
A target is named `kind:what?option=value&option=value`. `epctx list targets` prints which kinds are installed.
[Adapters](../adapters.md) says how a loader becomes a target, and [a kind of your own](../extending/target.md) is a function."""


def _profiles() -> Iterator[tuple[str, str]]:
    lines = ["# Profiles", "", PROFILE, "", "## Tiers", "", "| tier | rules | what is in it |", "|---|---:|---|"]
    for tier, words in TIERS.items():
        lines.append(f"| `{tier}` | {sum(rule.tier == tier for rule in RULES.values())} | {words} |")
    lines += ["", "## Which there are", ""]
    for one in PROFILES.values():
        lines += [f"### {one.name}", "", _flat(one.summary), "", f"- tiers: {', '.join(one.tiers)}"]
        lines += [f"- [{rule}](rules/{rule}.md): {stance}" for rule, stance in one.policies.items()]
        lines += [f"- [{rule}](rules/{rule}.md) is only noted: {_flat(what)}" for rule, what in one.departures.items()]
        lines += [f"- source: <{source}>" for source in one.sources]
        lines += ["- judged by its effects alone: which files are touched, and which bytes are given"] * (one.scope == "effects")
        lines.append("")
    yield "reference/profiles.md", "\n".join(lines)


PROFILE = f"""\
A profile says which rules must hold. By default it is what goes with the target and with the ONNX Runtime that it met; the report
names it. `--profile NAME` takes another one, and `--policy RULE=STANCE` says how a rule is judged on which loaders differ
({", ".join(f"`{rule}`" for rule in POLICIES)}): `accept`, `refuse` or `report`."""

TIERS = {
    "spec": "the design document",
    "stable": "what ONNX Runtime 1.31 and later demand besides",
    "hardened": "what a careful loader does beyond that",
    "policy": "what loaders differ on with good reason",
}


# --- projects ---------------------------------------------------------------------------------------------------------------


def _projects(docs: Path) -> Iterator[tuple[str, str]]:
    """The pages of the projects in ``examples/``, their links as they are from here."""
    for page in sorted((docs.parent / "examples").glob("*/README.md")):
        to = functools.partial(_from_here, page.parent, docs / "projects")
        yield f"projects/{page.parent.name}.md", re.sub(r"\[([^\]]+)\]\(([^)#:]+)\)", to, page.read_text(encoding="utf-8"))


def _from_here(there: Path, here: Path, link: re.Match[str]) -> str:
    target = (there / link[2]).resolve()
    return f"[{link[1]}]({os.path.relpath(target, here)})" if target.is_file() else link[1]


def _lead_to_projects(app: Sphinx, name: str, source: list[str]) -> None:
    """A link to the page of a project, as it is for readers of the repository, leads to that page here."""
    source[0] = re.sub(r"\]\((?:\.\./)+examples/([\w-]+)/README\.md\)", r"](/projects/\1.md)", source[0])


def _flat(text: str) -> str:
    """A text as one line of Markdown that may stand in a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
