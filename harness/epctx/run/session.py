"""A session: one boxed driver with a target, from its start to its end, and the watchdog over its calls."""

from __future__ import annotations

import os
import socket
import time
from typing import Literal, NamedTuple

from epctx.box import Box, free_fifos, is_asleep
from epctx.case import Limits
from epctx.errors import TargetError
from epctx.target import Launch
from epctx.target.driver import Driver
from epctx.world import LiveWorld

START_SECONDS = 30.0
"""How long a driver may take to come up: it loads ONNX Runtime and the target."""
PATIENCE = 0.2
"""Seconds after which a silent call is looked at."""
LOOK = 0.02
"""Seconds between two looks at a silent call."""
FREEING = 0.5
"""Seconds that a call gets to return once the FIFO that it slept on was opened."""


class Answer(NamedTuple):
    """How a call ended: with a reply, as a reply only after a FIFO was ``freed``, as a ``hang``, or with a ``crash``."""

    how: Literal["reply", "freed", "hang", "crash"]
    data: bytes = b""
    detail: str = ""


class Session:
    """A driver that runs ``launch`` under ``limits``. TargetError if it does not come up."""

    def __init__(self, box: Box, launch: Launch, limits: Limits) -> None:
        self.launch, self.memory = launch, limits.memory
        self.bulk = os.memfd_create("epctx-bulk")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        opened = [os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in launch.files]
        try:
            fds = {3: theirs.fileno(), 4: self.bulk} | {5 + n: fd for n, fd in enumerate(opened)}
            self.process = box.spawn(launch.command(first=5), fds=fds, readable=launch.readable, memory=limits.memory)
        finally:
            theirs.close()
            for fd in opened:
                os.close(fd)
        self.driver = Driver(ours, self.bulk)
        hello = self.driver.hello(START_SECONDS)
        if hello is None or hello.error:
            reason = hello.error if hello else self.process.wait().describe()
            self.end()
            raise TargetError(f"The target {launch.target} cannot be loaded: {reason}")
        self.hello = hello

    def serves(self, launch: Launch, limits: Limits) -> bool:
        """Whether this session can run a case of that target under those limits."""
        return self.launch == launch and self.memory == limits.memory

    def end(self) -> None:
        """Kill the driver and everything that it started."""
        self.process.kill()
        self.driver.link.close()
        os.close(self.bulk)

    def exchange(self, message: bytes, seconds: float, world: LiveWorld) -> Answer:
        """Send a request and wait for its end, feeding the world's FIFOs meanwhile.

        A call that sleeps on a FIFO is recognised without waiting for its time limit: if it wakes and returns once the FIFO's
        other end was opened, that is what it hung on.
        """
        if not self.driver.send(message):
            return self._crashed()
        start = time.monotonic()
        freed_at = 0.0
        while True:
            step = 0.005 if world.fed else LOOK if freed_at or time.monotonic() - start > PATIENCE else PATIENCE
            data = self.driver.reply(step)
            if data:
                return Answer("freed" if freed_at else "reply", data, "asleep until the harness opened the other end of a FIFO" if freed_at else "")
            if data == b"":
                return self._crashed()
            world.feed()
            now = time.monotonic()
            if not freed_at and now - start > PATIENCE and world.fifos and is_asleep(self.process, PATIENCE / 2):
                free_fifos(world.fifos)
                freed_at = now
            elif freed_at and now - freed_at > FREEING:
                freed_at = 0.0 if now - start < seconds else freed_at
            if now - start > seconds:
                self.process.kill()
                return Answer("hang", detail=f"ended by the harness after {seconds:g} s")

    def _crashed(self) -> Answer:
        return Answer("crash", detail=self.process.wait().describe())
