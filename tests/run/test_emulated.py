"""Adapters on emulated file systems of Windows and macOS: what happens there is seen, and what is not emulated is skipped."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from epctx.attack import OPS, Draft, Op, access, read, scene, write
from epctx.case import Call, Callback, Case, Content, Fifo, File, HardLink, Limits, Link, Model, Piece, Share, Threads
from epctx.errors import TargetError, UsageError
from epctx.observation import Observation
from epctx.oracle import Verdict, judge
from epctx.run.check import judging
from epctx.run.runner import Runner
from epctx.target import Launch, parse
from epctx.target.adapters import python
from epctx.target.emulation import obstacle

FAKES = Path(__file__).parents[1] / "fakes" / "adapters"
emulating = pytest.mark.skipif(importlib.util.find_spec("pyfakefs") is None, reason="pyfakefs is not installed")


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(jobs=1) as made:
        yield made


def target(platform: str, name: str = "careful_loader:Loader") -> Launch:
    return python(parse(f"python:{name}?path={FAKES}&platform={platform}"))


def case(draft: Draft) -> Case:
    return Case("test/one", "A case.", "hostile", (), draft.world, draft.calls, draft.model, draft.limits)


def observed(runner: Runner, launch: Launch, drafts: Sequence[Draft]) -> list[Observation]:
    seen = dict(runner.run(launch, list(map(case, drafts))))
    assert not any(observation.error for observation in seen.values())
    return [seen[index] for index in range(len(drafts))]


def judged(runner: Runner, launch: Launch, drafts: Sequence[Draft]) -> list[Verdict]:
    profile = judging(launch, runner.conditions(launch))
    return [judge(case(draft), seen, profile) for draft, seen in zip(drafts, observed(runner, launch, drafts), strict=True)]


def broken(verdicts: Sequence[Verdict]) -> set[str]:
    return {finding.rule for verdict in verdicts for finding in verdict.findings if finding.fails}


@emulating
@pytest.mark.parametrize("platform", ["windows", "macos"])
def test_what_lies_inside_is_read_and_written_and_what_lies_outside_is_not(platform: str, runner: Runner) -> None:
    drafts = [
        *(scene(calls=access(op, name)) for op in OPS for name in ("good.bin", "sub/inner.bin", "../outside/secret.bin")),
        scene(calls=(write("new.bin", payload=Content("long", 5000)), read("new.bin"))),
        scene(Link("model/out", "../outside/secret.bin"), calls=read("out")),
        scene(HardLink("model/hard", "model/good.bin"), calls=read("hard")),
        scene(calls=read("f", callback=Callback(Content("given")))),
        scene(calls=read("good.bin"), model=Model(given="model.onnx"), cwd="model"),
        scene(calls=read("good.bin"), model=Model(given="")),
        scene(calls=read("{root}/model/good.bin", source="caller")),
    ]
    verdicts = judged(runner, target(platform), drafts)
    assert [verdict.result for verdict in verdicts] == ["pass"] * len(drafts)
    accepted, refused = ("accepted",), ("refused",)
    assert [verdict.outcomes for verdict in verdicts] == [
        *[accepted, accepted, refused] * 2,
        ("accepted", "accepted"),
        *(refused, accepted, accepted, accepted, refused, accepted),
    ]


@emulating
def test_names_are_those_of_windows(runner: Runner) -> None:
    drafts = [scene(calls=read(name)) for name in ("sub\\inner.bin", "sub\\..\\good.bin", ".\\good.bin")]
    drafts += [
        scene(calls=read(name)) for name in ("..\\outside\\secret.bin", "C:\\x", "C:good.bin", "\\x", "\\\\host\\share\\x")
    ]
    undecodable = (Piece("a"), Piece(hex="ff"))
    drafts.append(scene(calls=read(undecodable)))
    verdicts = judged(runner, target("windows"), drafts)
    assert [verdict.outcomes for verdict in verdicts] == [("accepted",)] * 3 + [("refused",)] * 6
    assert not broken(verdicts)


@emulating
@pytest.mark.parametrize("op", OPS)
def test_what_is_opened_and_changed_outside_is_seen(op: Op, runner: Runner) -> None:
    drafts = [scene(calls=access(op, name)) for name in ("..\\outside\\secret.bin", "../outside/secret.bin")]
    assert f"safe.no-outside-{op}" in broken(judged(runner, target("windows", "careless_loaders:Joins"), drafts[:1]))
    assert f"safe.no-outside-{op}" in broken(judged(runner, target("macos", "careless_loaders:Joins"), drafts[1:]))
    (seen,) = observed(runner, target("windows", "careless_loaders:Joins"), drafts[:1])
    assert {touched.names for touched in seen.calls[0].touched if touched.place == "outside"} >= {("outside/secret.bin",)}


@emulating
def test_a_slash_check_alone_does_not_do_on_windows(runner: Runner) -> None:
    climb = scene(calls=read("..\\outside\\secret.bin"))
    looks_for_slashes = "careless_loaders:LooksForSlashes"
    (windows,) = judged(runner, target("windows", looks_for_slashes), [climb])
    assert {"safe.no-outside-read", "contain.parent"} <= broken([windows])
    (posix,) = judged(runner, python(parse(f"python:{looks_for_slashes}?path={FAKES}")), [climb])
    assert not broken([posix])


@emulating
def test_case_does_not_count(runner: Runner) -> None:
    for platform in ("windows", "macos"):
        (verdict,) = judged(runner, target(platform), [scene(calls=read("GOOD.BIN"))])
        assert verdict.outcomes == ("accepted",)
        assert not broken([verdict])


@emulating
def test_a_case_that_runs_alone_finds_a_world_of_its_own(runner: Runner) -> None:
    both = scene(calls=(write("new.bin"), read("new.bin")))
    seen = dict(runner.run(target("windows"), [case(both), case(scene(calls=read("new.bin")))], alone=True))
    assert [call.code for index in range(2) for call in seen[index].calls] == [0, 0, 1]


def test_what_is_not_emulated_is_skipped_with_its_reason() -> None:
    def why(draft: Draft) -> str:
        return obstacle(case(draft), "windows")

    shares = (Share("read", "good.bin", Content("model/good.bin")),)
    assert "no FIFOs" in why(scene(Fifo("model/pipe"), calls=read("pipe")))
    assert "no devices and no streams" in why(scene(calls=read("con.txt")))
    assert "no devices and no streams" in why(scene(calls=read("good.bin:s")))
    assert "dots and spaces at the end" in why(scene(calls=read("good.bin.")))
    assert "no limits" in why(scene(calls=write("new.bin"), limits=Limits(file_size=10)))
    assert "Windows has no file of such a name" in why(scene(File("model/a?b"), calls=read("a?b")))
    assert "differ in case alone" in why(scene(File("model/GOOD.BIN"), calls=read("good.bin")))
    assert "one call after the other" in why(scene(calls=Call("read", threads=Threads(shares))))
    assert "forms of one name" in obstacle(case(scene(calls=read("gr\u00f6\u00dfe"))), "macos")
    assert "not UTF-8" in obstacle(case(scene(calls=read((Piece(hex="ff"),)))), "macos")
    climbing = scene(Link("model/link", "sub"), calls=read("link/../good.bin"))
    assert "what `..` means after a link" in obstacle(case(climbing), "macos")
    assert "what `..` means after a link" in why(climbing)
    assert not why(scene(calls=read("good.bin")))


def test_a_platform_that_is_none_is_told() -> None:
    with pytest.raises(UsageError, match="windows, macos, not 'linux'"):
        target("linux")


def test_without_pyfakefs_it_is_said_what_to_install(runner: Runner) -> None:
    if importlib.util.find_spec("pyfakefs"):
        pytest.skip("pyfakefs is installed")
    with pytest.raises(TargetError, match=r"emulated by pyfakefs, which is not installed for .*pip install 'pyfakefs>=6.3'"):
        runner.conditions(target("windows"))
