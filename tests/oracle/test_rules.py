"""Each rule on observations made by hand: what breaks it, and the nearest thing that does not."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from epctx.attack import threads
from epctx.case import (
    Call,
    Callback,
    Case,
    Content,
    Fifo,
    File,
    HardLink,
    Limits,
    Link,
    Mount,
    Race,
    Resize,
    Share,
    Threads,
    World,
    content_of,
)
from epctx.observation import (
    CallbackSeen,
    Change,
    Memory,
    Observation,
    Output,
    RaceSeen,
    Report,
    Seen,
    State,
    ThreadsSeen,
    Touched,
    content_digest,
    digest,
)
from epctx.oracle import RULES, Look, Verdict, applicable, judge, profile
from epctx.spec import predict

GOOD, SECRET = File("model/good.bin"), File("outside/secret.bin")
WORLD = World((GOOD, SECRET))
NO_LIMITS, PAYLOAD_WRITTEN = Limits(), Content("payload")
ALL = profile("hardened", ("contain.hard-link=accept", "contain.model-link-cache=refuse"))


def case(call: Call, *entries: Any, limits: Limits = NO_LIMITS) -> Case:
    made = Case("test/one", "A case.", "hostile", (), World((*WORLD.entries, *entries)), (call,), limits=limits)
    return replace(made, expect=predict(made))


def output(content: Content) -> Output:
    return Output(content.size, content_digest(content))


NONE = Output(0, digest(b""), null=True)


def refused(code: int = 2, text: str = "no", **more: Any) -> Seen:
    return Seen("returned", code=code, message=text, output=more.pop("output", NONE), **more)


def broken(tested: Case, seen: Seen, judged: Any = ALL) -> set[str]:
    verdict = judge(tested, Observation(tested.id, "test", calls=(seen,)), judged)
    return {f.rule for f in verdict.findings if f.fails}


def look(tested: Case, seen: Seen) -> Look:
    return Look(tested, 0, tested.expect[0], seen, ALL, b"/root")


def read_good(**more: Any) -> Seen:
    return Seen("returned", output=output(content_of(GOOD)), reads=("model/good.bin",), **more)


GOOD_READ, ESCAPE = case(Call("read", "good.bin")), case(Call("read", "../outside/secret.bin"))


def test_a_good_read_breaks_nothing() -> None:
    opened = Touched("open", ("model/good.bin",), "inside")
    assert broken(GOOD_READ, read_good(touched=(opened,))) == set()


def test_a_refused_escape_breaks_nothing() -> None:
    assert broken(ESCAPE, refused()) == set()


@pytest.mark.parametrize(
    ("seen", "rules"),
    [
        pytest.param(
            Seen("returned", output=output(content_of(SECRET)), reads=("outside/secret.bin",), leaks=("outside/secret.bin",)),
            {"contain.parent", "safe.no-outside-read"},
            id="content of a canary",
        ),
        pytest.param(
            refused(touched=(Touched("open", ("outside/secret.bin",), "outside"),)),
            {"safe.no-outside-read"},
            id="opened, then refused",
        ),
        pytest.param(
            refused(text="read: epctx", leaks=("outside/secret.bin",)), {"safe.no-outside-read"}, id="bytes in the text"
        ),
        pytest.param(refused(code=1), {"status.code"}, id="another code"),
        pytest.param(refused(text=""), {"safe.error-has-text"}, id="no text"),
        pytest.param(refused(output=Output(5, digest(b"stale"))), {"out.empty-on-error"}, id="stale output"),
        pytest.param(refused(output=Output(0, digest(b""), null=False)), {"out.empty-on-error"}, id="pointer left behind"),
        pytest.param(refused(memory=Memory(allocated=1, live=96)), {"own.no-leak"}, id="memory kept"),
        pytest.param(refused(memory=Memory(allocated=1, freed=1, bad_frees=1)), {"own.no-leak"}, id="freed twice"),
        pytest.param(refused(memory=Memory(statuses=2, statuses_released=1)), {"own.no-leak"}, id="status kept"),
        pytest.param(Seen("hang"), {"safe.no-hang", "contain.parent"}, id="hang"),
        pytest.param(Seen("crash", detail="SIGSEGV"), {"safe.no-crash", "contain.parent"}, id="crash"),
        pytest.param(Seen("exception", detail="boo"), {"safe.no-crash", "contain.parent"}, id="exception"),
    ],
)
def test_an_escaping_read(seen: Seen, rules: set[str]) -> None:
    assert broken(ESCAPE, seen) == rules


@pytest.mark.parametrize(
    ("opened", "rules"),
    [(("model/node",), set()), (("outside/secret.bin",), {"safe.no-outside-read"})],
)
def test_a_hard_link_keeps_its_bytes_when_its_other_name_is_replaced(opened: tuple[str, ...], rules: set[str]) -> None:
    calls = (Call("write", "outside/secret.bin", "caller"), Call("read", "node"))
    world = World((SECRET, HardLink("model/node", "outside/secret.bin")))
    tested = Case("test/two", "A case.", "hostile", (), world, calls)
    place: Any = "inside" if opened[0].startswith("model/") else "outside"
    written = Seen("returned", changes=(made("outside/secret.bin", "outside"),))
    read = Seen(
        "returned",
        output=output(content_of(SECRET)),
        leaks=("outside/secret.bin",),
        touched=(Touched("open", opened, place),),
    )
    verdict = judge(tested, Observation(tested.id, "test", calls=(written, read)), ALL)
    assert {f.rule for f in verdict.findings if f.fails and f.call == 1} == rules


def made(path: str, place: Any, content: Content = PAYLOAD_WRITTEN) -> Change:
    return Change(path, place, State(), State("file", 7, 0o644, content.size, content_digest(content)))


def test_a_write_that_escapes_breaks_containment_and_safety() -> None:
    escape = case(Call("write", "../outside/new.bin"))
    seen = Seen("returned", changes=(made("outside/new.bin", "outside"),))
    assert broken(escape, seen) == {"contain.parent", "safe.no-outside-write"}


def test_a_file_made_on_the_way_to_a_refusal_is_a_write() -> None:
    escape = case(Call("write", "../outside/new.bin"))
    seen = refused(output=None, changes=(made("outside/new.bin", "outside"),))
    assert broken(escape, seen) == {"contain.parent", "safe.no-outside-write"}


def test_a_write_above_the_world_is_outside() -> None:
    written = case(Call("write", "new.bin"))
    seen = Seen("returned", changes=(made("model/new.bin", "inside"), made("../x", "above")))
    assert "safe.no-outside-write" in broken(written, seen)


def test_a_good_write_breaks_nothing() -> None:
    assert broken(case(Call("write", "new.bin")), Seen("returned", changes=(made("model/new.bin", "inside"),))) == set()


def test_a_write_that_goes_nowhere_was_not_accepted() -> None:
    assert broken(case(Call("write", "new.bin")), Seen("returned")) == {"contain.accept-inside"}


TWO_WAYS = case(Call("write", "none/../sub/deep/../f"), Link("model/sub/deep", "."))
"""By its text this is sub/f, and step by step f."""


@pytest.mark.parametrize(
    ("paths", "rules"),
    [
        (("model/sub/f",), set()),
        (("model/f",), set()),
        (("model/f", "model/sub/f"), {"contain.accept-inside"}),
        (("model/sub/other",), {"contain.accept-inside"}),
        ((), {"contain.accept-inside"}),
    ],
)
def test_a_write_to_one_of_two_files_that_a_name_may_mean(paths: tuple[str, ...], rules: set[str]) -> None:
    seen = Seen("returned", changes=tuple(made(path, "inside", PAYLOAD_WRITTEN) for path in paths))
    assert broken(TWO_WAYS, seen) == rules


def test_the_same_bytes_written_again_change_nothing() -> None:
    twice = replace(TWO_WAYS, calls=TWO_WAYS.calls * 2, expect=())
    first = Seen("returned", changes=(made("model/sub/f", "inside", PAYLOAD_WRITTEN),))
    verdict = judge(twice, Observation(twice.id, "test", calls=(first, Seen("returned"))), ALL)
    assert [f.rule for f in verdict.findings if f.fails] == []


def test_a_write_of_other_bytes_is_not_exact() -> None:
    seen = Seen("returned", changes=(made("model/new.bin", "inside", Content("payload", 95)),))
    assert broken(case(Call("write", "new.bin")), seen) == {"size.exact"}


def test_a_tail_of_old_bytes_is_no_replacement() -> None:
    before = State("file", 7, 0o644, 96, content_digest(content_of(GOOD)))
    after = State("file", 7, 0o644, 200, "other")
    seen = Seen("returned", changes=(Change("model/good.bin", "inside", before, after),))
    assert broken(case(Call("write", "good.bin")), seen) == {"type.write-replaces", "size.exact"}


def test_a_failed_write_that_truncates_is_not_atomic() -> None:
    limited = case(Call("write", "good.bin"), limits=Limits(file_size=10))
    before = State("file", 7, 0o644, 96, content_digest(content_of(GOOD)))
    truncated = Change("model/good.bin", "inside", before, State("file", 7, 0o644, 0, digest(b"")))
    assert broken(limited, refused(1, output=None, changes=(truncated,))) == {"write.atomic"}
    assert broken(limited, refused(1, output=None, changes=(made("model/.tmp1", "inside"),))) == {"write.atomic"}
    assert broken(limited, refused(1, output=None)) == set()


def test_a_short_write_that_is_reported_as_done() -> None:
    limited = case(Call("write", "good.bin"), limits=Limits(file_size=10))
    assert "size.short-write-reported" in broken(limited, Seen("returned"))


def test_a_read_of_other_bytes_is_not_exact() -> None:
    seen = Seen("returned", output=Output(95, digest(b"short")))
    assert broken(GOOD_READ, seen) == {"size.exact"}


def test_the_content_of_another_file_is_no_acceptance() -> None:
    inner = File("model/inner.bin")
    tested = case(Call("read", "good.bin"), inner)
    seen = Seen("returned", output=output(content_of(inner)), reads=("model/inner.bin",))
    assert broken(tested, seen) == {"contain.accept-inside"}


def test_a_benign_name_that_is_refused() -> None:
    assert broken(GOOD_READ, refused()) == {"contain.accept-inside"}


def test_control_characters_in_a_text() -> None:
    noisy = case(Call("read", "../outside/\x1b[31m"))
    assert broken(noisy, refused(text="no \x1b[31m")) == {"name.log-safe"}
    assert broken(noisy, refused(text="no \\x1b[31m")) == set()
    assert "name.log-safe" not in broken(noisy, refused(text="no \x1b[31m"), profile("spec"))


PAYLOAD = Content("callback")
BY_CALLBACK = case(Call("read", "a/../b", read_callback=Callback(PAYLOAD)))


def by_callback(**more: Any) -> Seen:
    adopted = replace(output(PAYLOAD), adopted=more.pop("adopted", True))
    called = more.pop("callbacks", (CallbackSeen("read", b"a/../b".hex(), PAYLOAD.size),))
    return Seen("returned", output=adopted, callbacks=called, **more)


@pytest.mark.parametrize(
    ("seen", "rules"),
    [
        (by_callback(), set()),
        (by_callback(adopted=False), {"own.adopts"}),
        (by_callback(memory=Memory(allocated=1, live=96)), {"own.freed-once", "own.no-leak"}),
        (by_callback(callbacks=(CallbackSeen("read", b"b".hex()),)), {"name.opaque-to-callback"}),
        (by_callback(callbacks=()), {"name.opaque-to-callback"}),
    ],
)
def test_a_read_by_callback(seen: Seen, rules: set[str]) -> None:
    assert broken(BY_CALLBACK, seen) == rules


def test_moves() -> None:
    moved = case(Call("read", "good.bin", moves=True))
    assert broken(moved, read_good(moves=("the source still holds 96 bytes",))) == {"own.moves"}
    assert broken(moved, read_good()) == set()


def test_the_callers_allocator() -> None:
    given = case(Call("read", "good.bin", allocator="caller"))
    assert broken(given, read_good(memory=Memory(allocated=1, freed=1, caller_allocated=1))) == set()
    assert broken(given, read_good(memory=Memory(allocated=1, freed=1))) == {"own.caller-allocator"}
    released = Memory(allocated=1, freed=1, caller_allocated=1, caller_released=True)
    assert broken(given, read_good(memory=released)) == {"own.caller-allocator"}


def test_an_allocator_that_fails() -> None:
    failing = case(Call("read", "good.bin", allocator="null"))
    assert broken(failing, refused(1)) == set()
    assert broken(failing, read_good()) == {"own.alloc-fails"}


def test_a_second_copy() -> None:
    big = File("model/big.bin", Content("big", 4 << 20))
    tested = case(Call("read", "big.bin"), big)
    seen = Seen("returned", output=output(content_of(big)), reads=("model/big.bin",))
    assert broken(tested, replace(seen, memory=Memory(1, 1, peak=4 << 20, resident_peak=4 << 20))) == set()
    assert broken(tested, replace(seen, memory=Memory(1, 1, peak=4 << 20, resident_peak=8 << 20))) == {"mem.single-copy"}
    assert broken(tested, replace(seen, memory=Memory(2, 2, peak=8 << 20))) == {"mem.single-copy"}


def test_a_huge_file() -> None:
    tested = case(Call("read", "huge.bin"), File("model/huge.bin", Content("huge", 1 << 40, sparse=True)))
    assert broken(tested, refused(2)) == set()
    assert broken(tested, refused(1, memory=Memory(largest=1 << 40))) == {"size.cap"}


def test_a_file_that_shrinks_while_it_is_read() -> None:
    file = File("model/f.bin", Content("f", 4096))
    tested = case(Call("read", "f.bin", resize=Resize("model/f.bin", 100)), file)
    whole, cut = output(content_of(file)), output(Content("f", 100))
    assert broken(tested, Seen("returned", output=whole)) == set()
    assert broken(tested, Seen("returned", output=cut)) == set()
    assert broken(tested, refused(1)) == set()
    assert broken(tested, Seen("returned", output=Output(4096, digest(b"heap")))) == {"size.file-changes"}


def test_a_file_that_shrinks_while_another_one_is_read() -> None:
    tested = case(Call("read", "good.bin", resize=Resize("model/f.bin", 100)), File("model/f.bin", Content("f", 4096)))
    assert broken(tested, Seen("returned", output=output(content_of(GOOD)))) == set()
    assert broken(tested, Seen("returned", output=Output(96, digest(b"heap")))) == {"size.file-changes"}


def test_a_race() -> None:
    race = Race("model/a", "model/b", 100)
    tested = case(Call("read", "a", race=race), File("model/a"), Link("model/b", "../outside/secret.bin"))
    won = Seen("returned", output=NONE, race=RaceSeen(100, 60, 40, 0, 0))
    assert broken(tested, won) == set()
    assert broken(tested, replace(won, race=RaceSeen(100, 59, 40, 1, 0))) == {"contain.race"}
    assert broken(tested, replace(won, race=RaceSeen(100, 59, 40, 0, 1))) == {"contain.race"}


def test_where_a_race_or_a_mount_leads_out_no_rule_of_tier_spec_breaks() -> None:
    """The document calls its checks advisory there, so that only a hardened loader is held to more."""
    race = case(Call("read", "a", race=Race("model/a", "model/b", 100)), File("model/a"), Fifo("model/b"))
    mount = case(Call("read", "m/secret.bin"), Mount("model/m", of="outside"))
    names = ("model/m/secret.bin", "outside/secret.bin")
    read = Seen("returned", output=output(content_of(SECRET)), reads=names, touched=(Touched("open", names, "outside"),))
    for tested, seen, rule in ((race, Seen("hang"), "contain.race"), (mount, read, "contain.mount")):
        assert broken(tested, seen) == {rule}
        assert broken(tested, seen, profile("spec")) == set()


def test_policy_is_judged_by_the_profile() -> None:
    tested = case(Call("read", "hard.bin"), HardLink("model/hard.bin", "outside/secret.bin"))
    names = ("model/hard.bin", "outside/secret.bin")
    opened = Touched("open", names, "outside")
    accepted = Seen("returned", output=output(content_of(SECRET)), reads=names, leaks=names[1:], touched=(opened,))
    assert broken(tested, accepted, profile("spec", ("contain.hard-link=refuse",))) == {"contain.hard-link"}
    assert broken(tested, accepted, profile("spec", ("contain.hard-link=accept",))) == set()
    assert broken(tested, refused(), profile("spec", ("contain.hard-link=accept",))) == {"contain.hard-link"}
    verdict = judge(tested, Observation(tested.id, "test", calls=(accepted,)), profile("spec"))
    assert (verdict.result, [f.rule for f in verdict.findings]) == ("note", ["contain.hard-link"])


def test_a_skip_and_an_error_carry_their_reason() -> None:
    skipped = judge(ESCAPE, Observation(ESCAPE.id, "test", skipped="no mounts here"), ALL)
    assert skipped == Verdict(ESCAPE.id, "skip", reason="no mounts here")
    assert judge(ESCAPE, Observation(ESCAPE.id, "test", error="lost"), ALL).result == "error"


def test_a_windows_profile_asks_the_specification_anew() -> None:
    literal = File("model/..\\outside\\secret.bin")
    tested = case(Call("read", "..\\outside\\secret.bin"), literal)
    seen = Seen("returned", output=output(content_of(literal)))
    assert broken(tested, seen) == set()
    assert "contain.parent" in broken(tested, seen, profile("hardened", platform="windows"))


def test_every_rule_says_what_it_demands_and_why() -> None:
    for rule in RULES.values():
        assert rule.statement.endswith("."), rule.id
        assert rule.why, rule.id
        assert rule.source, rule.id


def test_plaintext_of_a_callback_in_a_file_breaks_a_rule() -> None:
    tested = case(Call("write", "engine", payload=PAYLOAD_WRITTEN, write_callback=Callback()))
    taken = CallbackSeen("write", b"engine".hex(), PAYLOAD_WRITTEN.size, content_digest(PAYLOAD_WRITTEN))
    seen = Seen("returned", callbacks=(taken,))
    assert broken(tested, seen) == set()
    assert broken(tested, replace(seen, plaintext=("model/engine.tmp (deleted)",))) == {"plain.no-plaintext"}


def test_a_payload_without_a_callback_is_no_secret() -> None:
    tested = case(Call("write", "new.bin", payload=PAYLOAD_WRITTEN))
    assert tested.calls[0].secrets == ()
    assert "plain.no-plaintext" not in {rule.id for rule in applicable(look(tested, Seen("returned")))}


# --- threads and sanitizers -------------------------------------------------------------------------------------------------

READS = (Share("read", "r0.bin", Content("r0")), Share("read", "r1.bin", Content("r1")))
ALL_RIGHT = ThreadsSeen(100, 100, 0, 0, 0, 0, 2)


def at_once(*shares: Share, **options: Any) -> Case:
    return case(threads(*shares, **options))


def test_threads_whose_calls_end_as_if_each_were_alone() -> None:
    tested = at_once(*READS, callbacks={"read": Callback()})
    assert tested.expect[0].rule == "thread.no-cross-talk"
    assert broken(tested, Seen("returned", threads=ALL_RIGHT)) == set()


@pytest.mark.parametrize("what", ["wrong", "failed", "crossed"])
def test_threads_that_meet(what: str) -> None:
    tested = at_once(*READS, callbacks={"read": Callback()})
    seen = Seen("returned", threads=replace(ALL_RIGHT, evidence="a read of ...", **{what: 1}))
    verdict = judge(tested, Observation(tested.id, "test", calls=(seen,)), ALL)
    assert [(f.rule, f.happened.endswith("; a read of ...")) for f in verdict.findings] == [("thread.no-cross-talk", True)]


def test_files_that_threads_write_hold_in_the_end_what_was_written() -> None:
    share = Share("write", "new.bin", Content("new"))
    tested = at_once(share)

    def wrote(path: str, content: Content) -> Seen:
        after = State("file", 1, 0o644, content.size, content_digest(content))
        return Seen("returned", threads=ALL_RIGHT, changes=(Change(path, "inside", State(), after),))

    assert broken(tested, wrote("model/new.bin", Content("new"))) == set()
    assert broken(tested, wrote("model/new.bin", Content("old"))) == {"thread.no-cross-talk"}
    assert broken(tested, wrote("model/other.bin", Content("new"))) == {"thread.no-cross-talk"}
    assert broken(case(tested.calls[0], File("model/new.bin", Content("new"))), Seen("returned", threads=ALL_RIGHT)) == set()


def test_shares_that_no_thread_comes_to_are_not_written() -> None:
    share, beyond = Share("write", "new.bin", Content("new")), Share("write", "beyond.bin", Content("beyond"))
    tested = at_once(share, beyond, count=1, rounds=1)
    after = State("file", 1, 0o644, 96, content_digest(Content("new")))
    seen = Seen("returned", threads=ALL_RIGHT, changes=(Change("model/new.bin", "inside", State(), after),))
    assert broken(tested, seen) == set()
    assert broken(at_once(share, beyond, count=1, rounds=2), seen) == {"thread.no-cross-talk"}


def test_what_contradicts_the_specification_is_not_judged() -> None:
    tested = at_once(Share("read", "good.bin", Content("something else")))
    assert tested.expect[0].outcome == "either"
    assert broken(tested, Seen("returned", threads=replace(ALL_RIGHT, wrong=100))) == set()


def test_callbacks_that_were_never_at_work_at_once() -> None:
    tested = at_once(*READS, callbacks={"read": Callback(waits=2)})
    assert broken(tested, Seen("returned", threads=ALL_RIGHT)) == set()
    alone = Seen("returned", threads=replace(ALL_RIGHT, most_in_flight=1))
    assert broken(tested, alone) == {"thread.not-serialised"}
    assert broken(tested, alone, profile("spec")) == set()


def test_a_callback_that_calls_back_in_and_never_returns() -> None:
    tested = at_once(*READS, callbacks={"read": Callback(reenters="r1.bin")})
    assert broken(tested, Seen("returned", threads=ALL_RIGHT)) == set()
    assert broken(tested, Seen("hang")) == {"thread.reentrant"}
    assert broken(tested, Seen("hang"), profile("spec")) == set()
    assert broken(at_once(*READS, callbacks={"read": Callback()}), Seen("hang")) == {"thread.no-cross-talk", "safe.no-hang"}


STACK = ("Read target.cc:7", "epctx_read shim.cc:20")


def test_a_report_of_the_thread_sanitizer() -> None:
    seen = read_good(reports=(Report("thread", "data race", "data race on the global count", STACK, STACK),))
    verdict = judge(GOOD_READ, Observation("test/one", "test", calls=(seen,)), ALL)
    words = "data race on the global count in Read target.cc:7 from epctx_read shim.cc:20, against the same"
    assert [(f.rule, f.happened) for f in verdict.findings] == [("thread.no-data-race", words)]


def test_a_report_of_another_sanitizer() -> None:
    overflow = Report("address", "heap-buffer-overflow", "heap-buffer-overflow", STACK[:1])
    assert broken(GOOD_READ, read_good(reports=(overflow,))) == {"safe.no-crash"}
    seen = Seen("crash", detail="killed by SIGABRT", reports=(overflow, replace(overflow, stack=STACK)))
    verdict = judge(GOOD_READ, Observation("test/one", "test", calls=(seen,)), ALL)
    (crash,) = (f for f in verdict.findings if f.rule == "safe.no-crash")
    assert crash.happened == "it crashed (killed by SIGABRT); heap-buffer-overflow in Read target.cc:7; and 1 more"


def test_the_secrets_of_threads_are_those_of_their_shares() -> None:
    first, second, file = Content("first"), Content("second"), Content("file")
    shares = (Share("read", "a", first), Share("write", "b", second), Share("read", "c", None), Share("read", "a", first))
    call = Call("read", payload=None, threads=Threads(shares), read_callback=Callback())
    assert call.secrets == (first,)
    assert replace(call, write_callback=Callback()).secrets == (first, second)
    assert replace(call, read_callback=None, threads=Threads((Share("read", "f", file),))).secrets == ()
