"""A session: one boxed driver with a target, from its start to its end, and the watchdog over its calls."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import time
from typing import Literal

from epctx.box import Box, Ended, Watchdog, free_fifos
from epctx.case import Limits, Struct
from epctx.errors import TargetError
from epctx.lookout import Lookout, guarded_process, why_no_doors
from epctx.observation import Report
from epctx.run.reports import ReportPipe
from epctx.target import Launch, sanitizer
from epctx.target.driver import LOOK, BadReply, Driver, empty
from epctx.world import LiveWorld

START_SECONDS = 30.0
"""How long a driver may take to come up: it loads ONNX Runtime and the target."""
FAREWELL = 3.0
"""How long a driver may take to end a program in an orderly way."""
PATIENCE = 0.2
"""Seconds of sleep without a wake-up after which a call is taken to be blocked."""
FEED = 0.005
"""Seconds between two turns of the writers of FIFOs."""
MARKS = 7
"""The first of the two descriptors at which a driver marks the ends of calls."""
REPORTS = 9
"""The descriptor at which a driver that is built for a sanitizer has its reports written."""
PRINTED = 400
"""Characters of a target's last output that are kept as evidence of a crash."""


class Answer(Struct, frozen=True):
    """How a call ended: with a reply, as a reply only after a FIFO was ``freed``, as a ``hang``, or with a ``crash``."""

    how: Literal["reply", "freed", "hang", "crash"]
    data: bytes = b""
    detail: str = ""


class Session:
    """A driver that runs ``launch`` under ``limits``. TargetError if it does not come up.

    A ``guarded`` one stops at each door (``epctx.lookout``), which costs some speed. It has a ``lookout``; where that cannot be
    had, ``unseen_because`` says why. ``home`` is what the environment's HOME says: a place with canaries, so that a name in which
    it is expanded finds one.
    """

    def __init__(self, box: Box, launch: Launch, limits: Limits, home: str, *, guarded: bool = False) -> None:
        self.launch, self.memory, self.guarded = launch, limits.memory, guarded
        self.lookout: Lookout | None = None
        self.unseen_because = why_no_doors() if guarded else ""
        self.bulk = os.memfd_create("epctx-bulk")
        empty(self.bulk)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        guard, report = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        opened = [os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in launch.files]
        guards = guarded and not self.unseen_because
        fds = {3: theirs.fileno(), 4: self.bulk} | {5 + n: fd for n, fd in enumerate(opened)}
        fds |= {MARKS + n: fd for n, fd in enumerate(box.ground.marks)}
        environment = {"HOME": home}
        self.tickets = itertools.count(1)
        """What tells apart the calls that are made in a sweep."""
        self._reports = ReportPipe() if launch.sanitizer else None
        if launch.sanitizer and self._reports:
            fds[REPORTS] = self._reports.theirs
            if launch.sanitizer == "undefined":  # its runtime writes to standard error, whatever it is told
                fds[2] = self._reports.theirs
            environment |= sanitizer.environment(launch.sanitizer)
        with theirs, guard:
            try:
                self.process = box.spawn(
                    launch.command(first=5, reports=REPORTS if self._reports else None),
                    fds=fds,
                    readable=launch.readable,
                    memory=None if launch.sanitizer else limits.memory,  # they reserve terabytes of addresses
                    environment=environment,
                    guard=report.fileno() if guards else -1,
                    fixed_addresses=launch.sanitizer is not None,
                    reserves=launch.program,
                )
            finally:
                report.close()
                for fd in opened:
                    os.close(fd)
                if self._reports:
                    self._reports.given()
            if guards:
                try:
                    self.lookout = Lookout(guarded_process(guard))
                except OSError as error:
                    self.unseen_because = str(error)
        self.driver = Driver(ours, self.bulk)
        hello = self.driver.hello(START_SECONDS)
        if hello is None or hello.error:
            reason = hello.error if hello else self.how_it_ended()
            self.end()
            raise TargetError(f"The target {launch.target} cannot be loaded: {reason}")
        self.hello = hello
        self.reports()  # what came up while it started is of no call

    def serves(self, launch: Launch, limits: Limits, guarded: bool) -> bool:
        """Whether this session can run a case of that target under those limits, guarded or not."""
        unlimited = launch.sanitizer is not None
        return self.launch == launch and (unlimited or self.memory == limits.memory) and self.guarded == guarded

    def end(self) -> None:
        """Kill the driver and everything that it started. A program of its own is told before."""
        if self.launch.program:
            with contextlib.suppress(OSError):
                self.driver.link.shutdown(socket.SHUT_WR)
                self.process.wait(FAREWELL)
        self.process.close()
        if self.lookout:
            self.lookout.close()
        self.driver.link.close()
        os.close(self.bulk)
        if self._reports:
            self._reports.close()

    def reports(self) -> tuple[Report, ...]:
        """What a sanitizer reported since the last time."""
        if self._reports is None:
            return ()
        return sanitizer.reports(self._reports.take(), self.launch.library)

    def reset_peak_memory(self) -> int:
        """Start measuring the peak of the driver's resident memory; what is resident now, in bytes (0: can't be had)."""
        try:
            with open(f"/proc/{self.process.pid}/clear_refs", "w", encoding="ascii") as file:
                file.write("5")
        except OSError:
            return 0
        return self.peak_memory()

    def peak_memory(self) -> int:
        """The peak of the driver's resident memory since it was reset, in bytes."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii", errors="replace") as file:
            return next((int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM")), 0)

    def exchange(self, message: bytes, seconds: float, world: LiveWorld) -> Answer:
        """Send a request and wait for its end, feeding the world's FIFOs meanwhile.

        A call that sleeps on a FIFO is recognised without waiting for its time limit: if it wakes and returns once the FIFO's
        other end was opened, that is what it hung on.
        """
        try:
            return self._exchange(message, seconds, world)
        except BadReply as error:
            self.process.kill()
            return Answer("crash", detail=str(error))

    def _exchange(self, message: bytes, seconds: float, world: LiveWorld) -> Answer:
        if not self.driver.send(message):
            return Answer("crash", detail=self.how_it_ended())
        start = time.monotonic()
        step = FEED if world.fed else LOOK
        data = self.driver.reply(step)
        watchdog, freed = Watchdog(self.process.pid), False
        while data is None:
            if time.monotonic() - start > seconds:
                self.process.kill()
                return Answer("hang", detail=f"ended by the harness after {seconds:g} s")
            if world.fifos and watchdog.asleep(PATIENCE):
                free_fifos(world.fifos)
                freed = True
            world.feed()
            self.process.drain()
            if self._reports:
                self._reports.drain()
            data = self.driver.reply(step)
        if not data:
            return Answer("crash", detail=self.how_it_ended())
        return (
            Answer("freed", data, "asleep on a FIFO until the harness opened its other end") if freed else Answer("reply", data)
        )

    def how_it_ended(self) -> str:
        """How a driver that is gone ended, and the last that it printed."""
        ended = self.process.wait(5.0) or Ended()
        printed = " ".join(self.process.output().split())
        return f"{ended}; it printed: …{printed[-PRINTED:]}" if printed else str(ended)
