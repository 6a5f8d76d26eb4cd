"""examples/exec-node, a loader of a vendor in JavaScript: clean as it is, and found out without its defence."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.examples.projects import copied, run_tox

pytestmark = [
    pytest.mark.skipif("EPCTX_EXAMPLES" not in os.environ, reason="the environment `examples` of tox runs these"),
    pytest.mark.skipif(shutil.which("node") is None, reason="there is no node"),
]


def test_it_holds(tmp_path: Path) -> None:
    code, output = run_tox(copied("exec-node", tmp_path), "epctx")
    assert code == 0, output
    last = output.splitlines()[-1]
    assert last.startswith("exec:node adapter.js (ep_context.js on Node ")
    assert ") holds: every rule " in last


def test_it_does_not_if_it_compares_characters(tmp_path: Path) -> None:
    project = copied("exec-node", tmp_path)
    loader = project / "ep_context.js"
    text = loader.read_text(encoding="utf-8")
    defence = " && [undefined, SLASH].includes(inner[outer.length])"
    assert text.count(defence) == 1
    loader.write_text(text.replace(defence, ""), encoding="utf-8")
    code, output = run_tox(project, "epctx", "--only", "traversal/sibling*")
    assert code == 1, output
    assert "contain.sibling-prefix" in output
    assert "the content of model_evil/deep/twin.bin" in output
