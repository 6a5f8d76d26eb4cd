"""Rounds of fuzzers that cannot start: what is told of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from epctx.box import Strength
from epctx.errors import TargetError
from epctx.fuzz.rounds import Command, Rounds
from epctx.run import worker
from epctx.run.runner import Runner
from epctx.target import prepare

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root's targets run as somebody else")


def in_worker(readable: str) -> None:
    """In the worker: a round of a program that ends as an interpreter does that cannot read its modules."""

    def words(_flags: Sequence[str]) -> list[str]:
        return ["/bin/sh", "-c", "echo Traceback: no module; exit 1"]

    Rounds(worker.keeper(), prepare("reference"), Command(words, {}, (readable,)), ()).run(1, 0, 1, ())


def told(readable: Path, box: Strength) -> str:
    with Runner(jobs=1, box=box) as runner, pytest.raises(TargetError) as error:
        runner.call(in_worker, str(readable))
    return str(error.value)


@only_root
def test_what_is_not_open_to_the_target_is_told_in_a_sentence(tmp_path: Path) -> None:
    (hidden := tmp_path / "hidden").mkdir(mode=0o700)
    (hidden / "python").mkdir()
    text = told(hidden / "python", "none")
    assert f"cannot start, since {hidden / 'python'} is not open to others and the target runs as nobody" in text
    assert text.endswith("leave out --unboxed, or start as an ordinary user.")
    assert "Traceback" not in text


def test_another_reason_is_told_as_it_was_printed() -> None:
    text = told(Path("/usr/bin"), "none")
    assert text == "The fuzzer of reference ended: Traceback: no module"
