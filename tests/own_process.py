"""Tests that give their process away."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable

import pytest

at_end: list[Callable[[], None]] = []
"""What a test's own process does before it ends."""

_PASSED, _FAILED, _SKIPPED = b"passed", b"failed", b"skipped"


def run_in_own_process(function: Callable[[], None]) -> None:
    """Run a function in a forked process, which may give itself away: to a namespace, another user, a umask.

    Its failure or skip is this process's. The process must end by itself within the test's time.
    """
    read, write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # in a runner with threads: the child needs but one
        pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            function()
            report = _PASSED
        except pytest.skip.Exception as skip:
            report = _SKIPPED + str(skip).encode()
        except BaseException:
            report = _FAILED + traceback.format_exc().encode()
        for action in at_end:
            action()
        os.write(write, report[:60_000])
        os._exit(0)
    os.close(write)
    with open(read, "rb") as file:
        report = file.read()
    os.waitpid(pid, 0)
    if report.startswith(_SKIPPED):
        pytest.skip(report[len(_SKIPPED) :].decode())
    if report != _PASSED:
        pytest.fail(report[len(_FAILED) :].decode() or "the test's own process ended early", pytrace=False)
