"""What is expected where a provider advertises less or more than it uses."""

from __future__ import annotations

import pytest

from epctx.attack import Support, load, node, read, scene, write
from epctx.case import Attribute, Call, Callback, Case, Content, Expect, Model, Name
from epctx.spec.predict import predict

ANSWER, TAKE = Callback(Content("answer")), Callback()
MODEL = Model()
EMBEDDED = node("data", Attribute("embed_mode", number=1))


def expected(call: Call, model: Model = MODEL, *, negotiates: bool = True) -> Expect:
    drafted = scene(calls=call, model=model)
    case = Case("test/one", "A case.", "hostile", (), drafted.world, drafted.calls, drafted.model)
    return predict(case, negotiates=negotiates)[0]


def told(expect: Expect) -> tuple[str, str, int | None]:
    return expect.outcome, expect.rule, expect.status


@pytest.mark.parametrize(
    ("support", "reading", "writing"),
    [
        ("both", ("accept", "cb.no-file-access", None), ("accept", "cb.no-file-access", None)),
        ("read", ("accept", "cb.no-file-access", None), ("refuse", "support.refused", None)),
        ("write", ("refuse", "support.refused", None), ("accept", "cb.no-file-access", None)),
        ("none", ("refuse", "support.refused", None), ("refuse", "support.refused", None)),
        ("old", ("refuse", "support.refused", None), ("refuse", "support.refused", None)),
        ("unknown", ("refuse", "support.unknown-flags", None), ("refuse", "support.unknown-flags", None)),
        ("error", ("refuse", "support.query-error", 9), ("refuse", "support.query-error", 9)),
    ],
)
def test_a_callback_depends_on_what_is_advertised(
    support: Support, reading: tuple[str, str, int | None], writing: tuple[str, str, int | None]
) -> None:
    assert told(expected(read("good.bin", callback=ANSWER, support=support))) == reading
    assert told(expected(write("good.bin", callback=TAKE, support=support))) == writing


@pytest.mark.parametrize("support", ["none", "read", "write", "unknown", "error", "old"])
def test_what_is_not_asked_is_not_needed(support: Support) -> None:
    for call, model in (
        (read("good.bin", support=support), Model()),
        (write("new.bin", support=support), Model()),
        (Call("write", "new.bin", read_callback=ANSWER, support=support), Model()),
        (load(callback=ANSWER, support=support), Model(nodes=(EMBEDDED,))),
    ):
        assert told(expected(call, model)) == ("accept", "support.not-needed", None)


def test_a_refusal_for_another_reason_stays_one() -> None:
    assert told(expected(read("../outside/secret.bin", support="none"))) == ("refuse", "contain.parent", 2)
    assert told(expected(read("missing.bin", support="none"))) == ("refuse", "type.read-missing", 1)


def test_one_context_outside_of_the_model_is_enough() -> None:
    model = Model(nodes=(EMBEDDED, node("good.bin")))
    assert expected(load(callback=ANSWER, support="none"), model).rule == "support.refused"


@pytest.mark.parametrize(
    ("support", "content", "file"),
    [
        ("none", None, "model/good.bin"),
        ("old", None, "model/good.bin"),
        ("write", None, "model/good.bin"),
        ("read", Content("answer"), None),
        ("unknown", Content("answer"), None),
        ("error", Content("answer"), None),
    ],
)
def test_a_runtime_that_does_not_ask_leaves_it_to_the_provider(
    support: Support, content: Content | None, file: Name | None
) -> None:
    expect = expected(read("good.bin", callback=ANSWER, support=support), negotiates=False)
    assert (expect.outcome, expect.file) == ("accept", file)
    assert expect.content == (content or Content("model/good.bin"))


def test_plaintext_is_at_stake_only_where_the_callback_is_used() -> None:
    assert read("a", callback=ANSWER, support="read").secrets == (Content("answer"),)
    assert read("a", callback=ANSWER, support="none").secrets == ()
    assert write("a", callback=TAKE, support="old").secrets == ()
    assert write("a", callback=TAKE, support="unknown").secrets == (Content("payload"),)
