"""The README shows what really happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.cli.conftest import Epctx

from epctx.attack import families
from epctx.target import weaknesses

README = (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")
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


def test_numbers_and_links_are_right() -> None:
    assert SHOWN
    assert sum(len(family.cases()) for family in families().values()) > 2000
    assert len(weaknesses()) > 150
    for link in re.findall(r"\]\(([^)]*)\)", README):
        assert (Path(__file__).parent.parent.parent / link).exists(), link
