from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.own_process import at_end

from epctx.box import STRENGTHS, Box, Ended, Strength
from epctx.errors import HarnessError
from epctx.world import Ground

PYTHON = next((p for p in (f"/usr/bin/python3.{n}" for n in range(20, 7, -1)) if os.path.exists(p)), "")


class Shell:
    """A ground with a box, and Python programs that run in it."""

    def __init__(self, strength: Strength | None) -> None:
        self.ground = Ground()
        at_end.append(self.ground.close)
        try:
            self.box = Box(self.ground, strength)
        except HarnessError as error:
            pytest.skip(str(error))
        self.plot = self.ground.plot()
        self.root = Path(os.fsdecode(self.plot.root))

    def run(self, code: str, *, memory: int | None = None, environment: dict[str, str] | None = None) -> tuple[Ended, str]:
        """Run some lines in the box; how they ended, and what they printed."""
        if not PYTHON:
            pytest.skip("there is no Python in the system's directories, which is all that a box shows")
        command = [PYTHON, "-I", "-S", "-c", code]
        with self.box.spawn(command, memory=memory, environment=environment) as process:
            ended = process.wait(20)
            assert ended is not None, "still running"
            return ended, process.output().strip()


@pytest.fixture(params=STRENGTHS)
def shell(request: pytest.FixtureRequest) -> Shell:
    """Only for tests marked own_process: a shell for each kind of box."""
    return _lazy(request.param)


@pytest.fixture(params=STRENGTHS[:-1])
def tight(request: pytest.FixtureRequest) -> Shell:
    """The same, for each kind but none."""
    return _lazy(request.param)


def _lazy(strength: Strength) -> Shell:
    made: list[Shell] = []

    class Lazy:
        def __getattr__(self, name: str) -> object:
            if not made:
                made.append(Shell(strength))
            return getattr(made[0], name)

    return Lazy()  # type: ignore[return-value]
