"""The examples in docs/extending are complete: each is run as it stands on its page."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Epctx
from tests.cli.pages import ROOT, blocks

from epctx import case_file
from epctx.attack import Family
from epctx.report import jsonl
from epctx.report.record import Run
from epctx.target import Launch, build, kinds, parse

EXTENDING = ROOT / "docs" / "extending"


def example(page: str) -> dict[str, Any]:
    """What the Python of a page defines."""
    (code,) = blocks(EXTENDING / f"{page}.md", "python")
    defined: dict[str, Any] = {"__name__": f"docs_extending_{page}"}
    exec(compile("from __future__ import annotations\n" + code, f"{page}.md", "exec"), defined)
    return defined


JUDGING = """
import sys
from epctx.case import Call, Case, Link, World
from epctx.oracle import PROFILES, RULES, judge
from epctx.run.runner import Runner
from epctx.target import prepare

if __name__ == "__main__":
    rule = RULES["name.in-error-text"]
    world = World((Link("model/link", "../outside"),))
    case = Case("test/name", "A refused name.", "hostile", (rule.id,), world, (Call("read", "link/f"),))
    with Runner(jobs=1) as runner:
        _, seen = next(runner.run(prepare(sys.argv[1]), [case]))
    print(*(f.happened for f in judge(case, seen, PROFILES["hardened"]).findings if f.rule == rule.id))
"""


def test_a_family(epctx: Epctx, tmp_path: Path) -> None:
    family: Family = example("case")["family"]
    cases = family.cases()
    assert cases[0].id == "versions/version-leads-out[read,near]"
    assert len(cases) == 5
    assert f"`{cases[0].id}` and four more" in (EXTENDING / "case.md").read_text(encoding="utf-8")
    (tmp_path / "cases.jsonl").write_text("".join(case_file.dumps(c) + "\n" for c in cases), encoding="utf-8")
    assert epctx("check", "reference", "--cases", tmp_path / "cases.jsonl").exit_code == 0
    weak = epctx("check", "weak:final-link-unchecked", "--cases", tmp_path / "cases.jsonl")
    assert weak.exit_code == 1
    assert "versions/version-leads-out[write,far]" in weak.output


@pytest.mark.parametrize(
    ("target", "said"),
    [("reference", ""), ("weak:empty-error-text", "it was refused with code 1:")],
    ids=["kept", "broken"],
)
def test_a_rule(target: str, said: str, tmp_path: Path) -> None:
    (code,) = blocks(EXTENDING / "rule.md", "python")  # in a process of its own: rules are there before anything is judged
    (tmp_path / "judging.py").write_text(code + JUDGING, encoding="utf-8")
    words = [sys.executable, str(tmp_path / "judging.py"), target]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, said), done.stderr


def test_a_kind_of_target(tmp_path: Path) -> None:
    defined = example("target")
    defined["BUILDS"] = str(tmp_path / "{}.so")
    shutil.copy(build.build(build.BUNDLED), tmp_path / "2.4.so")
    kind: Callable[[Any], Launch] = defined["acme"]
    launch = kind(parse("acme:2.4?set=weak=S7"))
    assert (launch.target, launch.library, launch.settings) == ("acme:2.4?set=weak=S7", str(tmp_path / "2.4.so"), "weak=S7")


def test_a_report(epctx: Epctx, tmp_path: Path) -> None:
    report: Callable[[Run], str] = example("report")["lines"]
    saved = tmp_path / "run.jsonl"
    epctx("check", "weak:final-link-unchecked", "--only", "links/final-outside[read,*", "--json", saved)
    lines = report(jsonl.read(saved)).splitlines()
    assert "links/final-outside[read,dot]: contain.symlink-file, safe.no-outside-read outside/secret.bin" in lines


def test_entry_points_are_in_the_groups_that_there_are() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    shown = [tomllib.loads(b)["project"]["entry-points"] for p in EXTENDING.glob("*.md") for b in blocks(p, "toml")]
    assert shown
    assert {group for groups in shown for group in groups} <= set(pyproject)
    assert "acme" not in kinds()
