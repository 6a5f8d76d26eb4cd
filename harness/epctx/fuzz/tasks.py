"""What a campaign has its workers do. A worker that is lost costs time and nothing else: what was with it is done again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Generic, NamedTuple, ParamSpec, Protocol, TypeVar

from epctx.errors import HarnessError

P = ParamSpec("P")
K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

TRIES = 4
"""A task that so many times was with workers when one of them died is most likely what they die of."""


class Workers(Protocol):
    """Who does the work of a campaign: ``jobs`` processes with a keeper each, here or elsewhere."""

    jobs: int

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Hand a call of a function of a module to a worker."""

    def renew(self) -> None:
        """Start anew with other workers, after one died."""


class _Task(NamedTuple):
    function: Callable[..., bytes]
    arguments: tuple[Any, ...]
    tries: int


class Tasks(Generic[K]):
    """Calls that are with the workers, each under a key. ``lost`` counts the times that workers had to be replaced."""

    def __init__(self, workers: Workers) -> None:
        self.lost = 0
        self._workers = workers
        self._keys: dict[Future[bytes], K] = {}
        self._tasks: dict[K, _Task] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def add(self, key: K, function: Callable[..., bytes], *arguments: Any) -> None:
        """Have a worker call a function of a module."""
        self._tasks[key] = _Task(function, arguments, 0)
        self._hand_over(key)

    def done(self, seconds: float) -> Iterator[tuple[K, bytes]]:
        """The keys of calls that are done, and what came of them; none if none is done within some seconds.

        HarnessError if workers die of a call again and again.
        """
        ready, _ = wait(self._keys, seconds, FIRST_COMPLETED)
        broken = False
        for future in ready:
            try:
                result = future.result()
            except BrokenProcessPool:
                broken = True
                continue
            key = self._keys.pop(future)
            del self._tasks[key]
            yield key, result
        if broken:
            self._again()

    def _hand_over(self, key: K) -> None:
        task = self._tasks[key]
        try:
            self._keys[self._workers.submit(task.function, *task.arguments)] = key
        except BrokenProcessPool:  # which also what was handed over before will show
            self._again()

    def _again(self) -> None:
        """Hand everything over again that is not done, to new workers."""
        self.lost += 1
        self._workers.renew()
        self._keys.clear()
        for key, task in self._tasks.items():
            if task.tries + 1 == TRIES:
                raise HarnessError(
                    f"Workers of the harness itself died {TRIES} times at the same task ({key}); please report this."
                )
            self._tasks[key] = task._replace(tries=task.tries + 1)
        for key in list(self._tasks):
            self._hand_over(key)
