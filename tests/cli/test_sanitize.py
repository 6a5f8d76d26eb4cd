"""``--sanitize``: targets that a compiler's sanitizers watch while the cases run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import FAKES, Epctx

from epctx.case import Sanitizer
from epctx.errors import TargetError
from epctx.target.toolchain import check_sanitizer, find_compiler

THREADS = ("--only", "threads/by-callback*", "--jobs", "1")


@pytest.fixture
def bare_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler for which no sanitizer is installed, and nothing built yet."""
    script = tmp_path / "bare-c++"
    script.write_text(
        "#!/bin/sh\n"
        'for word in "$@"; do case $word in -fsanitize=*) echo "ld: cannot find -lsan" >&2; exit 1;; esac; done\n'
        f'exec {" ".join(find_compiler())} "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    monkeypatch.setenv("EPCTX_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("bare_compiler")
@pytest.mark.parametrize("command", [("check",), ("replay", "control/read-beside-model")])
def test_a_compiler_without_the_runtime_is_told_in_a_sentence(epctx: Epctx, command: tuple[str, ...]) -> None:
    result = epctx(*command, "--sanitize", "thread")
    assert result.exit_code == 3
    assert result.output.count("\n") == 1
    assert "cannot build for the thread sanitizer (ld: cannot find -lsan)" in result.output


def require(sanitizer: Sanitizer) -> None:
    try:
        check_sanitizer(find_compiler(), sanitizer)
    except TargetError as error:
        pytest.skip(str(error))


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", ["address", "undefined", "thread"])
def test_the_driver_and_the_reference_helper_are_clean(epctx: Epctx, sanitizer: Sanitizer) -> None:
    require(sanitizer)
    result = epctx("check", "--sanitize", sanitizer, "--profile", "hardened", "--only", "threads/*", "--only", "callbacks/*")
    assert result.exit_code == 0, result.output
    assert f"{sanitizer} sanitizer: the target is built for it" in result.output


@pytest.mark.slow
def test_a_data_race_is_found_and_shown_again(epctx: Epctx, tmp_path: Path) -> None:
    require("thread")
    report = tmp_path / "report.jsonl"
    result = epctx("check", "weak:counts-without-lock", "--sanitize", "thread", *THREADS, "--json", report)
    assert result.exit_code == 1
    assert "data race on the global reads in" in result.output
    assert "weak:counts-without-lock --sanitize thread\n" in result.output
    header, *lines, _ = map(json.loads, report.read_text().splitlines())
    assert header["sanitizer"] == "thread"
    found = [r for line in lines for seen in line["observation"].get("calls", []) for r in seen.get("reports", [])]
    assert found
    assert all("threads.cc:" in r["stack"][0] for r in found)
    again = epctx("replay", "threads/by-callback[read,4x4,one]", "weak:counts-without-lock", "--sanitize", "thread")
    assert again.exit_code == 1
    assert "data race on the global reads" in again.output


@pytest.mark.slow
def test_without_the_sanitizer_nobody_sees_that_race(epctx: Epctx) -> None:
    assert epctx("check", "weak:counts-without-lock", *THREADS).exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sanitizer", "step", "words"),
    [
        ("address", 1, "heap-buffer-overflow in Stumble unsound.h:"),
        ("address", 2, "SEGV in Stumble unsound.h:"),
        ("undefined", 3, "signed integer overflow: 2147483647 + 1 cannot be represented in type 'int' in Stumble unsound.h:"),
    ],
)
def test_reports_are_findings(epctx: Epctx, sanitizer: Sanitizer, step: int, words: str) -> None:
    require(sanitizer)
    target = f"header:{FAKES / 'headers' / 'unsound.h'}?namespace=unsound&flag=-DUNSOUND={step}"
    result = epctx("check", target, "--sanitize", sanitizer, "--only", "traversal/round-trip[read,1,file]", "--jobs", "1")
    assert result.exit_code == 1, result.output
    assert "high  safe.no-crash  1 case" in result.output
    assert words in result.output


@pytest.mark.slow
def test_of_a_library_only_the_driver_is_built_for_it(epctx: Epctx, misbehaving: Path) -> None:
    require("undefined")
    result = epctx("check", f"lib:{misbehaving}", "--sanitize", "undefined", "--only", "control/read-beside-model")
    assert "undefined sanitizer: the target is as it was given: only the driver is built for it" in result.output


@pytest.mark.slow
def test_what_needs_memory_is_skipped_with_a_reason(epctx: Epctx) -> None:
    require("undefined")
    result = epctx("check", "--sanitize", "undefined", "--only", "sizes/*", "--only", "races/*")
    assert result.exit_code == 0, result.output
    assert "it is too heavy for a run under a sanitizer" in result.output
    assert "it limits the address space, which a sanitizer reserves as a whole" in result.output
