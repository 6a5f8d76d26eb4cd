"""Rounds of a libFuzzer that has the target in its own process, whichever program that is: made ready, run in the box, and read.

A round makes a fixed number of calls, from a seed and from inputs that are given to it. It comes to the same in whichever worker
it runs: what a target takes for chance is the same each time (``native/fuzz/chance.cc``).
"""

from __future__ import annotations

import hashlib
import mmap
import os
import struct
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from epctx.box.process import Process
from epctx.errors import HarnessError, TargetError
from epctx.fuzz.encoding import HEAD, LONGEST, WORLDS
from epctx.fuzz.plan import plan
from epctx.run.keeper import Keeper
from epctx.target import Launch

LIVES = 6
"""So often a round goes on after a call that ended the process."""
SCREENED = 40
"""So many names that end the process are left out of the inputs that every round starts from."""
SECONDS = 2
"""How long a call may take: libFuzzer knows whole seconds, and looks about once a second."""
PATIENCE = 300.0
"""Seconds after which a round is ended that does not come to its end."""
FIRST_PLOT = 1000
"""The number of the first plot, the same in all workers: what libFuzzer sees of a path decides what it tries next."""
PLAN, BULK, LOADED, REPORT = 3, 4, 5, 7
"""Descriptors of the fuzzer: the plan, the bulk memory of the driver's parts, the files that it loads, the report."""
MEMORY = 2048
"""MiB that a fuzzer may have resident."""
WRONG = 3
"""Exit code of a fuzzer that cannot start, and says why."""

_REPORT_SIZE, _INPUT_SIZE = 1 << 20, 8200
HEAD_OF_REPORT = struct.Struct(f"<5Q{_INPUT_SIZE}s")
RECORD = struct.Struct("<II")


class Round(NamedTuple):
    """What came of a round."""

    executions: int
    suspects: tuple[bytes, ...]
    """Inputs of calls that looked wrong, that ended the process, or that did not end."""
    fresh: tuple[bytes, ...]
    """Inputs that reached something that those given had not reached."""
    ended: tuple[bytes, ...]
    """Those of the suspects that ended the process."""
    printed: str
    """The last that was printed."""
    mutated: int
    """How often a mutator was called that the harness itself brings along."""


class Command(NamedTuple):
    """How a fuzzer is started: its words, with those for libFuzzer in between, and what it may read besides the system."""

    words: Callable[[Sequence[str]], Sequence[str]]
    environment: Mapping[str, str]
    readable: Sequence[str]
    fixed_addresses: bool = True


class Rounds:
    """Rounds of one fuzzer, in a worker: its worlds stand on plots of the keeper's ground."""

    def __init__(self, keeper: Keeper, launch: Launch, command: Command, dictionary: Iterable[bytes]) -> None:
        self._box, self._launch, self._command = keeper.box, launch, command
        self._plots = [keeper.ground.plot(FIRST_PLOT + number) for number in range(len(WORLDS))]
        self._files = keeper.ground.plot(FIRST_PLOT + len(WORLDS))
        self._scratch = keeper.ground.scratch
        self._account = keeper.ground.account
        self._dictionary = b"".join(b'"' + _escaped(token) + b'"\n' for token in dictionary)

    def run(self, seed: int, number: int, runs: int, inputs: Sequence[bytes], lives: int = LIVES) -> Round:
        """The round of that number: ``runs`` calls, and those of the inputs at least.

        It goes on after a call that ended the process, without the inputs of that name, and is over after so many of them.
        """
        given, found = self._lay_out(inputs)
        report = os.memfd_create("epctx-report")
        os.ftruncate(report, _REPORT_SIZE)
        done, mutated, suspects, ending, printed = 0, 0, dict[bytes, None](), dict[bytes, None](), ""
        try:
            with mmap.mmap(report, _REPORT_SIZE) as shared:
                while len(ending) < lives:
                    shared[: HEAD_OF_REPORT.size] = bytes(HEAD_OF_REPORT.size)
                    self._lay_out_worlds()
                    again = number_of(seed, number, len(ending))
                    flags = [f"-seed={again}", f"-runs={max(0, runs - done)}", *self._flags(), str(found), str(given)]
                    code, printed = self._live(report, flags)
                    executions, noted, last = report_of(bytes(shared))
                    done += executions
                    mutated += HEAD_OF_REPORT.unpack_from(shared)[4]
                    suspects |= dict.fromkeys(noted)
                    if code == 0:
                        break
                    if code == WRONG or last is None:
                        raise TargetError(self._why_ended(printed))
                    ending[last] = None
                    self._forget(given, found, last)
            fresh = sorted(file.read_bytes() for file in found.iterdir())
        finally:
            os.close(report)
            for plot in (*self._plots, self._files):
                plot.lay_out()
        return Round(done, (*suspects, *ending), tuple(fresh), tuple(ending), printed, mutated)

    def screen(self, inputs: Sequence[bytes]) -> tuple[list[bytes], Round]:
        """Inputs without those whose names end the process, and what came of calls by all of them."""
        came = self.run(0, 0, 0, inputs, SCREENED)
        ending = {data[HEAD:] for data in came.ended}
        return [data for data in inputs if data[HEAD:] not in ending], came

    def _lay_out(self, inputs: Sequence[bytes]) -> tuple[Path, Path]:
        """Directories with the inputs, and for those that are found."""
        self._files.lay_out()
        top = Path(os.fsdecode(self._files.root))
        given, found = top / "given", top / "found"
        for directory in (given, found):
            directory.mkdir()
            if self._account.changes:
                os.chown(directory, self._account.uid, self._account.gid)
        for index, data in enumerate(inputs):
            (given / f"{index:06}").write_bytes(data)
        (top / "dictionary").write_bytes(self._dictionary)
        return given, found

    def _lay_out_worlds(self) -> None:
        for plot in self._plots:
            plot.lay_out()

    def _flags(self) -> list[str]:
        top = os.fsdecode(self._files.root)
        flags = [f"-max_len={HEAD + LONGEST}", f"-timeout={SECONDS}", f"-rss_limit_mb={MEMORY}", f"-artifact_prefix={top}/"]
        flags += [f"-dict={top}/dictionary"] if self._dictionary else []
        return [*flags, "-reload=0", "-detect_leaks=0", "-print_final_stats=1"]

    def _live(self, report: int, flags: Sequence[str]) -> tuple[int, str]:
        """One life of the fuzzer: the code that it ended with (that of a signal below 0), and what it printed."""
        opened = [os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in self._launch.files]
        memory = os.memfd_create("epctx-bulk")
        told = os.memfd_create("epctx-plan")
        with os.fdopen(os.dup(told), "wb") as file:
            file.write(plan([plot.root for plot in self._plots], self._scratch))
        try:
            process = self._box.spawn(
                self._command.words(flags),
                fds={PLAN: told, BULK: memory, REPORT: report} | {LOADED + n: fd for n, fd in enumerate(opened)},
                readable=(*self._launch.readable, *self._command.readable),
                environment=self._command.environment,
                fixed_addresses=self._command.fixed_addresses,
            )
        finally:
            for fd in (*opened, memory, told):
                os.close(fd)
        with process:
            return _end_of(process)

    def _why_ended(self, printed: str) -> str:
        """Why a fuzzer could not start, in a sentence."""
        if self._account.changes and self._box.strength != "namespaces":  # in which all that it may read is there for it
            for path in self._command.readable:
                if not self._account.reaches(path):
                    return (
                        f"The fuzzer of {self._launch.target} cannot start, since {path} is not open to others and "
                        f"{self._account.why}: leave out --unboxed, or start as an ordinary user."
                    )
        return f"The fuzzer of {self._launch.target} ended: {' '.join(printed.split())[-600:]}"

    def _forget(self, given: Path, found: Path, data: bytes) -> None:
        """Keep an input that ended the process, and others of its name, from doing so again at once."""
        for directory in (given, found):
            for file in directory.iterdir():
                if file.read_bytes()[HEAD:] == data[HEAD:]:
                    file.unlink()


def options(launch: Launch) -> list[str]:
    """The words of a fuzzer that are not for libFuzzer."""
    words = ["--plan", str(PLAN), "--report", str(REPORT), "--target", f"/proc/self/fd/{LOADED}"]
    words += ["--ort", f"/proc/self/fd/{LOADED + 1}"] if launch.ort else []
    return [*words, *(["--set", launch.settings] if launch.settings else [])]


def _end_of(process: Process) -> tuple[int, str]:
    deadline = time.monotonic() + PATIENCE
    while (ended := process.wait(0.05)) is None:
        process.drain()
        if time.monotonic() > deadline:
            raise HarnessError(f"A round of the fuzzer did not end within {PATIENCE:g} s.")
    return -ended.signal or ended.code, process.output()


def report_of(shared: bytes) -> tuple[int, list[bytes], bytes | None]:
    """What a report says: executions, inputs that looked wrong, and that of a call which did not come back."""
    executions, used, _, running, _, data = HEAD_OF_REPORT.unpack_from(shared)
    noted, at = [], HEAD_OF_REPORT.size
    while at < HEAD_OF_REPORT.size + used:
        _, size = RECORD.unpack_from(shared, at)
        at += RECORD.size
        noted.append(shared[at : at + size])
        at += size + -size % 8
    return executions + (running > 0), noted, data[:running] if running else None


def number_of(*parts: int) -> int:
    """A seed for libFuzzer, which takes 0 for none."""
    return 1 + int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4], "little") % (1 << 31)


def _escaped(token: bytes) -> bytes:
    return b"".join(b"\\x%02x" % byte for byte in token)
