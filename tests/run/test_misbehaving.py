"""Targets that hang, crash, throw, eat memory or write where they must not: each is pinned on its case, and the run goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from epctx.case import Call, Case, File, Limits, World
from epctx.observation import Observation
from epctx.oracle import Verdict, judge, profile
from epctx.run.check import check
from epctx.run.runner import Runner
from epctx.spec import predict
from epctx.target import Launch, build, prepare

FAKE = Path(__file__).parent.parent / "fakes" / "misbehaving.cc"


def case(name: str) -> Case:
    world = World((File("model/good.bin"), File("model/trigger.bin"), File("outside/secret.bin")))
    limits = Limits(seconds=2.0, memory=1 << 30)
    made = Case(f"test/{name.partition('.')[0]}", "A read.", "benign", (), world, (Call("read", name),), limits=limits)
    return replace(made, expect=predict(made))


CASES = [case("good.bin"), case("trigger.bin"), replace(case("good.bin"), id="test/after")]


@pytest.fixture(scope="module")
def library() -> str:
    native = ("-I" + str(build.NATIVE), "-I" + str(build.NATIVE / "ort"))
    return str(build.build(build.Part("misbehaving", (FAKE,), (FAKE,), native)))


@pytest.fixture(scope="module", params=[None, "none"], ids=["boxed", "unboxed"])
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    with Runner(jobs=1, box=request.param) as made:
        yield made


def run(runner: Runner, launch: Launch) -> dict[str, tuple[Observation, Verdict]]:
    seen = {CASES[index].id: (CASES[index], observation) for index, observation in runner.run(launch, CASES)}
    return {i: (observation, judge(tested, observation, profile("spec"))) for i, (tested, observation) in seen.items()}


@pytest.mark.parametrize(
    ("mode", "result", "rule", "evidence"),
    [
        ("hang", "hang", "safe.no-hang", "ended by the harness"),
        ("abort", "crash", "safe.no-crash", "SIGABRT"),
        ("throw", "crash", "safe.no-crash", "thrown by the target"),
        ("allocate", "crash", "safe.no-crash", "SIGSEGV"),
        ("climb", "fail", "safe.no-outside-write", "climbed"),
    ],
)
def test_misbehaviour_is_pinned_on_its_case(
    runner: Runner, library: str, mode: str, result: str, rule: str, evidence: str
) -> None:
    verdicts = run(runner, prepare(f"lib:{library}?set={mode}"))
    assert {i: v.result for i, (_, v) in verdicts.items()} == {"test/good": "pass", "test/trigger": result, "test/after": "pass"}
    _, verdict = verdicts["test/trigger"]
    assert any(f.rule == rule and evidence in f.happened for f in verdict.findings), verdict.findings


def test_nothing_outside_the_box_changes(library: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    victim = tmp_path / "victim"
    with Runner(jobs=1) as runner:
        if runner.conditions(prepare(f"lib:{library}")).strength == "none":
            pytest.skip("there is no box here")
        run(runner, prepare(f"lib:{library}?set=steal={victim}"))
    assert list(tmp_path.iterdir()) == []


def test_a_library_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    from epctx.errors import TargetError

    library = tmp_path / "no.so"
    library.write_text("this is no library")
    with Runner(jobs=1) as runner, pytest.raises(TargetError, match="cannot be loaded"):
        runner.conditions(prepare(f"lib:{library}"))


def test_what_only_shows_in_company_is_reported_as_such(library: str) -> None:
    """The target aborts in its third read, whatever that is: no case alone shows it, and it is not lost either."""
    listed = [replace(case("good.bin"), id=f"test/{n}", limits=Limits()) for n in range(4)]
    with Runner(jobs=1) as runner:
        verdicts = [
            j.verdict for j in check(runner, prepare(f"lib:{library}?set=third"), listed, profile("spec"), controls=False)
        ]
    crashed = [v for v in verdicts if v.result == "crash"]
    assert [(v.case, v.confirmed) for v in crashed] == [("test/2", False)]
    assert all(v.result == "pass" for v in verdicts if v not in crashed)


def test_what_is_no_answer_is_a_crash_of_the_target(runner: Runner, library: str) -> None:
    verdicts = run(runner, prepare(f"lib:{library}?set=scribble"))
    assert verdicts["test/trigger"][1].result == "crash"
    assert "something else than the driver wrote" in verdicts["test/trigger"][0].calls[0].detail


def test_a_read_changes_nothing(runner: Runner, library: str) -> None:
    verdicts = run(runner, prepare(f"lib:{library}?set=remove"))
    _, verdict = verdicts["test/trigger"]
    assert [(f.rule, f.file) for f in verdict.findings if f.fails] == [("contain.accept-inside", "model/trigger.bin")]


def test_a_file_left_in_the_directory_for_temporary_files_is_outside(runner: Runner, library: str) -> None:
    verdicts = run(runner, prepare(f"lib:{library}?set=temporary"))
    _, verdict = verdicts["test/trigger"]
    assert [f.rule for f in verdict.findings if f.fails] == ["safe.no-outside-write"]
