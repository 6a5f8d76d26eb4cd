"""The README shows what really happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.cli.conftest import Epctx

from epctx.attack import families
from epctx.run import baseline_file
from epctx.target import weaknesses

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^\$ epctx (.*)\n((?:.*\n)*?)```", README, re.MULTILINE)


def settled(output: str) -> str:
    """Without what differs from one machine or run to the next."""
    output = re.sub(r"^(namespaces|landlock|WARNING).*$", "BOX", output, flags=re.MULTILINE | re.IGNORECASE)
    output = re.sub(r"profile (spec|ort-1\.\d+)", "PROFILE", output)
    output = re.sub(r"^ONNX Runtime .*$", "ONNX Runtime", output, flags=re.MULTILINE)
    return re.sub(r"; \d+\.\d s$", "; SECONDS", output, flags=re.MULTILINE)


@pytest.mark.parametrize(("arguments", "output"), SHOWN, ids=[a for a, _ in SHOWN])
def test_what_is_shown_is_what_is_printed(epctx: Epctx, arguments: str, output: str) -> None:
    assert settled(epctx(*shlex.split(arguments)).output) == settled(output)


def test_numbers_are_right() -> None:
    assert SHOWN
    assert sum(len(family.cases()) for family in families().values()) > 2000
    assert len(weaknesses()) > 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^):]*)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link


def test_the_baseline_that_is_shown_can_be_used(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "baselines.md").read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "known.toml").write_text(text, encoding="utf-8")
    cases = [case for family in families().values() for case in family.cases()]
    (file,) = baseline_file.read([tmp_path / "known.toml"], cases)
    file.check_use("lib:build/libmy_target.so", "ort-1.31")
    (entry,) = file.entries
    keys = [
        line.split("`")[1] for line in (ROOT / "docs" / "baselines.md").read_text("utf-8").splitlines() if line.startswith("| `")
    ]
    assert keys == [*baseline_file.WHAT_IT_IS_FOR, *baseline_file.FIELDS]
    assert entry.reason
