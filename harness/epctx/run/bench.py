"""What a judged case costs, beside what the bare helper costs: rates and their ratio, in one run on one worker."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from epctx.case import ROOT_DEPTH, Call, Case, Content, File, Link, Struct, World
from epctx.errors import HarnessError
from epctx.oracle import judge, profile
from epctx.run import keeper, worker
from epctx.run.check import check
from epctx.run.runner import Runner
from epctx.spec import predict
from epctx.target import Launch

SPEC = profile("spec")
TURNS = 5
"""How often bare reads and judged cases take turns."""


class Bench(Struct, frozen=True):
    """Rates per second of the bare helper in a C++ loop and of judged cases in a changed and in a rebuilt world.

    ``stages`` says where a case's time goes in a worker that also judges, in microseconds for each case.
    """

    target: str
    bare: float
    changed: float
    rebuilt: float
    stages: dict[str, float]

    @property
    def ratio(self) -> float:
        """Judged cases in a changed world for each bare read."""
        return self.changed / self.bare


def listed() -> list[Case]:
    """A hundred cases, each of which differs from all others in one entry of the world, and from most in its name."""
    standing = (File("model/good.bin"), File("model/sub/inner.bin"), File("outside/secret.bin"), File("model_evil/twin.bin"))
    cases = []
    for number in range(100):
        content, same = Content(f"bench {number}"), "./" * (number // 5)
        changing = (
            (File("model/x", content), "x"),
            (Link("model/x", f"{same}good.bin"), "x"),
            (Link("model/x", f"{same}../outside/secret.bin"), "x"),
            (Link("model/x", f"{same}sub"), "x/inner.bin"),
            (File("model/x", content, mode=0o600), "../outside/secret.bin"),
        )
        entry, name = changing[number % 5]
        case = Case(f"bench/{number}", "A read.", "benign", (), World((*standing, entry)), (Call("read", name),))
        cases.append(msgspec.structs.replace(case, expect=predict(case)))
    return cases


def bench(launch: Launch, seconds: float) -> Bench:
    """Measure one target, for about ``seconds`` for each figure. HarnessError if the bare loop fails.

    Bare reads and judged cases take turns, and each figure is the median of its turns: both then meet the same machine, however
    busy its neighbours are.
    """
    cases, packed = listed(), msgspec.msgpack.encode(launch)
    with Runner(jobs=1) as runner:
        list(check(runner, launch, cases, SPEC, controls=False))  # worker and driver are up, caches are warm
        turns = []
        for _ in range(TURNS):
            changed = _rate(lambda: check(runner, launch, cases * 60, SPEC, controls=False), seconds / TURNS)
            turns.append((bare(launch, seconds / TURNS), changed))
        with_stages = runner.call(measure_stages, packed, msgspec.msgpack.encode(cases), seconds)
        runner.call(rebuild_always)
        rebuilt = _rate(lambda: check(runner, launch, cases, SPEC, controls=False), seconds)
    bares, changes = zip(*turns, strict=True)
    return Bench(launch.target, median(bares), median(changes), rebuilt, with_stages)


@contextmanager
def model_alone() -> Iterator[Path]:
    """The path of a model with a small file ``good.bin`` beside it, as deep as in a world, and nobody who watches."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as top:
        place = Path(top).resolve()
        directory = place.joinpath(*"x" * (ROOT_DEPTH + 2 - len(place.parts)), "model")
        directory.mkdir(parents=True)
        (directory / "good.bin").write_bytes(bytes(96))
        yield directory / "model.onnx"


def bare(launch: Launch, seconds: float) -> float:
    """Reads per second of the target in a plain C++ loop: a small file beside its model, no harness."""
    with model_alone() as model:
        words = [launch.driver, "--target", launch.library, "--set", launch.settings]
        words += ["--bench", f"{seconds:g}", "--name", "good.bin", "--model", str(model)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise HarnessError(f"The bare loop of {launch.target} failed: {done.stderr.strip() or done.stdout.strip()}")
    return float(json.loads(done.stdout)["reads_per_second"])


def _rate(run: Callable[[], Iterable[object]], seconds: float) -> float:
    start, done = time.perf_counter(), 0
    while (now := time.perf_counter()) - start < seconds:
        done += sum(1 for _ in run())
    return done / (now - start)


# --- in the worker ----------------------------------------------------------------------------------------------------------


def rebuild_always() -> None:
    """From now on this worker builds each world anew."""
    worker.keeper().afresh = True


def measure_stages(launch: bytes, cases: bytes, seconds: float) -> dict[str, float]:
    """Run and judge cases in this process; microseconds for each case by stage, and what the timing itself adds."""
    kept, target = worker.keeper(), msgspec.msgpack.decode(launch, type=Launch)
    unpacked = msgspec.msgpack.decode(cases, type=list[Case])
    totals: defaultdict[str, float] = defaultdict(float)
    done, start = 0, time.perf_counter()
    with ExitStack() as stack:
        for stage, owner, names in (
            ("change the world", kept.world, ("change_to",)),
            ("make and read the model", keeper, ("model_bytes", "names_in")),
            ("pack and unpack", keeper, ("request", "read_reply")),
            ("call the target", kept.session, ("exchange",)),
            ("see what it did", kept.world, ("events", "changes", "reads", "leaks")),
        ):
            for name in names:
                stack.enter_context(_timed(owner, name, stage, totals))
        while time.perf_counter() - start < seconds:
            for case in unpacked:
                observation = kept.observe(target, case)
                before = time.perf_counter()
                judge(case, observation, SPEC)
                totals["judge"] += time.perf_counter() - before
                done += 1
        whole = time.perf_counter() - start
    totals["all else"] = whole - sum(totals.values())
    return {stage: 1e6 * spent / done for stage, spent in totals.items()}


@contextmanager
def _timed(owner: Any, name: str, stage: str, totals: defaultdict[str, float]) -> Iterator[None]:
    """While it lasts, the time spent in a function of a module or object is added to a stage."""
    function, clock = getattr(owner, name), time.perf_counter

    def timed(*args: Any, **kwargs: Any) -> Any:
        start = clock()
        try:
            return function(*args, **kwargs)
        finally:
            totals[stage] += clock() - start

    setattr(owner, name, timed)
    try:
        yield
    finally:
        setattr(owner, name, function)
