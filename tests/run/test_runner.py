"""Runners and their workers."""

from __future__ import annotations

import os
import threading

import msgspec
import pytest

from epctx import syscalls
from epctx.case import Limits
from epctx.run import worker
from epctx.run.runner import Runner
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
