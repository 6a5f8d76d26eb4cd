"""Runners and their workers."""

from __future__ import annotations

import os
import threading
import time

import msgspec
import pytest

from epctx import syscalls
from epctx.case import Limits
from epctx.run import worker
from epctx.run.runner import Runner, shares_of
from epctx.target import Launch, prepare


def test_the_end_of_one_runner_is_not_that_of_another() -> None:
    with Runner(jobs=1) as outer:
        pid = outer.call(os.getpid)
        with Runner(jobs=1) as inner:
            assert inner.call(os.getpid) != pid
        assert outer.call(os.getpid) == pid


def test_a_renewed_runner_has_other_workers() -> None:
    with Runner(jobs=1) as runner:
        before = runner.call(os.getpid)
        runner.renew()
        assert runner.call(os.getpid) != before


def threads_at_forks(packed: bytes) -> list[int]:
    """In a worker: start drivers of all kinds in turn; how many threads there were each time that a box was forked."""
    launch, keeper, counted = msgspec.msgpack.decode(packed, type=Launch), worker.keeper(), []
    fork = syscalls.fork_into

    def counting(flags: int) -> int:
        counted.append(threading.active_count())
        return fork(flags)

    syscalls.fork_into = counting
    for guarded, memory in ((True, 1 << 33), (False, 1 << 33), (True, 1 << 33), (False, 1 << 30), (True, 1 << 30)):
        keeper.started(launch, Limits(memory=memory), guarded)
    return counted


def test_a_box_is_forked_where_there_is_no_other_thread() -> None:
    """A thread may hold what the child waits for, for ever: seen once in half a million cases."""
    with Runner(jobs=1) as runner:
        launch = prepare("reference")
        if runner.conditions(launch).strength != "namespaces":
            pytest.skip("only a box with namespaces is forked so")
        counted = runner.call(threads_at_forks, msgspec.msgpack.encode(launch))
    assert counted == [1, 1, 1]


def processors(_: int) -> tuple[int, list[int]]:
    """In a worker: its process, and the processors that it keeps to."""
    time.sleep(0.2)  # so that the others have something to do, too
    return os.getpid(), sorted(os.sched_getaffinity(0))


def test_each_worker_keeps_to_its_share_of_the_processors() -> None:
    all_of_them = sorted(os.sched_getaffinity(0))
    with Runner(jobs=2, shares=shares_of(2)) as runner:
        for _ in range(2):
            found = dict(own for _, own in runner.each(processors, [(n,) for n in range(8)]))
            assert len(found) == 2
            assert sorted(found.values()) == sorted(shares_of(2))
            runner.renew()
    assert sorted(os.sched_getaffinity(0)) == all_of_them


def test_processors_are_shared_out_and_a_single_worker_has_them_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 6, 7, 9})
    assert shares_of(1) == []
    assert shares_of(2) == [[3, 5], [6, 7]]
    assert shares_of(5) == [[3], [5], [6], [7], [9]]
    assert shares_of(7) == [[3], [5], [6], [7], [9], [3], [5]]
