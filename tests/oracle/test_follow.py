"""What is expected of a call after others that did not do what they should have: it is right if it takes the world as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from msgspec.structs import replace

from epctx.case import (
    FAIL,
    INVALID_ARGUMENT,
    Call,
    Callback,
    Case,
    Content,
    Entry,
    Fifo,
    File,
    HardLink,
    Link,
    Resize,
    Share,
    Threads,
    World,
    content_of,
    stream,
)
from epctx.observation import Change, Observation, Output, Place, Seen, State, Touched, content_digest, digest
from epctx.oracle import PROFILES, judge, profile
from epctx.run.runner import Runner
from epctx.spec import predict
from epctx.target import prepare

GOOD = File("model/good.bin")
OLD, NEW, TORN, OTHER = content_of(GOOD), Content("payload"), Content("torn", 50), Content("other", 96)
WRITE, READ = Call("write", "good.bin"), Call("read", "good.bin")
NO_OUTPUT = Output(0, digest(b""), null=True)


def case(calls: Sequence[Call], *entries: Entry) -> Case:
    return Case("test/one", "A case.", "hostile", (), World((GOOD, File("outside/secret.bin"), *entries)), tuple(calls))


def file(content: Content, inode: int = 1) -> State:
    return State("file", inode, 0o644, content.size, content_digest(content))


def changed(path: str, after: State, before: State | None = None, place: Place = "inside") -> Change:
    return Change(path, place, before or State(), after)


def wrote(*changes: Change) -> Seen:
    return Seen("returned", changes=changes)


def refused(*changes: Change, code: int = INVALID_ARGUMENT) -> Seen:
    return Seen("returned", code=code, message="no", output=NO_OUTPUT, changes=changes)


def read(content: Content, *reads: str) -> Seen:
    return Seen("returned", output=Output(content.size, content_digest(content)), reads=reads)


def broken(calls: Sequence[Call], seen: Sequence[Seen], *entries: Entry) -> set[tuple[str, int]]:
    """The rules that are broken, each with the number of the call."""
    made = case(calls, *entries)
    verdicts = {
        judge(stated, Observation("test/one", "test", "/root", tuple(seen)), profile("hardened")) for stated in both(made)
    }
    (verdict,) = verdicts
    return {(f.rule, f.call) for f in verdict.findings if f.fails}


def both(made: Case) -> Iterator[Case]:
    """A case that leaves it to the specification what is expected, and one that says it by itself."""
    yield made
    yield replace(made, expect=predict(made))


REPLACED = changed("model/good.bin", file(NEW, 2), file(OLD))


@pytest.mark.parametrize(
    ("first", "second", "rules"),
    [
        pytest.param(wrote(REPLACED), read(NEW), set(), id="all right"),
        pytest.param(wrote(REPLACED), read(OLD), {("size.exact", 1)}, id="the old bytes after a write"),
        pytest.param(refused(), read(OLD, "model/good.bin"), {("type.write-replaces", 0)}, id="the old bytes after a refusal"),
        pytest.param(
            refused(), read(NEW), {("type.write-replaces", 0), ("size.exact", 1)}, id="bytes that nobody wrote after a refusal"
        ),
        pytest.param(
            wrote(changed("model/good.bin", file(TORN, 2), file(OLD))),
            read(TORN),
            {("type.write-replaces", 0), ("size.exact", 0)},
            id="the wrong bytes that were written",
        ),
        pytest.param(
            wrote(changed("model/good.bin", file(TORN, 2), file(OLD))),
            read(NEW),
            {("type.write-replaces", 0), ("size.exact", 0), ("size.exact", 1)},
            id="the bytes that should have been written",
        ),
        pytest.param(
            wrote(changed("model/other.bin", file(NEW, 2))),
            read(OLD, "model/good.bin"),
            {("type.write-replaces", 0)},
            id="another file was written",
        ),
        pytest.param(
            wrote(changed("model/good.bin", State(), file(OLD))),
            refused(code=FAIL),
            {("type.write-replaces", 0), ("size.exact", 0)},
            id="the file was removed",
        ),
        pytest.param(
            wrote(changed("model/good.bin", State("fifo", 2, 0o644), file(OLD))),
            refused(),
            {("type.write-replaces", 0), ("size.exact", 0)},
            id="it is a FIFO since",
        ),
        pytest.param(
            Seen("exception", changes=(REPLACED,)), read(NEW), {("type.write-replaces", 0), ("safe.no-crash", 0)}, id="it threw"
        ),
    ],
)
def test_a_read_after_a_write(first: Seen, second: Seen, rules: set[tuple[str, int]]) -> None:
    assert broken([WRITE, READ], [first, second]) == rules


@pytest.mark.parametrize("code", [FAIL, INVALID_ARGUMENT])
def test_a_file_that_was_never_made_is_missing_for_whatever_reason(code: int) -> None:
    calls = [Call("write", "new.bin"), Call("read", "new.bin")]
    assert broken(calls, [refused(), refused(code=code)]) == {("contain.accept-inside", 0)}
    assert broken(calls, [refused(), read(NEW)]) == {("contain.accept-inside", 0), ("type.read-missing", 1)}


def test_what_should_not_have_been_made_is_there_all_the_same() -> None:
    calls = [Call("write", "a/b/new.bin"), Call("read", "a/b/new.bin"), Call("write", "a/b/more.bin")]
    made = [changed("model/a", State("dir", 3, 0o755)), changed("model/a/b", State("dir", 4, 0o755))]
    first = wrote(*made, changed("model/a/b/new.bin", file(NEW, 5)))
    third = wrote(changed("model/a/b/more.bin", file(NEW, 6)))
    assert broken(calls, [first, read(NEW), third]) == {("type.write-parent-missing", 0)}
    assert broken(calls, [first, read(OLD), third]) == {("type.write-parent-missing", 0), ("size.exact", 1)}


def test_a_special_file_that_was_replaced_is_a_file() -> None:
    calls = [Call("write", "fifo"), Call("read", "fifo")]
    first = wrote(changed("model/fifo", file(NEW, 5), State("fifo", 4, 0o644)))
    assert broken(calls, [first, read(NEW)], Fifo("model/fifo")) == {("type.write-regular", 0)}


def test_a_link_that_was_replaced_leads_nowhere_any_more() -> None:
    calls = [Call("write", "link"), Call("read", "link"), READ]
    first = wrote(changed("model/link", file(NEW, 5), State("link", 4, 0o777, 8, digest(b"good.bin"))))
    seen = [first, read(NEW), read(OLD, "model/good.bin")]
    assert broken(calls, seen, Link("model/link", "good.bin")) == {("contain.accept-inner-link", 0)}


def test_what_was_made_outside_is_outside_when_it_is_read() -> None:
    """The link dangled, and does not any more: it is followed to a file outside, which nobody may read."""
    calls = [Call("write", "link"), Call("read", "link")]
    first = wrote(changed("outside/new.bin", file(NEW, 5), place="outside"))
    found = broken(calls, [first, read(NEW, "outside/new.bin")], Link("model/link", "../outside/new.bin"))
    assert {("type.write-symlink-leaf", 0), ("contain.symlink-file", 1)} <= found


def test_a_trusted_caller_whose_file_was_not_replaced_leaves_it() -> None:
    calls = [Call("write", "{root}/model/good.bin", "caller"), READ]
    assert broken(calls, [refused(), read(OLD, "model/good.bin")]) == {("trusted.any-path", 0)}


def test_names_of_one_file_part_where_one_is_replaced_and_stay_one_where_it_is_written_in_place() -> None:
    calls, link = [WRITE, Call("read", "hard.bin")], HardLink("model/hard.bin", "model/good.bin")
    assert broken(calls, [wrote(REPLACED), read(OLD, "model/hard.bin")], link) == set()
    assert broken(calls, [wrote(REPLACED), read(NEW, "model/hard.bin")], link) == {("size.exact", 1)}
    in_place = wrote(*(changed(f"model/{name}", file(NEW), file(OLD)) for name in ("good.bin", "hard.bin")))
    in_place = replace(in_place, touched=(Touched("modify", ("model/good.bin", "model/hard.bin"), "inside"),))
    assert broken(calls, [in_place, read(NEW, "model/hard.bin")], link) == set()
    assert broken(calls, [in_place, read(OLD, "model/hard.bin")], link) == {("size.exact", 1)}


def test_what_threads_wrote_is_read_afterwards() -> None:
    share = Share("write", "good.bin", NEW)
    calls = [Call("write", payload=None, threads=Threads((share,), rounds=1)), READ]
    assert broken(calls, [wrote(REPLACED), read(NEW)]) == set()
    assert broken(calls, [wrote(REPLACED), read(OLD)]) == {("size.exact", 1)}


def test_a_file_of_plaintext_beside_a_callback_is_one_for_who_comes_without() -> None:
    calls = [Call("write", "new.bin", write_callback=Callback()), Call("read", "new.bin")]
    first = wrote(changed("model/new.bin", file(NEW, 5)))
    assert ("type.read-missing", 1) not in broken(calls, [first, read(NEW)])


def test_a_file_that_was_written_and_changes_its_size_gives_what_was_written() -> None:
    calls = [Call("write", "f.bin"), Call("read", "f.bin", resize=Resize("model/f.bin", 10))]
    entry, first = (
        File("model/f.bin", Content("changing")),
        wrote(changed("model/f.bin", file(NEW, 2), file(Content("changing")))),
    )
    whole, cut = read(NEW), Seen("returned", output=Output(10, digest(stream(NEW.key, NEW.size)[:10])))
    assert broken(calls, [first, whole], entry) == broken(calls, [first, cut], entry) == set()
    assert broken(calls, [first, read(TORN)], entry) == {("size.file-changes", 1)}


SPECIAL = World((GOOD, Link("model/link", "good.bin"), Fifo("model/fifo")))


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(jobs=1) as made:
        yield made


@pytest.mark.parametrize(
    ("target", "first", "second", "rules"),
    [
        ("S7", Call("write", "a/../link"), Call("read", "link"), set()),
        ("dotdot-refused", Call("write", "sub/../new.bin"), Call("read", "new.bin"), {("contain.accept-inside", 0)}),
        ("link-replaced", Call("write", "link"), READ, {("contain.accept-inner-link", 0)}),
        ("special-file-replaced", Call("write", "fifo"), Call("read", "fifo"), {("type.write-regular", 0)}),
        ("makes-directories", Call("write", "n/n.bin"), Call("read", "n/n.bin"), {("type.write-parent-missing", 0)}),
        ("appends", WRITE, READ, {("type.write-replaces", 0), ("size.exact", 0)}),
        ("reference", WRITE, READ, set()),
    ],
)
def test_a_weak_target_is_told_of_what_it_did_and_no_more(
    runner: Runner, target: str, first: Call, second: Call, rules: set[tuple[str, int]]
) -> None:
    launch = prepare(target if target == "reference" else f"weak:{target}")
    tested = replace(case([first, second]), world=SPECIAL)
    ((_, observation),) = runner.run(launch, [tested])
    verdict = judge(tested, observation, PROFILES["spec"])
    assert {(f.rule, f.call) for f in verdict.findings if f.fails} == rules
