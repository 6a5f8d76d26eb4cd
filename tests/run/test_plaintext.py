"""Plaintext in files is seen in a whole run: on every weak target that puts it there, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from epctx.attack import families
from epctx.case import Case
from epctx.lookout import run_watched, why_no_doors
from epctx.observation import Observation
from epctx.oracle import judge, profile
from epctx.run.runner import Runner
from epctx.target import prepare, weaknesses
from epctx.target.native import onnxruntime_library

WEAK = [w.name for w in weaknesses() if w.name.startswith("plaintext-")]
REPEATS = 20

pytestmark = pytest.mark.skipif(bool(why_no_doors()), reason=why_no_doors() or "there are doors")


@pytest.fixture(scope="module", params=[None, "none"], ids=["boxed", "unboxed"])
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    with Runner(jobs=1, box=request.param) as made:
        yield made


def cases(*slugs: str) -> list[Case]:
    known = {case.id: case for case in families("plaintext")["plaintext"].cases()}
    return [known[f"plaintext/{slug}"] for slug in slugs]


def run(runner: Runner, target: str, tested: list[Case]) -> list[tuple[Case, Observation]]:
    return [(tested[index], observation) for index, observation in runner.run(prepare(target), tested)]


def found(runner: Runner, target: str, tested: list[Case]) -> list[bool]:
    rules = [
        {finding.rule for finding in judge(case, observation, profile("spec")).findings}
        for case, observation in run(runner, target, tested)
    ]
    return ["plain.no-plaintext" in broken for broken in rules]


@pytest.mark.parametrize("weak", WEAK)
def test_each_weak_target_is_caught_every_time(runner: Runner, weak: str) -> None:
    slugs = ("write-not-taken[4096]",) if weak == "plaintext-after-failure" else ("sizes[read,4096]", "sizes[write,32]")
    tested = cases(*slugs) * REPEATS
    assert found(runner, f"weak:{weak}", tested) == [True] * len(tested)


def test_the_reference_is_not(runner: Runner) -> None:
    tested = cases("sizes[read,4096]", "sizes[write,1048576]", "written-then-read", "fallback-name[existing]", "node-of-a-model")
    assert found(runner, "reference", tested) == [False] * len(tested)
    assert not any(observation.skipped or observation.error for _, observation in run(runner, "reference", tested))


def test_a_sighting_says_where_and_whether_it_is_still_there(runner: Runner) -> None:
    def paths(weak: str) -> set[str]:
        return {
            path for _, seen in run(runner, weak, cases("sizes[read,4096]")) for call in seen.calls for path in call.plaintext
        }

    assert paths("weak:plaintext-cached") == {"model/engine.cache"}
    assert paths("weak:plaintext-in-temporary-directory") == {"../../../../../tmp/epctx-engine.tmp (deleted)"}
    assert paths("weak:plaintext-renamed-away") == {
        "model/engine.part (deleted)",
        "../../../../../tmp/epctx-engine.part (deleted)",
    }


@pytest.mark.skipif(onnxruntime_library() is None, reason="onnxruntime is not installed")
def test_an_execution_provider_in_a_session_is_caught_too(runner: Runner) -> None:
    tested = cases("sizes[read,4096]", "sizes[write,4096]", "model-from-memory[read]")
    assert found(runner, "ep:bundled", tested) == [False] * len(tested)
    assert found(runner, "ep:bundled?weak=plaintext-in-temporary-directory", tested) == [True] * len(tested)


def test_where_there_is_no_lookout_the_cases_that_need_it_are_skipped() -> None:
    command = [sys.executable, "-m", "epctx", "check", "reference", "--only", "plaintext/sizes[read,4096]"]
    run = run_watched(command, secrets=[bytes(range(64))], timeout=120)  # there is one lookout for a process, and this has it
    assert "what is written and removed again during a call cannot be seen here: Device or resource busy" in " ".join(
        run.output.split()
    )
