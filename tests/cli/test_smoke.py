"""``epctx smoke``: each step is told, what is wrong with what to mend, and the exit code says whether the target is usable."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Epctx

from epctx.run.smoke import TRIALS
from epctx.target.native import onnxruntime_library

ADAPTERS = Path(__file__).parents[1] / "fakes" / "adapters"


def adapter(name: str) -> str:
    return f"python:{name}?path={ADAPTERS}"


def steps(output: str) -> dict[str, str]:
    """What came of each step, by what was tried."""
    tried = ("is made ready", "comes up", *(trial.what for trial in TRIALS), "ends by itself")
    lines = {line[10:].strip(): line[:10].strip() for line in output.splitlines()}
    return {what: came for what in tried for said, came in lines.items() if said.startswith(what)}


def test_a_good_adapter_comes_through_all_steps(epctx: Epctx) -> None:
    result = epctx("smoke", adapter("careful_loader:Loader"))
    assert result.exit_code == 0
    assert set(steps(result.output).values()) == {"ok"}
    assert len(steps(result.output)) == len(TRIALS) + 3
    assert f"epctx check 'python:careful_loader:Loader?path={ADAPTERS}'" in result.output


def test_what_is_not_supported_is_left_out_with_its_reason(epctx: Epctx) -> None:
    result = epctx("smoke", adapter("careless_loaders:ReadsOnly"))
    assert result.exit_code == 0
    found = steps(result.output)
    assert found["reads a file beside the model"] == "ok"
    assert found["asks the read callback, and no file"] == found["writes a file beside the model"] == "left out"
    assert "they are for the next release" in result.output


@pytest.mark.parametrize(
    ("name", "step", "came", "words"),
    [
        ("Exits", "refuses a missing file, with a text", "failed", "in Python: raise an exception"),
        ("GivesText", "reads a file beside the model", "failed", "its read gave str, and not bytes"),
        ("LosesLastByte", "reads back what it wrote", "failed", "give the bytes that were written"),
        ("IgnoresCallbacks", "asks the read callback, and no file", "warning", "call it once with the name as it is"),
        ("TranslatesErrors", "passes on that a callback fails", "warning", "let its exception through"),
        ("Joins", "refuses ../outside/secret.bin", "warning", "usable, and not safe"),
    ],
)
def test_what_is_wrong_is_told_with_what_to_mend(epctx: Epctx, name: str, step: str, came: str, words: str) -> None:
    result = epctx("smoke", adapter(f"careless_loaders:{name}"))
    assert steps(result.output)[step] == came
    assert words in result.output
    assert result.exit_code == (3 if came == "failed" else 0)


def test_what_does_not_come_up_is_not_tried_further(epctx: Epctx) -> None:
    result = epctx("smoke", adapter("nowhere:Loader"))
    assert (result.exit_code, steps(result.output)) == (3, {"is made ready": "ok", "comes up": "failed"})
    assert "there is no module nowhere" in result.output


def test_a_header_that_does_not_compile_is_told_with_the_words_of_the_compiler(epctx: Epctx, tmp_path: Path) -> None:
    header = tmp_path / "mine.h"
    header.write_text("namespace mine { int wrong = ; }\n")
    result = epctx("smoke", f"header:{header}?namespace=mine")
    assert (result.exit_code, steps(result.output)) == (3, {"is made ready": "failed"})
    assert "error: expected" in result.output


@pytest.mark.parametrize("target", ["reference", "loader:bundled", "ep:bundled"])
def test_every_kind_of_target_can_be_tried(epctx: Epctx, target: str) -> None:
    if target == "ep:bundled" and onnxruntime_library() is None:
        pytest.skip("onnxruntime is not installed")
    if target != "loader:bundled" and not shutil.which("c++") and not shutil.which("g++"):
        pytest.skip("there is no C++ compiler")
    result = epctx("smoke", target)
    assert (result.exit_code, set(steps(result.output).values()) <= {"ok", "left out"}) == (0, True)


def test_one_that_ends_with_a_crash_is_told(epctx: Epctx) -> None:
    result = epctx("smoke", adapter("careless_loaders:EndsBadly"))
    assert (result.exit_code, steps(result.output)["ends by itself"]) == (3, "failed")
    assert "killed by SIGABRT" in result.output


def test_a_name_that_is_none_is_a_mistake(epctx: Epctx) -> None:
    assert epctx("smoke", "nothing:x").exit_code == 2
    assert epctx("smoke", "reference?platfrom=windows").exit_code == 2
