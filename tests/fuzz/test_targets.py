"""The targets for OSS-Fuzz and ClusterFuzzLite: they run, from their seeds, and their folders are whole."""

from __future__ import annotations

import importlib.util
import os
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from epctx.case_file import loads
from epctx.fuzz.encoding import decode

TREE = Path(__file__).parents[2]
TARGETS = sorted((TREE / "fuzzing").glob("fuzz_*.py"))
needs_atheris = pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out")
    runpy.run_path(str(TREE / "fuzzing" / "seeds.py"))["main"](folder)
    return folder


def seeds(packed: Path, name: str) -> list[bytes]:
    with zipfile.ZipFile(packed / f"{name}_seed_corpus.zip") as file:
        return [file.read(entry) for entry in file.namelist()]


def test_each_target_has_seeds_that_mean_something_to_it(packed: Path) -> None:
    assert {f"{target.stem}_seed_corpus.zip" for target in TARGETS} <= set(os.listdir(packed))
    assert len([loads(seed) for seed in seeds(packed, "fuzz_case_file")]) > 100
    assert all(decode(seed) for seed in seeds(packed, "fuzz_prediction"))
    assert len(seeds(packed, "fuzz_dictionary")) > 2


@pytest.mark.slow
@needs_atheris
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: str(target.stem))
def test_a_target_runs_from_its_seeds_and_finds_nothing(target: Path, packed: Path, tmp_path: Path) -> None:
    given = seeds(packed, target.stem)[::20]
    for number, seed in enumerate(given):
        (tmp_path / str(number)).write_bytes(seed)
    words = [sys.executable, str(target), f"-runs={len(given) + 300}", "-seed=1", f"-artifact_prefix={tmp_path}/", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Done " in done.stderr


def test_the_build_script_is_one_and_names_what_there_is() -> None:
    script = TREE / ".clusterfuzzlite" / "build.sh"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", str(script)], check=True, timeout=20)
    assert "fuzzing/seeds.py" in script.read_text()
    assert "build.sh" in (TREE / ".clusterfuzzlite" / "Dockerfile").read_text()
