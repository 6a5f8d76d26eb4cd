"""Loaders that were not written against the design document: what they are judged by, and which profile goes with them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from epctx.case import Call, Case, Content, File, HardLink, Link, Model, World, content_of
from epctx.observation import Change, Memory, Observation, Output, Seen, State, Touched, content_digest, digest
from epctx.oracle import PROFILES, RULES, Profile, Verdict, judge, profile
from epctx.oracle.profile import in_scope
from epctx.spec import predict

GOOD, SECRET = File("model/good.bin"), File("outside/secret.bin")
EFFECTS = PROFILES["effects"]


def case(call: Call, *entries: Any, intent: Any = "hostile", model: Model | None = None) -> Case:
    made = Case("test/one", "A case.", intent, (), World((GOOD, SECRET, *entries)), (call,), model or Model())
    return replace(made, expect=predict(made))


def judged(tested: Case, seen: Seen, by: Profile = EFFECTS) -> Verdict:
    return judge(tested, Observation(tested.id, "test", calls=(seen,)), by)


def refused(**more: Any) -> Seen:
    return Seen("returned", code=1, message=more.pop("message", "no"), output=Output(0, digest(b"")), **more)


def read(file: File, **more: Any) -> Seen:
    content = content_of(file)
    return Seen("returned", output=Output(content.size, content_digest(content)), reads=(str(file.path),), **more)


def failed(verdict: Verdict) -> set[str]:
    return {f.rule for f in verdict.findings if f.fails}


OPENED = (Touched("open", ("outside/secret.bin",), "outside"),)


def test_codes_texts_outputs_and_memory_do_not_count() -> None:
    odd = refused(memory=Memory(live=7, statuses=1))
    odd = replace(odd, message="", output=Output(5, digest(b"stale")))
    tested = case(Call("read", "../outside/secret.bin"))
    assert failed(judged(tested, odd, PROFILES["spec"])) == {
        *("status.code", "safe.error-has-text", "out.empty-on-error", "own.no-leak")
    }
    assert judged(tested, odd).result == "pass"


def test_bytes_from_outside_and_files_opened_there_count() -> None:
    tested = case(Call("read", "../outside/secret.bin"))
    assert failed(judged(tested, read(SECRET, touched=OPENED))) == {"contain.parent", "safe.no-outside-read"}
    assert failed(judged(tested, refused(touched=OPENED))) == {"safe.no-outside-read"}


def test_what_is_written_outside_counts() -> None:
    tested = case(Call("write", "../outside/new.bin"))
    made = Change("outside/new.bin", "outside", State(), State("file", 1, 0o644, 64, "x"))
    assert failed(judged(tested, Seen("returned", changes=(made,)))) == {"contain.parent", "safe.no-outside-write"}


@pytest.mark.parametrize("ended", ["hang", "crash"])
def test_hangs_and_crashes_count_also_in_what_is_benign(ended: Any) -> None:
    verdict = judged(case(Call("read", "./good.bin"), intent="benign"), Seen(ended))
    assert f"safe.no-{ended}" in failed(verdict)
    assert not any(f.over_strict for f in verdict.findings)


def test_the_wrong_bytes_count_in_what_is_benign() -> None:
    other = File("model/other.bin")
    assert failed(judged(case(Call("read", "./good.bin"), other, intent="benign"), read(other))) == {"contain.accept-inside"}


@pytest.mark.parametrize(
    ("call", "entries", "rule"),
    [
        (Call("read", "sub/../good.bin"), (File("model/sub/x"),), "contain.accept-inside"),
        (Call("read", "link"), (Link("model/link", "good.bin"),), "contain.accept-inner-link"),
        (Call("read", "~"), (File("model/~"),), "name.no-expansion"),
    ],
)
def test_to_refuse_what_is_accepted_is_over_strict_and_no_failure(call: Call, entries: tuple[Any, ...], rule: str) -> None:
    tested = case(call, *entries, intent="benign")
    assert rule in failed(judged(tested, refused(), PROFILES["spec"]))
    verdict = judged(tested, refused())
    assert verdict.result == "note"
    assert [(f.rule, f.over_strict, f.fails) for f in verdict.findings] == [(rule, True, False)]


CACHE = (File("blobs/data.bin"), Link("model/data.bin", "../blobs/data.bin"))
LINKED = Model(path="blobs/model.onnx", given="{root}/model/model.onnx")


def test_parents_taken_by_the_text_are_a_note_inside_and_no_excuse_outside() -> None:
    inner, twin = File("model/a/b/x"), File("model/f.bin")
    tested = case(Call("read", "link/../f.bin"), inner, twin, File("model/a/f.bin"), Link("model/link", "a/b"), intent="benign")
    assert tested.expect[0].file == "model/a/f.bin"
    verdict = judged(tested, read(twin))
    assert verdict.result == "note"
    assert [f.happened for f in verdict.findings] == [
        "it was accepted with 96 bytes, the content of model/f.bin: the name was taken by its text, "
        "which stays in the model directory"
    ]
    assert judged(tested, read(File("model/a/f.bin"))).result == "pass"
    assert failed(judged(tested, read(inner)))
    assert failed(judged(tested, read(twin, touched=OPENED)))
    assert failed(judged(tested, read(twin), PROFILES["spec"])) == {"contain.accept-inner-link"}


@pytest.mark.parametrize("stance", ["accept", "report"])
def test_a_cache_that_is_not_served_is_over_strict(stance: str) -> None:
    by = profile("effects", (f"contain.model-link-cache={stance}",))
    tested = case(
        Call("read", "data.bin"), *CACHE, Link("model/model.onnx", "../blobs/model.onnx"), intent="benign", model=LINKED
    )
    assert tested.expect[0].rule == "contain.model-link-cache"
    assert [(f.over_strict, f.fails) for f in judged(tested, refused(), by).findings] == [(True, False)]
    assert not any(f.over_strict for f in judged(tested, read(CACHE[0]), by).findings)


def test_a_hostile_file_that_may_be_refused_is_not_over_strict() -> None:
    tested = case(Call("read", "hard.bin"), HardLink("model/hard.bin", "outside/secret.bin"))
    assert not any(f.over_strict for f in judged(tested, refused()).findings)


def test_a_departure_is_a_note() -> None:
    payload = Content("payload", 32)
    tested = case(Call("write", "good.bin", payload=payload), intent="benign")
    assert tested.expect[0].rule == "type.write-replaces"
    before, after = (State("file", 1, 0o644, size, str(size)) for size in (96, 128))
    appended = Seen("returned", changes=(Change("model/good.bin", "inside", before, after),))
    assert "type.write-replaces" in failed(judged(tested, appended))
    verdict = judged(tested, appended, PROFILES["external-onnx"])
    assert verdict.result == "note"
    assert {f.rule for f in verdict.findings} == {"type.write-replaces"}
    new = Change("model/good.bin", "inside", State(), before)
    assert failed(judged(case(Call("write", "new.bin")), replace(appended, changes=(new,)), PROFILES["external-onnx"]))


@pytest.mark.parametrize(
    ("loader", "met", "name"),
    [
        ("onnx", "onnx 1.20.1", "external-onnx"),
        ("onnx", "onnx 1.21.0", "external-onnx-1.21"),
        ("onnx", "onnx 1.100.0", "external-onnx-1.21"),
        ("ort", "onnxruntime 1.24.1", "external-ort"),
        ("ort", "onnxruntime 1.24.2", "external-ort-1.24.2"),
        ("other", "other 2.0", "effects"),
        ("other", "", "effects"),
    ],
)
def test_the_profile_of_a_loader_is_that_of_its_release(loader: str, met: str, name: str) -> None:
    assert profile(loader=loader, met=met).name == name


def test_a_loader_is_judged_by_its_effects_whatever_the_profile() -> None:
    assert profile("spec", loader="onnx", met="onnx 1.20.1").scope == "effects"
    assert profile("spec").scope == "contract"


def test_hardened_includes_what_a_loader_publishes() -> None:
    chosen = profile("hardened", loader="onnx", met="onnx 1.21.0")
    assert chosen.tiers == ("spec", "hardened")
    assert chosen.stance("contain.hard-link") == "refuse"


def test_profiles_of_loaders_name_rules_that_are_there_and_say_where_they_are_from() -> None:
    for known in PROFILES.values():
        assert set(known.departures) <= RULES.keys()
        if known.loader:
            assert known.scope == "effects"
            assert all(source.startswith("https://") for source in known.sources)
            assert known.sources


def test_every_rule_on_safety_and_containment_is_one_on_effects() -> None:
    own = {rule for rule in RULES if in_scope(rule, "effects")}
    assert {r for r in RULES if r.startswith(("safe.", "contain.", "type.", "size.", "write."))} - own == {"safe.error-has-text"}
    assert not {r for r in own if r.startswith(("cb.", "own.", "status.", "config.", "thread."))}
