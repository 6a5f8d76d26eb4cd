"""Whole checks of execution providers by their library alone: the bundled one, as if somebody else had written it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from epctx.case import Call, Case, Content, Fifo, File, Limits, Link, World
from epctx.cli import options
from epctx.oracle import Verdict, judge
from epctx.run.check import check, judging
from epctx.run.runner import Runner
from epctx.target import build, prepare
from epctx.target.native import onnxruntime_library

pytestmark = pytest.mark.skipif(onnxruntime_library() is None, reason="onnxruntime is not installed")

CASES = [
    case
    for case in options.listed_cases()
    if case.family in ("control", "models", "types")
    or case.id.startswith(("links/final-outside[", "links/hard-outside[", "names/model-itself", "sizes/read-1-tib"))
]


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(jobs=2) as made:
        yield made


def target(*more: str) -> str:
    return "&".join((f"ep:lib={build.ep()}", "name=EpctxExecutionProvider", "computes=mul", *more))


def verdicts(runner: Runner, name: str) -> dict[str, Verdict]:
    launch = prepare(name)
    profile = judging(launch, runner.conditions(launch))
    return {j.case.id: j.verdict for j in check(runner, launch, CASES, profile)}


@pytest.mark.parametrize("proof", ["run", "open"])
def test_the_reference_is_silent(runner: Runner, proof: str) -> None:
    found = verdicts(runner, target(f"proof={proof}"))
    assert {v.case: v for v in found.values() if v.fails or v.result == "error"} == {}
    assert found["control/read-beside-model"].outcomes == ("accepted",)
    assert sum(v.result in ("pass", "note") for v in found.values()) > 40


@pytest.mark.parametrize(
    ("proof", "words"),
    [
        ("run", "the content of outside/secret.bin was loaded and executed: the result is that of it"),
        ("open", "it opened outside/secret.bin"),
    ],
)
def test_an_escape_is_found_and_what_shows_it(runner: Runner, proof: str, words: str) -> None:
    found = verdicts(runner, target(f"proof={proof}", "option.helper=weak=no-containment"))
    rules = {f.rule for v in found.values() for f in v.findings if f.fails}
    assert {"contain.symlink-file", "safe.no-outside-read"} <= rules
    happened = [f.happened for f in found["links/final-outside[read,relative]"].findings if f.rule == "contain.symlink-file"]
    assert happened == [words]
    assert found["control/read-beside-model"].result == "pass"


@pytest.mark.parametrize("proof", ["run", "open"])
def test_crashes_and_hangs_are_pinned_on_their_cases(runner: Runner, proof: str) -> None:
    good = Call("read", "good.bin")
    world = World((File("model/good.bin"), Fifo("model/fifo")))
    cases = [
        Case("test/before", "", "benign", (), world, (good,)),
        Case("test/fifo", "", "hostile", (), world, (Call("read", "fifo"),), limits=Limits(seconds=2.0)),
        Case("test/between", "", "benign", (), world, (good,)),
        Case("test/long", "", "hostile", (), world, (Call("read", "n" * 300),)),
        Case("test/after", "", "benign", (), world, (good,)),
    ]
    for weak, results in (
        ("blocks-on-fifo", ["pass", "hang", "pass", "pass", "pass"]),
        ("aborts-on-long-name", ["pass", "pass", "pass", "crash", "pass"]),
    ):
        launch = prepare(target(f"proof={proof}", f"option.helper=weak={weak}"))
        profile = judging(launch, runner.conditions(launch))
        seen = sorted(check(runner, launch, cases, profile, controls=False), key=lambda j: j.index)
        assert [j.verdict.result for j in seen] == results


def test_what_holds_no_product_is_skipped_with_its_reason(runner: Runner) -> None:
    files = [File("model/good.bin", Content("good", 5)), *(File(f"model/{n}.bin") for n in range(12))]
    cases = [
        Case("test/size", "", "benign", (), World(tuple(files[:1])), (Call("read", "good.bin"),)),
        Case("test/many", "", "benign", (), World(tuple(files[1:])), (Call("read", "1.bin"),)),
        Case("test/model", "", "benign", (), World(), (Call("read", "model.onnx"),)),
        Case("test/write", "", "benign", (), World(), (Call("write", "new.bin"),)),
    ]
    words = ["of the size that it is", "more contents than", "the model itself", "gets its name from the application"]
    skipped = {index: seen.skipped for index, seen in runner.run(prepare(target()), cases)}
    for index, reason in enumerate(words):
        assert reason in skipped[index]


def test_two_files_of_one_content_are_told_together(runner: Runner) -> None:
    """Which of two files with the same bytes was loaded no result tells: that one of them lies outside is not held against it."""
    same = Content("same")
    world = World((File("model/good.bin", same), File("outside/secret.bin", same), Link("model/link", "good.bin")))
    case = Case("test/same", "", "benign", (), world, (Call("read", "link"),))
    launch = prepare(target())
    ((_, observation),) = runner.run(launch, [case])
    seen = observation.calls[0]
    assert seen.shown_by == "result"
    assert set(seen.reads) == {"model/good.bin", "outside/secret.bin"}
    assert seen.leaks == ()
    assert judge(case, observation, judging(launch, runner.conditions(launch))).result == "pass"


def test_the_same_library_by_a_description(tmp_path: Path, runner: Runner) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'name = "EpctxExecutionProvider"\nlibrary = "{build.ep()}"\ncomputes = "mul"\n', encoding="utf-8")
    launch = prepare(f"ep:{path}")
    assert "EpctxExecutionProvider" in runner.conditions(launch).met


@pytest.mark.parametrize(("from_memory", "fails"), [("", True), ("working directory", False)])
def test_a_description_says_what_models_from_memory_are_held_to(
    tmp_path: Path, runner: Runner, from_memory: str, fails: bool
) -> None:
    described = tmp_path / "mine.toml"
    described.write_text(
        f'name = "EpctxExecutionProvider"\nlibrary = "{build.ep()}"\ncomputes = "mul"\nfrom_memory = "{from_memory}"\n'
        '[options]\nhelper = "weak=working-directory-for-memory-model"\n',
        encoding="utf-8",
    )
    launch = prepare(f"ep:{described}")
    profile = judging(launch, runner.conditions(launch))
    cases = [c for c in options.listed_cases() if c.id == "traversal/model-from-memory[read,plain]"]
    ((_, observation),) = runner.run(launch, cases)
    assert observation.calls[0].shown_by == "result"
    assert judge(cases[0], observation, profile).fails == fails
