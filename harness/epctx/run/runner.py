"""The runner: cases go to workers in batches and come back as observations.

A worker is a process with a keeper of its own (``epctx.run.worker``); there is one for each job, and it stays for all targets.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any, ParamSpec, TypeVar

import msgspec

from epctx.box import Strength
from epctx.case import Case
from epctx.errors import HarnessError
from epctx.observation import Observation
from epctx.remember import remembered
from epctx.run import worker
from epctx.run.keeper import Conditions
from epctx.target import Launch

P = ParamSpec("P")
T = TypeVar("T")

BATCH, LEAST = 128, 16
"""Cases in a batch: enough to hide the hand-over; fewer at the end, to share the work evenly."""


class Runner:
    """Runs cases on targets with ``jobs`` workers, in boxes of the given strength (None: the strongest). A context manager.

    Each worker keeps to one of the ``shares`` of the processors (``shares_of``), if there are any. That is a quarter faster where
    all processors have work, as a keeper and its driver then have their data in the same caches. The threads of a call, and the
    attacker of a race, have all processors all the same (``native/driver/processors.h``).
    """

    def __init__(self, *, jobs: int, box: Strength | None = None, shares: Sequence[Sequence[int]] = ()) -> None:
        self.jobs, self.box, self._shares = jobs, box, shares

    def __enter__(self) -> Runner:
        # Only a process with one thread can get namespaces of its own and fork safely. numpy starts threads when it is imported,
        # which in a worker may be before any code of ours runs.
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        self._start()
        return self

    def __exit__(self, *exc: object) -> None:
        """End the workers, also in the middle of a case: nobody waits for what they still do."""
        for process in self._processes.started:
            if process.pid is not None:
                process.terminate()
        self._pool.shutdown(cancel_futures=True)

    def renew(self) -> None:
        """Start anew with other workers, after one died: what the others were at is lost, too."""
        self.__exit__()
        self._start()

    def _start(self) -> None:
        self._processes = _Processes()
        taken = self._processes.Value("i", 0) if self._shares else None
        self._pool = ProcessPoolExecutor(self.jobs, self._processes, worker.start, (self.box, self._shares, taken))

    def conditions(self, launch: Launch) -> Conditions:
        """Under which conditions a target runs here. TargetError if it cannot be loaded."""
        return self.call(worker.conditions, msgspec.msgpack.encode(launch))

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function of a module in a worker, where ``worker.keeper()`` is."""
        with _named():
            return self.submit(function, *args, **kwargs).result()

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Hand a call of a function of a module to the workers."""
        # it may start a worker for it, which must see no interrupt before it knows to ignore it
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return self._pool.submit(function, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def run(
        self, launch: Launch, cases: Sequence[Case], *, alone: bool = False
    ) -> Generator[tuple[int, Observation], None, None]:
        """Each case's index and observation, in the order in which they are ready; ``alone`` each in a new driver.

        Closing the iterator ends the run early, but for what is with the workers already.
        """
        batches = batches_of(cases, self.jobs)
        for number, observations in self.stream(launch, ([cases[i] for i in batch] for batch in batches), alone=alone):
            yield from zip(batches[number], observations, strict=True)

    def stream(
        self, launch: Launch, batches: Iterable[Sequence[Case]], *, alone: bool = False
    ) -> Generator[tuple[int, list[Observation]], None, None]:
        """The number of each batch of cases and their observations, in the order in which they are ready.

        Batches are asked for when a worker will soon need one.
        """
        target = msgspec.msgpack.encode(launch)
        for number, packed in self.each(
            worker.observe, ((target, [_packed(case) for case in cases], alone) for cases in batches)
        ):
            yield number, _unpack_observations.decode(packed)

    def each(self, function: Callable[..., T], arguments: Iterable[tuple[Any, ...]]) -> Generator[tuple[int, T], None, None]:
        """Call a function of a module in the workers for each tuple of arguments; their numbers and what came of them, as it is
        ready.

        Arguments are asked for when a worker will soon need them. What is with the workers when the iterator is closed is not
        cancelled: once a worker has ended, the pool fails what is pending, and a thread of its own stumbles over what cannot fail
        any more.
        """
        coming = enumerate(arguments)
        pending: dict[Future[T], int] = {}
        with _named():
            while True:
                for number, given in itertools.islice(coming, 2 * self.jobs - len(pending)):
                    pending[self.submit(function, *given)] = number
                if not pending:
                    return
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield pending.pop(future), future.result()


def shares_of(jobs: int) -> list[list[int]]:
    """The processors that there are, shared out to so many workers; none for a single one, which may have all of them."""
    processors = sorted(os.sched_getaffinity(0))
    size = max(1, len(processors) // jobs)
    return [processors[at : at + size] for at in (n * size % len(processors) for n in range(jobs))] if jobs > 1 else []


class _Processes(SpawnContext):
    """Starts processes, and knows which."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[SpawnProcess] = []

    def Process(self, *args: Any, **kwargs: Any) -> SpawnProcess:  # type: ignore[override]  # a class, where it is inherited
        """A process, as the pool asks for it."""
        self.started.append(SpawnProcess(*args, **kwargs))
        return self.started[-1]


def batches_of(cases: Sequence[Case], jobs: int) -> list[list[int]]:
    """Indexes of cases by batch: heavy cases alone and first, so that no worker ends up alone with one."""
    heavy = [i for i, case in enumerate(cases) if case.heavy]
    light = sorted(set(range(len(cases))).difference(heavy))
    batches, start = [], 0
    while start < len(light):
        size = min(BATCH, max(LEAST, (len(light) - start) // (4 * jobs)))
        batches.append(light[start : start + size])
        start += size
    return [[i] for i in heavy] + batches


@remembered()
def _packed(case: Case) -> bytes:
    return msgspec.msgpack.encode(case)


@contextmanager
def _named() -> Iterator[None]:
    """A worker that dies is a fault of the harness, and said so."""
    try:
        yield
    except BrokenProcessPool as error:
        raise HarnessError("A worker of the harness itself died, so the run is not complete; please report this.") from error


_unpack_observations = msgspec.msgpack.Decoder(list[Observation])
