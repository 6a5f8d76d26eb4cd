"""The two flows of the design document, as the example in docs/ has them, with real encryption and under the lookout.

They run on the installed ONNX Runtime: through its C API on every version from 1.28 on, and through its Python binding where
that takes callbacks. The provider is the bundled one.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from epctx.lookout import Watched, why_no_doors
from epctx.target import weaknesses

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
WEAK = [w.name for w in weaknesses() if w.name.startswith("plaintext-") and w.name != "plaintext-after-failure"]
ASSETS = ("model.onnx", "weights.bin", "shift.bin", "engine.bin")
"""Files that hold plaintext where there are no callbacks; of the compiled model every byte is in others."""

exceptions = pytest.importorskip("cryptography.exceptions")
onnxruntime = pytest.importorskip("onnxruntime", "1.28")
pytestmark = pytest.mark.skipif(bool(why_no_doors()), reason=why_no_doors() or "there are doors")


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("encrypted_flow", EXAMPLES / "encrypted_flow.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["callbacks", "c-api"])
def how(request: pytest.FixtureRequest, example: ModuleType) -> str:
    """Through the Python binding, or through the C API."""
    if request.param == "callbacks" and not example.HAS_CALLBACKS:
        pytest.skip(f"the Python binding of ONNX Runtime {onnxruntime.__version__} takes no callbacks")
    return str(request.param)


def watch(example: ModuleType, directory: Path, how: str, weak: str = "") -> Watched:
    run: Watched = example.watch(directory, how, weak)
    assert run.code == 0, run.output
    return run


def names(run: Watched, directory: Path) -> set[str]:
    return {str(Path(path).relative_to(directory)) for path in run.plaintext}


def test_with_callbacks_there_is_no_plaintext_at_any_time(example: ModuleType, tmp_path: Path, how: str) -> None:
    run = watch(example, tmp_path, how)
    assert run.plaintext == ()
    kept = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert kept == {f"{name}.enc" for name in ("model.onnx", "weights.bin", "compiled.onnx", "shift.bin", "engine.bin")}


def test_without_callbacks_there_is(example: ModuleType, tmp_path: Path) -> None:
    run = watch(example, tmp_path, "files")
    assert names(run, tmp_path) >= {f"{name} (deleted)" for name in ASSETS}


@pytest.mark.parametrize("weak", WEAK)
def test_a_provider_that_leaks_is_found(example: ModuleType, tmp_path: Path, weak: str) -> None:
    run = watch(example, tmp_path, "callbacks" if example.HAS_CALLBACKS else "c-api", weak)
    assert names(run, tmp_path)
    assert not names(run, tmp_path) & {f"{name} (deleted)" for name in ASSETS}


def test_a_temporary_file_is_found_every_time(example: ModuleType, tmp_path: Path, how: str) -> None:
    for number in range(3):
        (tmp_path / str(number)).mkdir()
        run = watch(example, tmp_path / str(number), how, "plaintext-in-temporary-directory")
        assert names(run, tmp_path) == {f"{number}/tmp/epctx-engine.tmp (deleted)"}


def test_what_is_tampered_with_is_refused(example: ModuleType, tmp_path: Path) -> None:
    vault = example.Vault(tmp_path, bytes(32))
    vault.put("a", b"content")
    (tmp_path / "a.enc").rename(tmp_path / "b.enc")
    with pytest.raises(exceptions.InvalidTag):
        vault.get("b")


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--weak", "plaintext-in-temporary-directory"), 1)])
def test_the_example_as_a_reader_runs_it(options: tuple[str, ...], code: int, tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "encrypted_flow.py"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (code, "")
    first, second = re.findall(r"plaintext was seen: +(.*)", done.stdout)
    assert first == ("tmp/epctx-engine.tmp (deleted)" if code else "nowhere, at any time")
    assert all(f"{name} (deleted)" in second for name in ASSETS)
