"""Runners and their workers."""

from __future__ import annotations

import os

from epctx.run.runner import Runner


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
