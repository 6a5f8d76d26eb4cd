"""examples/header, a helper of a vendor: set up by ``epctx init``, red with its fault, and green after the fix of its page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.examples.projects import EXAMPLES, copied, run_tox

pytestmark = pytest.mark.skipif("EPCTX_EXAMPLES" not in os.environ, reason="the environment `examples` of tox runs these")

README = (EXAMPLES / "header" / "README.md").read_text(encoding="utf-8")
HEADER = "include/acme_ep_context.h"


def files_of(project: Path) -> dict[str, str]:
    found = (file for file in project.rglob("*") if file.is_file() and file.name != "README.md")
    return {str(file.relative_to(project)): file.read_text(encoding="utf-8") for file in found}


def without_numbers(text: str) -> str:
    """A text without what differs from one run to another: numbers, and where a line ends."""
    return re.sub(r"\d[\d.,]*", "N", " ".join(text.split()))


def test_init_makes_it_out_of_the_header_alone(tmp_path: Path) -> None:
    expected = files_of(copied("header", tmp_path / "whole"))
    bare = tmp_path / "bare"
    shutil.copytree(EXAMPLES / "header" / "include", bare / "include")
    (command,) = re.findall(r"^epctx (init .*)$", README, re.MULTILINE)
    words = [sys.executable, "-m", "epctx", *command.split()]
    done = subprocess.run(words, cwd=bare, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (shown,) = re.findall(r"```text\n(trying .*?)\n```", README, re.DOTALL)
    assert without_numbers(shown) == without_numbers(done.stdout.strip())
    assert files_of(bare) == expected


def test_it_is_red_with_the_fault_and_green_after_the_fix(tmp_path: Path) -> None:
    project = copied("header", tmp_path)
    code, output = run_tox(project, "epctx", "--only", "traversal/*")
    assert code == 1, output
    (shown,) = re.findall(r"```text\n(critical .*?)…\n```", README, re.DOTALL)
    assert shown in output
    red, green = re.findall(r"^header:.*hold.*$", README, re.MULTILINE)
    assert without_numbers(red) == without_numbers(output.splitlines()[-1])
    (fix,) = re.findall(r"```diff\n(.*?)```", README, re.DOTALL)
    before, after = ("\n".join(line[1:] for line in fix.splitlines() if line[0] in which) for which in (" -", " +"))
    text = (project / HEADER).read_text(encoding="utf-8")
    assert text.count(before) == 1
    (project / HEADER).write_text(text.replace(before, after), encoding="utf-8")
    code, output = run_tox(project, "epctx")
    assert code == 0, output
    assert without_numbers(green) == without_numbers(output.splitlines()[-1])
