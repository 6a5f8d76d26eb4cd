"""Objects in Python as targets: a good one, weak ones, each found by the right rule, and what cannot be asked of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from careful_loader import Loader

from epctx.adapter import FEATURES, Adapter, ReadCall, Refused
from epctx.attack import OPS, Draft, Op, access, families, read, scene, write
from epctx.case import Call, Callback, Case, Content, File, Limits, Model, Share, Threads
from epctx.errors import TargetError, UsageError
from epctx.observation import Observation
from epctx.oracle import Verdict, judge
from epctx.run.check import judging
from epctx.run.runner import Runner
from epctx.target import parse
from epctx.target.adaptable import obstacle
from epctx.target.adapters import python

FAKES = Path(__file__).parents[1] / "fakes" / "adapters"
EVERYTHING = frozenset(("read", "write", "callbacks", "fallback", "trusted", "threads"))
ASKED = 10
"""Cases that are run for each rule."""


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(jobs=1) as made:
        yield made


@pytest.fixture(scope="module")
def aimed_at() -> dict[str, list[Case]]:
    """The first cases that each rule decides, or that aim at it, out of those that an adapter can be asked."""
    found: dict[str, list[Case]] = {}
    for family in families().values():
        for case in family.cases():
            if not case.heavy and not obstacle(case, EVERYTHING, {}):
                for rule in {expect.rule for expect in case.expect} | (
                    set(case.rules) & {"plain.no-plaintext", "cb.synchronous"}
                ):
                    found.setdefault(rule, []).append(case)
    return {rule: cases[:ASKED] for rule, cases in found.items()}


def target(name: str, options: str = "") -> str:
    return f"python:{name}?path={FAKES}{options}"


def case(draft: Draft) -> Case:
    return Case("test/one", "A case.", "hostile", (), draft.world, draft.calls, draft.model, draft.limits)


def observed(runner: Runner, text: str, cases: Sequence[Case]) -> list[Observation]:
    seen = dict(runner.run(python(parse(text)), cases))
    assert not any(observation.error for observation in seen.values())
    return [seen[index] for index in range(len(cases))]


def judged(runner: Runner, text: str, cases: Sequence[Case]) -> list[Verdict]:
    launch = python(parse(text))
    profile = judging(launch, runner.conditions(launch))
    return [judge(case, seen, profile) for case, seen in zip(cases, observed(runner, text, cases), strict=True)]


def broken(verdicts: Sequence[Verdict]) -> set[str]:
    return {finding.rule for verdict in verdicts for finding in verdict.findings if finding.fails}


WEAK = {
    "ComparesCharacters": "contain.sibling-prefix",
    "ComparesText": "contain.symlink-file",
    "Joins": "contain.parent",
    "UsesWorkingDirectory": "contain.no-model-path",
    "IgnoresCallbacks": "cb.no-file-access",
    "FallsBack": "cb.error-is-final",
    "TranslatesErrors": "cb.error-is-final",
    "CallsLate": "cb.synchronous",
    "WritesPieces": "chunk.single-write",
    "KeepsPlaintext": "plain.no-plaintext",
    "RemembersName": "thread.no-cross-talk",
    "OpensAnything": "type.read-regular",
    "LosesLastByte": "size.exact",
    "Exits": "type.read-missing",
    "Aborts": "type.read-missing",
}
"""The rule that each weak adapter breaks."""


@pytest.mark.parametrize(("name", "rule"), WEAK.items())
def test_each_weak_adapter_breaks_its_rule(name: str, rule: str, runner: Runner, aimed_at: dict[str, list[Case]]) -> None:
    assert rule in broken(judged(runner, target(f"careless_loaders:{name}"), aimed_at[rule]))


@pytest.mark.parametrize(
    "made", ["careful_loader:Loader", "careless_loaders:made", "careless_loaders:instance", "careless_loaders:WithoutCodes"]
)
def test_good_adapters_break_none_however_they_are_made(made: str, runner: Runner, aimed_at: dict[str, list[Case]]) -> None:
    rules = set(WEAK.values()) if made == "careful_loader:Loader" else {"contain.parent", "type.read-missing"}
    verdicts = judged(runner, target(made), [case for rule in sorted(rules) for case in aimed_at[rule]])
    assert {verdict.result for verdict in verdicts} <= {"pass", "note"}
    assert not broken(verdicts)


def test_what_ends_the_process_is_a_crash_and_what_asks_for_its_end_is_told(runner: Runner) -> None:
    missing = case(scene(calls=read("nothing")))
    for name, words in (("Aborts", "SIGABRT"), ("Exits", "SystemExit: there is no such file")):
        (seen,) = observed(runner, target(f"careless_loaders:{name}"), [missing])
        assert words in seen.calls[0].detail
        assert "safe.no-crash" in broken(judged(runner, target(f"careless_loaders:{name}"), [missing]))


def test_pieces_are_right_where_they_are_declared(runner: Runner) -> None:
    draft = scene(calls=write("f", payload=Content("long", 1000), callback=Callback()))
    assert not broken(judged(runner, target("careless_loaders:WritesPieces", "&chunking=ordered"), [case(draft)]))


@pytest.mark.parametrize("op", OPS)
def test_codes_that_are_not_said_are_not_judged(op: Op, runner: Runner) -> None:
    hostile = case(scene(calls=access(op, "../outside/secret.bin")))
    (seen,) = observed(runner, target("careless_loaders:WithoutCodes"), [hostile])
    assert seen.calls[0].code == (-1 if op == "read" else 2)
    assert not broken(judged(runner, target("careless_loaders:WithoutCodes"), [hostile]))


def test_what_an_adapter_does_not_support_is_skipped_with_its_reason(runner: Runner) -> None:
    drafts = (
        scene(calls=read("good.bin")),
        scene(calls=read("f", callback=Callback(Content("f")))),
        scene(calls=read("{root}/model/good.bin", source="caller")),
        scene(calls=write("new.bin")),
    )
    seen = observed(runner, target("careless_loaders:ReadsOnly"), list(map(case, drafts)))
    assert [one.skipped for one in seen] == [
        "",
        "they are for the next release",
        "names from the application are for the next release",
        "the adapter has no write",
    ]
    launch = python(parse(target("careless_loaders:ReadsOnly")))
    assert runner.conditions(launch).met == "a reader, 1.0"


def test_calls_that_python_cannot_make_are_skipped(runner: Runner) -> None:
    drafts = (
        scene(calls=read(None)),
        scene(calls=read("good.bin", allocator="caller")),
        scene(calls=write("f", payload=None, callback=Callback())),
        scene(calls=read("f", callback=Callback(Content("f", 96), size=10))),
    )
    reasons = [one.skipped for one in observed(runner, target("careful_loader:Loader"), list(map(case, drafts)))]
    assert [words.partition(",")[0] for words in reasons] == [
        "a name is never NULL for an adapter",
        "an adapter is given no allocator",
        "a payload is never NULL for an adapter",
        "a callback of an adapter gives bytes",
    ]


def test_large_payloads_arrive_whole(runner: Runner) -> None:
    large = Content("large", 3 << 20)
    drafts = (
        scene(File("model/large.bin", large), calls=read("large.bin")),
        scene(calls=(write("new.bin", payload=large), read("new.bin"))),
        scene(calls=read("f", callback=Callback(large))),
        scene(calls=write("f", payload=large, callback=Callback())),
    )
    verdicts = judged(runner, target("careful_loader:Loader"), list(map(case, drafts)))
    assert [verdict.result for verdict in verdicts] == ["pass"] * 4


def test_callbacks_of_several_threads_are_at_work_at_once_and_call_again(runner: Runner) -> None:
    shares = tuple(Share("read", f"s{n}", Content(f"s{n}")) for n in range(3))
    for callback in (Callback(waits=2), Callback(reenters="s1")):
        call = Call("read", None, read_callback=callback, threads=Threads(shares, 3, 20))
        (seen,) = observed(runner, target("careful_loader:Loader"), [case(scene(calls=call))])
        threads = seen.calls[0].threads
        assert threads is not None
        assert (threads.right, threads.wrong + threads.failed + threads.crossed) == (threads.calls, 0)
        assert threads.calls >= 60


def test_a_model_from_memory_has_no_directory(runner: Runner) -> None:
    memory = case(scene(calls=read("good.bin"), model=Model(given="")))
    (verdict,) = judged(runner, target("careful_loader:Loader"), [memory])
    assert (verdict.outcomes, verdict.result) == (("refused",), "pass")


def test_limits_hold_in_python_too(runner: Runner) -> None:
    short = case(scene(calls=write("new.bin", payload=Content("p", 5000)), limits=Limits(file_size=100)))
    (verdict,) = judged(runner, target("careful_loader:Loader"), [short])
    assert (verdict.outcomes, verdict.result) == (("refused",), "pass")


def test_what_is_no_bytes_is_an_error_of_the_adapter(runner: Runner) -> None:
    seen = dict(runner.run(python(parse(target("careless_loaders:GivesText"))), [case(scene(calls=read("good.bin")))]))
    assert seen[0].error == "its read gave str, and not bytes"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (target("nowhere:Loader"), "there is no module nowhere for .* say where it is with the option path=DIR"),
        (target("careful_loader:Nothing"), "the module careful_loader has no Nothing"),
        (target("careless_loaders:nothing"), "builtins.object has neither a method read nor a method write"),
        (target("careless_loaders:unsure"), "names 'callback'; the features are callbacks, fallback, trusted, threads"),
    ],
)
def test_what_cannot_be_opened_is_told(text: str, words: str, runner: Runner) -> None:
    with pytest.raises(TargetError, match=words):
        runner.conditions(python(parse(text)))


def test_a_directory_that_the_target_may_not_read_is_told(runner: Runner, tmp_path: Path) -> None:
    tmp_path.chmod(0o700 if os.getuid() == 0 else 0)
    with pytest.raises(TargetError, match=f"as whom the target runs, may not read {tmp_path}: let others read it"):
        runner.conditions(python(parse(f"python:careful_loader:Loader?path={tmp_path}")))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("python:", "write python:MODULE:OBJECT"),
        ("python:my-module", "write python:MODULE:OBJECT"),
        ("python:careful_loader:Loader?path=/nowhere/at/all", "there is no directory /nowhere/at/all"),
        ("python:careful_loader:Loader?pyton=x", "did you mean 'python'"),
        ("python:careful_loader:Loader?chunking=odd", "ordered, not 'odd'"),
    ],
)
def test_mistakes_are_told(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        python(parse(text))


def test_an_interpreter_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="does not run"):
        python(parse(target("careful_loader:Loader", f"&python={tmp_path}")))


def test_the_good_adapter_has_the_published_types() -> None:
    made: Adapter = Loader()
    assert {*FEATURES} < EVERYTHING
    with pytest.raises(Refused, match="leads out") as refused:
        made.read(ReadCall("../f", "/model/model.onnx", "/model", trusted=False))
    assert refused.value.code == 2


def test_an_adapter_is_met_in_the_interpreter_that_is_named(runner: Runner) -> None:
    text = target("careful_loader:Loader", f"&python={sys.executable}")
    assert judged(runner, text, [case(scene(calls=read("good.bin")))])[0].result == "pass"
