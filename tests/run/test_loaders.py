"""Loaders of external data, met in Python: the bundled one, a weak one, and those that are installed here."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from epctx.attack import OPS, Draft, Op, access, read, scene, write
from epctx.case import Case, Content, External, Fifo, File, HardLink, Limits, Link, Model, Pair, Piece
from epctx.errors import TargetError, UsageError
from epctx.observation import Observation
from epctx.oracle import Verdict, judge
from epctx.run.check import judging
from epctx.run.runner import Runner
from epctx.spec import predict
from epctx.target import parse
from epctx.target.loaders import loader


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(jobs=1) as made:
        yield made


def case(draft: Draft) -> Case:
    made = Case("test/one", "A case.", "hostile", (), draft.world, draft.calls, draft.model, draft.limits)
    return replace(made, expect=predict(made))


def observed(runner: Runner, draft: Draft, target: str) -> Observation:
    ((_, observation),) = runner.run(loader(parse(target)), [case(draft)])
    assert not observation.error
    return observation


def judged(runner: Runner, draft: Draft, target: str = "loader:bundled") -> Verdict:
    launch = loader(parse(target))
    return judge(case(draft), observed(runner, draft, target), judging(launch, runner.conditions(launch)))


def broken(verdict: Verdict) -> set[str]:
    return {finding.rule for finding in verdict.findings if finding.fails}


@pytest.mark.parametrize("op", OPS)
def test_what_lies_inside_is_read_and_written(op: Op, runner: Runner) -> None:
    for name in ("good.bin", "./good.bin", "sub/inner.bin", "sub/../good.bin"):
        assert judged(runner, scene(calls=access(op, name))).result == "pass"


@pytest.mark.parametrize("size", [0, 1, 4097, 1 << 20])
def test_sizes_are_exact(size: int, runner: Runner) -> None:
    content = Content("f", size)
    assert judged(runner, scene(File("model/f.bin", content), calls=read("f.bin"))).result == "pass"
    both = (write("new.bin", payload=content), read("new.bin"))
    assert judged(runner, scene(calls=both)).result == "pass"


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("name", ["../outside/secret.bin", "{root}/outside/secret.bin", "out"])
def test_what_lies_outside_is_refused_and_found_in_one_that_does_not(op: Op, name: str, runner: Runner) -> None:
    draft = scene(Link("model/out", "../outside/secret.bin"), calls=access(op, name))
    assert judged(runner, draft).outcomes == ("refused",)
    assert f"safe.no-outside-{op}" in broken(judged(runner, draft, "loader:bundled?weak=external-joins"))


def test_a_hang_is_told_from_a_refusal(runner: Runner) -> None:
    draft = scene(Fifo("model/pipe"), calls=read("pipe"), limits=Limits(seconds=1.0))
    assert judged(runner, draft).result == "pass"
    assert "safe.no-hang" in broken(judged(runner, draft, "loader:bundled?weak=external-joins"))


def test_a_crash_is_pinned_on_its_case(runner: Runner) -> None:
    draft = scene(calls=read("good.bin"), model=Model(external=External((Pair("unknown", "x"),))))
    assert judged(runner, draft).result == "pass"
    assert "safe.no-crash" in broken(judged(runner, draft, "loader:bundled?weak=external-aborts-on-keys"))
    assert judged(runner, scene(calls=read("good.bin"))).result == "pass"


def test_cases_that_run_alone_find_the_loader_as_it_was_imported(runner: Runner) -> None:
    crash = scene(calls=read("good.bin"), model=Model(external=External((Pair("unknown", "x"),))))
    hang = scene(Fifo("model/pipe"), calls=read("pipe"), limits=Limits(seconds=1.0))
    both = scene(calls=(write("new.bin"), read("new.bin")))
    launch = loader(parse("loader:bundled?weak=external-aborts-on-keys"))
    drafts = [both, crash, hang, both, scene(calls=read("../outside/secret.bin")), both]
    seen = dict(runner.run(launch, list(map(case, drafts)), alone=True))
    returned = ("returned", "returned")
    ends = [tuple(call.ended for call in seen[n].calls) for n in range(6)]
    assert ends == [returned, ("crash",), returned[:1], returned, returned[:1], returned]
    assert "SIGABRT" in seen[1].calls[0].detail
    assert [call.code for call in seen[3].calls] == [0, 0]
    joins = loader(parse("loader:bundled?weak=external-joins"))
    ((_, hung),) = runner.run(joins, [case(hang)], alone=True)
    assert hung.calls[0].ended == "hang"


def test_locations_are_any_bytes(runner: Runner) -> None:
    name = (Piece("f-"), Piece(hex="ff"))
    assert judged(runner, scene(File((Piece("model/f-"), Piece(hex="ff"))), calls=read(name))).result == "pass"
    assert judged(runner, scene(calls=read("good.bin\0/../../outside/secret.bin"))).outcomes == ("refused",)


def test_what_no_loader_of_external_data_has_is_skipped_with_its_reason(runner: Runner) -> None:
    assert "nobody is trusted" in observed(runner, scene(calls=read("x", source="caller")), "loader:bundled").skipped
    assert "saves no external data" in observed(runner, scene(calls=write("x")), "loader:ort").skipped
    memory = scene(calls=read("good.bin"), model=Model(given=""))
    assert "a model from memory" in observed(runner, memory, "loader:bundled").skipped


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("loader:none", "the loaders are bundled, onnx, onnx-hub, ort"),
        ("loader:onnx?tensor=sparse", "unknown option 'tensor'"),
        ("loader:ort?tensor=dense", "initializer, sparse"),
        ("loader:bundled?weak=nothing", "no weak loader 'nothing'"),
    ],
)
def test_mistakes_are_told(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        loader(parse(text))


def test_an_interpreter_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="does not run"):
        loader(parse(f"loader:onnx?python={tmp_path}"))


def test_a_loader_that_is_not_installed_is_told(runner: Runner, tmp_path: Path) -> None:
    """An interpreter of the system, which has no packages."""
    import venv

    venv.create(tmp_path / "empty", symlinks=True)
    with pytest.raises(TargetError, match="No module named 'onnxruntime'"):
        runner.conditions(loader(parse(f"loader:ort?python={tmp_path}/empty/bin/python")))


# --- what is installed here ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["loader:onnx", "loader:ort", "loader:ort?tensor=sparse"])
def test_installed_loaders_read_what_is_inside_and_say_what_they_are(target: str, runner: Runner) -> None:
    package = "onnx" if "onnx" in target else "onnxruntime"
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    assert judged(runner, scene(calls=read("good.bin")), target).outcomes == ("accepted",)
    assert judged(runner, scene(calls=read("../outside/secret.bin")), target).outcomes == ("refused",)
    assert runner.conditions(loader(parse(target))).met.startswith(f"{package} ")


def test_a_tensor_that_is_smaller_than_its_file_is_known_for_what_it_is(runner: Runner) -> None:
    if importlib.util.find_spec("onnxruntime") is None:
        pytest.skip("onnxruntime is not installed")
    large = File("model/hard.bin", Content("large", 500))
    draft = scene(large, HardLink("model/other.bin", "model/hard.bin"), calls=read("hard.bin"), model=_part("0", "100"))
    (seen,) = observed(runner, draft, "loader:ort").calls
    assert seen.output
    assert (seen.output.size, set(seen.reads)) == (100, {"model/hard.bin", "model/other.bin"})


def _part(offset: str, length: str) -> Model:
    return Model(external=External((Pair("offset", offset), Pair("length", length))))


def test_a_model_from_memory_has_the_working_directory_in_onnxruntime(runner: Runner) -> None:
    if importlib.util.find_spec("onnxruntime") is None:
        pytest.skip("onnxruntime is not installed")
    draft = scene(calls=read("good.bin"), model=Model(given=""), cwd="model")
    assert judged(runner, draft, "loader:ort").result == "pass"
    escape = scene(calls=read("../outside/secret.bin"), model=Model(given=""), cwd="model")
    assert judged(runner, escape, "loader:ort").outcomes == ("refused",)
