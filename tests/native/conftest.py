"""Built parts, a world for them, and drivers that are up."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.native.running import Running

from epctx.target import build
from epctx.target.native import onnxruntime_library
from epctx.target.toolchain import find_compiler

Start = Callable[..., Running]


@pytest.fixture(scope="session")
def bundled() -> Path:
    return build.build_all([build.DRIVER, build.BUNDLED])[1]


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A directory ``model`` with a good file, a directory and links, and a secret outside it."""
    model = tmp_path / "model"
    (model / "sub").mkdir(parents=True)
    (model / "good.bin").write_bytes(b"good" * 24)
    (model / "sub" / "inner.bin").write_bytes(b"inner" * 20)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.bin").write_bytes(b"secret" * 16)
    return tmp_path


@pytest.fixture
def start(bundled: Path, world: Path) -> Iterator[Start]:
    """Starts drivers: ``start(settings, library=..., ort=...)``."""
    with ExitStack() as stack:

        def run(settings: str = "", library: Path | None = None, ort: Path | None = None) -> Running:
            return stack.enter_context(Running(build.driver(), library or bundled, settings, ort, world))

        yield run


@pytest.fixture
def reference(start: Start) -> Running:
    return start()


@pytest.fixture(params=["stand-in", "onnxruntime"])
def on_either_runtime(request: pytest.FixtureRequest, start: Start) -> Running:
    if request.param == "stand-in":
        return start()
    library = onnxruntime_library()
    if library is None:
        pytest.skip("onnxruntime is not installed")
    return start(ort=library)


@pytest.fixture(scope="session")
def compiled() -> Callable[[str, Path], Path]:
    """Compiles a target of a few C++ lines around ``epctx_target.h``."""

    def compile_lines(lines: str, directory: Path) -> Path:
        source, made = directory / "target.cc", directory / "target.so"
        source.write_text(f'#include "epctx_target.h"\n{lines}')
        flags = ["-std=c++17", "-fPIC", "-shared", f"-I{build.NATIVE}", f"-I{build.NATIVE / 'ort'}"]
        subprocess.run([*find_compiler(), *flags, str(source), "-o", str(made)], check=True, env=dict(os.environ))
        return made

    return compile_lines
