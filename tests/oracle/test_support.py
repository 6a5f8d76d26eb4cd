"""The rules on what is negotiated, on observations made by hand."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from epctx.attack import Support, read, scene
from epctx.case import Callback, Case, Content, content_of
from epctx.observation import CallbackSeen, Observation, Output, Seen, Touched, content_digest, digest
from epctx.oracle import Verdict, judge, profile
from epctx.spec import predict

NEGOTIATES, DOES_NOT = profile("ort-1.31", ort="1.31.1"), profile("ort-1.28", ort="1.28.0")
OPENED = Touched("open", ("model/good.bin",), "inside")
ASKED = CallbackSeen("read", b"good.bin".hex(), 96)
ANSWER = Content("answer")


def case(support: Support, *, callback: bool = True) -> Case:
    draft = scene(calls=read("good.bin", callback=Callback(ANSWER) if callback else None, support=support))
    made = Case("test/one", "A case.", "hostile", (), draft.world, draft.calls)
    return replace(made, expect=predict(made))


def refused(code: int = 1, **more: Touched) -> Seen:
    return Seen(
        "returned", code=code, message="no", output=Output(0, digest(b""), null=True), unmeasured=True, touched=(*more.values(),)
    )


def accepted(content: Content, *touched: Touched, reads: tuple[str, ...] = (), callbacks: tuple[CallbackSeen, ...] = ()) -> Seen:
    out = Output(content.size, content_digest(content))
    return Seen("returned", output=out, unmeasured=True, touched=touched, reads=reads, callbacks=callbacks)


GOOD = next(content_of(e) for e in case("none").world.entries if e.path == "model/good.bin")  # type: ignore[arg-type]
BY_FILE = accepted(GOOD, OPENED, reads=("model/good.bin",))


def verdict(tested: Case, seen: Seen, held: bool = True) -> Verdict:
    return judge(tested, Observation(tested.id, "test", calls=(seen,)), NEGOTIATES if held else DOES_NOT)


def broken(tested: Case, seen: Seen, held: bool = True) -> set[str]:
    return {f.rule for f in verdict(tested, seen, held).findings if f.fails}


@pytest.mark.parametrize(
    ("support", "rule"), [("none", "support.refused"), ("old", "support.refused"), ("unknown", "support.unknown-flags")]
)
def test_a_refusal_comes_before_a_file_is_touched(support: Support, rule: str) -> None:
    assert broken(case(support), refused()) == set()
    assert broken(case(support), refused(touched=OPENED)) - {"cb.no-file-access"} == {rule}
    assert rule in broken(case(support), BY_FILE)


def test_the_error_of_the_query_is_passed_on() -> None:
    assert broken(case("error"), refused(9)) == set()
    assert broken(case("error"), refused(1)) == {"status.code"}
    assert "support.query-error" in broken(case("error"), accepted(ANSWER, callbacks=(ASKED,)))


def test_without_a_callback_no_support_is_needed() -> None:
    assert broken(case("none", callback=False), BY_FILE) == set()
    assert broken(case("none", callback=False), refused()) == {"support.not-needed"}


def test_where_nothing_is_negotiated_the_file_is_right() -> None:
    assert broken(case("none"), BY_FILE, held=False) == set()
    assert "contain.accept-inside" in broken(case("none"), refused(), held=False)


def test_what_is_advertised_is_used() -> None:
    assert broken(case("read"), accepted(ANSWER, callbacks=(ASKED,))) == set()
    assert "cb.no-file-access" in broken(case("read"), BY_FILE)
