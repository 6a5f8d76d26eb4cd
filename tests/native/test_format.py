"""The C++ sources: formatted, and free of warnings."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from epctx.target import build
from epctx.target.toolchain import find_compiler

EXAMPLES = Path(__file__).parents[2] / "examples"
SOURCES = sorted(p for top in (build.NATIVE, EXAMPLES) for pattern in ("**/*.cc", "**/*.h") for p in top.glob(pattern))
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]


def test_sources_are_formatted() -> None:
    program = Path(sys.executable).with_name("clang-format")
    command = str(program) if program.exists() else shutil.which("clang-format")
    if command is None:
        pytest.skip("clang-format is not installed")
    done = subprocess.run([command, "--dry-run", "-Werror", *map(str, SOURCES)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("part", [build.DRIVER, build.BUNDLED, build.FUZZER, build.PLAIN_FUZZER], ids=lambda part: str(part.name))
def test_sources_give_no_warning(part: build.Part) -> None:
    for source in part.sources:
        includes = [flag for flag in part.flags if flag.startswith("-I")]
        command = [*find_compiler(), "-std=c++17", *WARNINGS, *includes, "-fsyntax-only", str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
