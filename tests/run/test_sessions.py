"""Cases in real sessions of onnxruntime, with the bundled execution provider or a weak one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from epctx.attack import OPS, Draft, Op, Support, load, node, read, scene, threads, write
from epctx.case import Attribute, Call, Callback, Case, Content, File, Link, Model, Node, Share
from epctx.errors import UsageError
from epctx.observation import Observation
from epctx.oracle import Profile, Verdict, judge, profile
from epctx.run.runner import Runner
from epctx.spec import predict
from epctx.target import parse
from epctx.target.native import ep, onnxruntime_library

pytestmark = pytest.mark.skipif(onnxruntime_library() is None, reason="onnxruntime is not installed")

ANSWER, TAKE, ASKED = Callback(Content("answer")), Callback(), Callback()


def case(draft: Draft) -> Case:
    made = Case("test/one", "A case.", "hostile", (), draft.world, draft.calls, draft.model, draft.limits)
    return replace(made, expect=predict(made))


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(jobs=1) as made:
        yield made


@pytest.fixture(scope="module")
def found(runner: Runner) -> Profile:
    """The profile of the onnxruntime that is installed."""
    return profile("hardened", ort=runner.conditions(ep(parse("ep:bundled"))).ort)


def observed(runner: Runner, draft: Draft, target: str = "ep:bundled") -> Observation:
    ((_, observation),) = runner.run(ep(parse(target)), [case(draft)])
    assert not observation.error
    return observation


def judged(runner: Runner, found: Profile, draft: Draft, target: str = "ep:bundled") -> Verdict:
    return judge(case(draft), observed(runner, draft, target), found)


def broken(verdict: Verdict) -> set[str]:
    return {finding.rule for finding in verdict.findings if finding.fails}


def crowd(op: Op, script: Callback = ASKED) -> Draft:
    """Three names that four threads use at once, 40 times in all."""
    shares = [Share(op, f"{n}.bin", Content(f"{n}", 96 + n)) for n in range(3)]
    return scene(calls=threads(*shares, count=4, rounds=10, configs="each", callbacks={op: script}))


@pytest.mark.parametrize("op", OPS)
def test_sessions_are_opened_and_closed_at_once(op: Op, runner: Runner, found: Profile) -> None:
    (seen,) = observed(runner, crowd(op)).calls
    assert seen.threads is not None
    assert (seen.threads.calls, seen.threads.right) == (40, 40)
    assert not broken(judged(runner, found, crowd(op, Callback(waits=2))))


def test_names_that_sessions_share_are_found(runner: Runner, found: Profile) -> None:
    assert "thread.no-cross-talk" in broken(judged(runner, found, crowd("read"), "ep:bundled?weak=shares-name"))


def test_a_session_is_made_within_a_callback_of_another(runner: Runner, found: Profile) -> None:
    again = crowd("read", Callback(reenters="1.bin"))
    (seen,) = observed(runner, again).calls
    assert seen.threads is not None
    assert seen.threads.calls == seen.threads.right == 80
    assert "thread.reentrant" in broken(judged(runner, found, again, "ep:bundled?weak=lock-not-reentrant"))


def test_a_file_is_what_a_run_gives_back(runner: Runner) -> None:
    (seen,) = observed(runner, scene(calls=read("sub/inner.bin"))).calls
    assert (seen.code, seen.unmeasured, seen.reads) == (0, True, ("model/sub/inner.bin",))
    assert {touched.names for touched in seen.touched} == {("model/sub/inner.bin",)}


@pytest.mark.parametrize("size", [0, 1, 40_000])
def test_what_is_compiled_is_what_is_loaded(runner: Runner, found: Profile, size: int) -> None:
    draft = scene(calls=(write("new.bin", payload=Content("x", size)), read("new.bin")))
    seen = observed(runner, draft).calls
    assert [one.code for one in seen] == [0, 0]
    assert seen[1].output is not None
    assert seen[1].output.size == size
    assert judge(case(draft), observed(runner, draft), found).result == "pass"


@pytest.mark.parametrize("name", ["../outside/secret.bin", "{root}/outside/secret.bin", "link", "none.bin", "sub", "a\0b"])
def test_a_refusal_of_the_helper_is_one_of_the_session(runner: Runner, found: Profile, name: str) -> None:
    draft = scene(Link("model/link", "../outside/secret.bin"), calls=read(name))
    assert judged(runner, found, draft).outcomes == ("refused",)
    assert broken(judged(runner, found, draft)) == set()


@pytest.mark.parametrize("given", ["", "{root}/model/model.onnx", "model/model.onnx", "model/sub/../model.onnx"])
def test_callbacks_get_the_name_and_give_the_data(runner: Runner, given: str) -> None:
    draft = scene(calls=(read("../a b/ü", callback=ANSWER), write("../a b/ü", callback=TAKE)), model=Model(given=given))
    reading, writing = observed(runner, draft).calls
    assert (reading.code, writing.code) == (0, 0)
    assert [c.name for c in (*reading.callbacks, *writing.callbacks)] == ["../a b/ü".encode().hex()] * 2
    assert reading.output is not None
    assert reading.output.size == 96
    assert reading.touched == writing.touched == ()


@pytest.mark.parametrize("given", ["", "{root}/model/model.onnx"])
@pytest.mark.parametrize("kept", ["in the model", "by callbacks", "in a file"])
def test_a_compiled_model_gives_what_its_source_gave(runner: Runner, found: Profile, given: str, kept: str) -> None:
    payload = Content("kernel", 4097)
    call = write("data.bin", payload=payload, embeds=kept == "in the model", runs=True)
    if kept == "by callbacks":
        call = replace(call, write_callback=TAKE, read_callback=Callback(payload))
    draft = scene(calls=call, model=Model(given=given))
    (seen,) = observed(runner, draft).calls
    assert judged(runner, found, draft).result == "pass"
    if kept == "in a file":  # which a model from memory has no directory for
        assert (seen.code, [change.path for change in seen.changes]) == ((0, ["model/data.bin"]) if given else (2, []))
    else:
        assert (seen.code, seen.changes) == (0, ())
        assert [c.direction for c in seen.callbacks] == (["write", "read"] if kept == "by callbacks" else [])


def test_other_data_than_was_compiled_is_noticed(runner: Runner, found: Profile) -> None:
    draft = scene(calls=write("data.bin", embeds=True, runs=True))
    verdict = judged(runner, found, draft, "ep:bundled?weak=ep-saves-other-data")
    assert broken(verdict) == {"cb.embed-bypasses"}
    assert "does not give what its source gives" in verdict.findings[0].happened


def test_a_name_is_read_once_in_a_session(runner: Runner) -> None:
    embedded = node("data", Attribute("embed_mode", number=1))
    nodes = (node("a"), node("b"), node("a"), embedded, node("b"))
    (seen,) = observed(runner, scene(calls=load(callback=ANSWER), model=Model(nodes=nodes))).calls
    assert sorted(bytes.fromhex(c.name) for c in seen.callbacks) == [b"a", b"b"]


@pytest.mark.parametrize("code", [1, 2, 9, 11])
def test_the_status_of_a_callback_is_that_of_the_session(runner: Runner, code: int) -> None:
    callback = Callback(code=code, text="not today")
    for call in (read("a", callback=callback), write("a", callback=callback)):
        (seen,) = observed(runner, scene(calls=call)).calls
        assert (seen.code, "not today" in seen.message) == (code, True)


@pytest.mark.parametrize(
    ("draft", "words"),
    [
        (scene(calls=read("good.bin", source="caller")), "nobody is trusted"),
        (scene(calls=read(None)), "no name that is NULL"),
        (scene(calls=read("good.bin", held=True)), "outputs for itself"),
        (scene(calls=read("good.bin"), model=Model(given="{root}/model/")), "no model lies at the path"),
        (scene(File("model/x"), calls=load(), model=Model(nodes=(Node((), domain="com.example"),))), "nobody implements"),
    ],
)
def test_what_makes_no_sense_in_a_session_is_skipped(runner: Runner, draft: Draft, words: str) -> None:
    skipped = observed(runner, draft).skipped
    assert words in skipped


@pytest.mark.parametrize("support", ["none", "old", "write"])
def test_what_is_not_advertised_is_refused_or_works_by_file(runner: Runner, found: Profile, support: Support) -> None:
    draft = scene(calls=read("good.bin", callback=ANSWER, support=support))
    (seen,) = observed(runner, draft).calls
    assert judged(runner, found, draft).result == "pass"
    if found.negotiates:
        assert (seen.code != 0, seen.touched, seen.callbacks) == (True, (), ())
    else:
        assert (seen.code, seen.reads, seen.callbacks) == (0, ("model/good.bin",), ())


def test_a_weak_helper_is_caught_in_a_session(runner: Runner, found: Profile) -> None:
    draft = scene(calls=read("../outside/secret.bin"))
    assert broken(judged(runner, found, draft, "ep:bundled?weak=none")) == {"contain.parent", "safe.no-outside-read"}


@pytest.mark.parametrize(
    ("weak", "call", "rule"),
    [
        ("ep-ignores-callbacks", read("good.bin", callback=ANSWER), "cb.no-file-access"),
        ("ep-advertises-both", read("good.bin", callback=ANSWER, support="none"), "support.refused"),
        ("ep-hides-unknown-flags", read("good.bin", callback=ANSWER, support="unknown"), "support.unknown-flags"),
        ("ep-hides-query-error", read("good.bin", callback=ANSWER, support="error"), "support.query-error"),
        ("ep-demands-support", read("good.bin", support="none"), "support.not-needed"),
        ("ep-reads-in-capability", read("good.bin", callback=ANSWER, support="none"), "support.refused"),
        ("ep-writes-embedded", write("data.bin", embeds=True), "cb.embed-bypasses"),
        ("ep-saves-other-data", write("data.bin"), "size.exact"),
        ("ep-reads-when-asked", read("good.bin", callback=ANSWER, support="none"), "support.refused"),
    ],
)
def test_a_weak_provider_is_caught(runner: Runner, found: Profile, weak: str, call: Call, rule: str) -> None:
    if rule.startswith("support.") and not found.negotiates:
        pytest.skip("this onnxruntime negotiates nothing")
    assert rule in broken(judged(runner, found, scene(calls=call), f"ep:bundled?weak={weak}"))


@pytest.mark.parametrize("target", ["ep", "ep:other", "ep:bundled?weak=no-such", "ep:bundled?namespace=x"])
def test_a_provider_that_is_none_is_told(target: str) -> None:
    with pytest.raises(UsageError):
        ep(parse(target))
