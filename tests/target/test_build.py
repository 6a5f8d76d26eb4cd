"""The cache of what was built."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from epctx.target import build


def test_what_killed_builds_left_behind_is_removed_by_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPCTX_CACHE", str(tmp_path / "cache"))
    left, going_on = (tmp_path / "cache" / f"building-{name}" for name in ("left", "going-on"))
    for directory in (left, going_on):
        directory.mkdir(parents=True)
        (directory / "half.o").write_bytes(b"half")
    day_ago = time.time() - 24 * 3600
    os.utime(left, (day_ago, day_ago))
    source = tmp_path / "one.cc"
    source.write_text("int one() { return 1; }")
    made = build.build(build.Part("one", (source,), (source,)))
    assert sorted((tmp_path / "cache").iterdir()) == sorted((going_on, made))
