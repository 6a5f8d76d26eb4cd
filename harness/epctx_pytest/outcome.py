"""What a judged case comes to in pytest."""

from __future__ import annotations

import pytest

from epctx.run.check import Judged
from epctx_pytest import Broken
from epctx_pytest.checker import Checker


def settle(checker: Checker, judged: Judged) -> None:
    """Nothing for what held; else the test is skipped, fails as expected for the reasons that are known, or fails."""
    verdict = judged.verdict
    if verdict.result == "skip":
        pytest.skip(verdict.reason)
    if verdict.result == "error":
        pytest.fail(f"epctx could not run {judged.case.id}: {verdict.reason}", pytrace=False)
    if not verdict.fails:
        return
    if not checker.known.new(verdict):
        pytest.xfail("; ".join(f"{rule}: {reason}" for rule, reason in checker.known.known(verdict).items()))
    raise Broken(checker.report(judged), judged)
