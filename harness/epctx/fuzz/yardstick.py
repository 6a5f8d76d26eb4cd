"""The yardstick of the engine ``libfuzzer``: calls a second, beside a plain libFuzzer executable around the same helper."""

from __future__ import annotations

import itertools
import os
import subprocess
import time
from statistics import median

from epctx.case import Struct
from epctx.errors import HarnessError
from epctx.fuzz.libfuzzer import SANITIZER, LibFuzzerEngine
from epctx.fuzz.store import Setting
from epctx.run import worker
from epctx.run.bench import TURNS, model_alone
from epctx.run.runner import Runner
from epctx.target import build, prepare

CALLS = 1 << 16
"""Calls for each figure."""


class Yardstick(Struct, frozen=True):
    """Calls a second of a plain libFuzzer executable, and of the engine with its worlds, watches and books, both from the start
    of their processes to the end."""

    plain: float
    engine: float

    @property
    def ratio(self) -> float:
        """Calls of the engine for each one of the executable."""
        return self.engine / self.plain


def measure(target: str, calls: int = CALLS) -> Yardstick:
    """Measure a target. TargetError where there is no clang; UsageError for a target that is no library.

    Both take turns, and each figure is the median of its turns: they then meet the same machine.
    """
    plain = Plain(target)
    with Runner(jobs=1) as runner:
        runner.call(in_worker, target, calls)  # its inputs are chosen
        turns = [(plain.rate(calls), runner.call(in_worker, target, calls)) for _ in range(TURNS)]
    return Yardstick(*map(median, zip(*turns, strict=True)))


class Plain:
    """A plain libFuzzer executable around the reads of a library. TargetError where there is no clang; UsageError for a target
    that is no library."""

    def __init__(self, target: str) -> None:
        self._program, self._launch = str(build.build(build.PLAIN_FUZZER)), prepare(target, fuzzer="libfuzzer")

    def rate(self, calls: int) -> float:
        """Calls a second, from its start to its end after so many. HarnessError if it fails."""
        launch = self._launch
        with model_alone() as model:
            (model.parent / "seeds").mkdir()
            (model.parent / "seeds" / "good").write_bytes(b"good.bin")
            words = [self._program, str(model.parent / "seeds"), f"-runs={calls}", "-seed=1", "-detect_leaks=0", "-reload=0"]
            words += ["-ignore_remaining_args=1", "--target", launch.library, "--set", launch.settings, "--model", str(model)]
            start = time.perf_counter()
            done = subprocess.run(
                words,
                cwd=model.parent,
                env={**os.environ, "ASAN_OPTIONS": SANITIZER},
                capture_output=True,
                text=True,
                check=False,
            )
            seconds = time.perf_counter() - start
        if done.returncode:
            raise HarnessError(f"The plain libFuzzer executable failed: {done.stderr.strip()[-300:]}")
        return calls / seconds


# --- in the worker ----------------------------------------------------------------------------------------------------------

_engines: dict[tuple[str, int], tuple[LibFuzzerEngine, itertools.count[int]]] = {}


def in_worker(target: str, calls: int) -> float:
    """Calls a second of the engine, in its next round."""
    if (target, calls) not in _engines:
        setting = Setting(target, 1, "libfuzzer")
        _engines[target, calls] = LibFuzzerEngine(setting, seeds=(), runs=calls), itertools.count(1)
    engine, numbers = _engines[target, calls]
    launch = prepare(target, fuzzer="libfuzzer")
    start = time.perf_counter()
    return engine.batch(next(numbers), worker.keeper(), launch, ()).executions / (time.perf_counter() - start)
