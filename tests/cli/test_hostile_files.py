"""Case files are untrusted: whatever is in one, every command that reads it says what is wrong, and nothing is created."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Epctx

GOOD: dict[str, Any] = {
    "id": "mine/case",
    "summary": "A case.",
    "intent": "hostile",
    "rules": ["contain.parent"],
    "world": {"entries": [{"type": "file", "path": "model/good.bin"}]},
    "calls": [{"op": "read", "name": "good.bin"}],
}


def world(*entries: dict[str, Any], **more: Any) -> str:
    return json.dumps({**GOOD, "world": {"entries": [*GOOD["world"]["entries"], *entries], **more}})


def calls(*some: dict[str, Any]) -> str:
    return json.dumps({**GOOD, "calls": list(some)})


def with_fields(**fields: Any) -> str:
    return json.dumps({**GOOD, **fields})


HOSTILE: dict[str, tuple[str, str]] = {
    "absolute-path": (world({"type": "file", "path": "/tmp/epctx-planted"}), "is absolute"),
    "path-that-climbs": (world({"type": "file", "path": "../../../../../../tmp/epctx-planted"}), "`.` or `..`"),
    "path-in-pieces": (world({"type": "file", "path": [{"hex": "2e2e2f", "times": 9}, {"text": "x"}]}), "`.` or `..`"),
    "path-through-a-link": (
        world({"type": "link", "path": "l", "to": "model"}, {"type": "file", "path": "l/x"}),
        "not a directory",
    ),
    "link-to-a-secret": (world({"type": "link", "path": "model/l", "to": "/etc/shadow"}), "outside the world"),
    "link-that-climbs": (world({"type": "link", "path": "model/l", "to": "../" * 12 + "etc"}), "outside the world"),
    "link-through-proc": (world({"type": "link", "path": "model/l", "to": "/proc/self/root/etc"}), "outside the world"),
    "hard-link-outside": (world({"type": "hardlink", "path": "model/h", "to": "/etc/shadow"}), "is absolute"),
    "mount-of-the-host": (world({"type": "mount", "path": "model/m", "of": "/etc"}), "is absolute"),
    "nul-in-a-path": (world({"type": "file", "path": "model/a\0b"}), "NUL"),
    "working-directory-outside": (world(cwd="/etc"), "is absolute"),
    "too-many-entries": (world(*({"type": "file", "path": f"model/{n}"} for n in range(5000))), "too many"),
    "too-deep": (world({"type": "dir", "path": "/".join("d" * 500)}), "components deep"),
    "endless-name": (calls({"op": "read", "name": [{"text": "../", "times": 10**15}]}), "out of range"),
    "name-of-the-host": (calls({"op": "write", "name": "/etc/cron.d/x", "source": "caller"}), "outside the world"),
    "giant-payload": (calls({"op": "write", "name": "x", "payload": {"key": "p", "size": 1 << 45}}), "too many"),
    "endless-races": (
        calls({"op": "read", "name": "x", "race": {"a": "model/good.bin", "b": "model", "rounds": 10**9}}),
        "out of range",
    ),
    "endless-time": (with_fields(limits={"seconds": 1e9}), "not a time limit"),
    "id-that-climbs": (with_fields(id="../../etc/x"), "not an id"),
    "model-outside": (with_fields(model={"path": "../../../x.onnx"}), "`.` or `..`"),
    "wrong-type": (with_fields(calls="rm -rf /"), "expected `array`"),
    "unknown-kind": (world({"type": "program", "path": "model/x"}), "invalid value 'program'"),
    "unknown-field": (with_fields(run="touch x"), "unknown field `run`"),
    "other-version": (with_fields(epctx=99), "format 99"),
    "cut-off": (json.dumps(GOOD)[:-30], "not JSON"),
    "nested": ('{"id":' + "[" * 200_000, "nested too deeply"),
    "doubled-key": (json.dumps(GOOD)[:-1] + ',"id":"a/b"}', "stands twice"),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All that a command might write to by itself is below one directory."""
    for name in ("HOME", "TMPDIR", "EPCTX_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tree(top: Path) -> list[tuple[str, bytes]]:
    return sorted((str(p), p.read_bytes() if p.is_file() else b"") for p in top.rglob("*"))


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_every_command_refuses_it(epctx: Epctx, place: Path, name: str, suffix: str) -> None:
    text, words = HOSTILE[name]
    file = f"{name}{suffix}"
    (place / file).write_text(text)
    before, shared = tree(place), set(os.listdir("/dev/shm"))
    for arguments in (("check", "--cases", file), ("show", file), ("replay", file), ("replay", "mine/case", "--cases", file)):
        result = epctx(*arguments)
        assert result.exit_code == 2, result.output
        assert words in result.output
        assert result.output.startswith(f"epctx: {file}")
        assert result.output.count("\n") == 1
        assert len(result.output) < 500
    assert tree(place) == before
    assert multiprocessing.active_children() == []  # no worker, so no world
    if "PYTEST_XDIST_WORKER" not in os.environ:  # else others make their worlds there meanwhile
        assert set(os.listdir("/dev/shm")) <= shared
    assert not Path("/tmp/epctx-planted").exists()
