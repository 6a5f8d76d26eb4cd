"""examples/plugin-ep, an execution provider of a vendor: clean as it is, and found out without its defence."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.examples.projects import EXAMPLES, copied, run_tox

from epctx.target.native import onnxruntime_library

pytestmark = [
    pytest.mark.skipif("EPCTX_EXAMPLES" not in os.environ, reason="the environment `examples` of tox runs these"),
    pytest.mark.skipif(onnxruntime_library() is None, reason="onnxruntime is not installed"),
]

README = (EXAMPLES / "plugin-ep" / "README.md").read_text(encoding="utf-8")


def test_it_holds(tmp_path: Path) -> None:
    code, output = run_tox(copied("plugin-ep", tmp_path), "epctx")
    assert code == 0, output
    (shown,) = re.findall(r"```text\n(.*)\n```", README)
    last = output.splitlines()[-1]
    assert re.sub(r"\d[\d.]*", "N", last) == re.sub(r"\d[\d.]*", "N", shown)


def test_it_does_not_without_the_defence_that_its_page_takes_away(tmp_path: Path) -> None:
    project = copied("plugin-ep", tmp_path)
    (weakened,) = re.findall(r"```c\+\+\n(.*?)```", README, re.DOTALL)
    source = (project / "src" / "acme_ep.cc").read_text(encoding="utf-8")
    line = "    RETURN_IF_ERROR(epctx_reference::ReadEpContextData(api_, config_, cache.c_str(), graph, data));\n"
    assert source.count(line) == 1
    (project / "src" / "acme_ep.cc").write_text(source.replace(line, weakened), encoding="utf-8")
    code, output = run_tox(project, "epctx", "--only", "links/final-outside[read,*")
    assert code == 1, output
    assert "contain.symlink-file" in output
    assert "the content of outside/secret.bin was loaded and executed" in output
