"""What a judged case costs, beside what the bare helper costs: rates and their ratio, in one run on one worker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from epctx.case import Call, Case, File, Link, Struct, World
from epctx.oracle import profile
from epctx.run.check import check
from epctx.run.runner import Runner
from epctx.spec import predict
from epctx.target import Launch

STAGES: dict[str, tuple[str, ...]] = {
    "world": ("world.change_to",),
    "model": ("model_bytes", "names_in"),
    "request and reply": ("request", "read_reply"),
    "call": ("exchange",),
    "events and differences": ("world.events", "world.changes", "world.reads", "world.leaks"),
    "judgement": ("judge",),
}


class Bench(Struct, frozen=True):
    """Rates per second of the bare helper in a C++ loop and of judged cases in a changed and a rebuilt world; time by stage."""

    target: str
    bare: float
    changed: float
    rebuilt: float
    stages: dict[str, float]

    @property
    def ratio(self) -> float:
        """Judged cases in a changed world for each bare read."""
        return self.changed / self.bare


def cases() -> list[Case]:
    """A hundred cases, each of which differs from the one before in one entry of the world and in the name."""
    base = (File("model/good.bin"), File("model/sub/inner.bin"), File("outside/secret.bin"), File("model_evil/twin.bin"))
    made = []
    for number in range(100):
        entry, name = (
            (File("model/x"), "x"),
            (Link("model/x", "good.bin"), "x"),
            (Link("model/x", "../outside/secret.bin"), "x"),
            (Link("model/x", "sub"), "x/inner.bin"),
            (File("model/x", mode=0o600), "../outside/secret.bin"),
        )[number % 5]
        case = Case(f"bench/{number}", "A case of the benchmark.", "benign", (), World((*base, entry)), (Call("read", name),))
        made.append(Case(*(getattr(case, f) for f in case.__struct_fields__[:-1]), expect=predict(case)))
    return made


def bench(launch: Launch, seconds: float) -> Bench:
    """Measure one target for about ``seconds`` for each figure."""
    with Runner(jobs=1) as runner:
        listed = cases()
        list(check(runner, launch, listed, profile("spec"), controls=False))  # the worker and the driver are up
        changed = _rate(lambda: check(runner, launch, listed * 20, profile("spec"), controls=False), seconds)
        rebuilt, stages = runner.call(profiled, launch, listed, seconds)
    return Bench(launch.target, bare(launch, seconds), changed, rebuilt, stages)


def _rate(run: Callable[[], Iterator[Any]], seconds: float) -> float:
    start, done = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        done += sum(1 for _ in run())
    return done / (time.perf_counter() - start)
