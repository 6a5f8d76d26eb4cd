"""What a worker makes of a failing case: the smallest that fails alike, alone where the case itself does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from epctx.case import Call, Case, Expect, File, Link, World
from epctx.fuzz.fingerprint import signs
from epctx.fuzz.look import Looked, look, unpacked
from epctx.fuzz.store import Setting
from epctx.fuzz.work import Order
from epctx.observation import Observation, Seen
from epctx.oracle import PROFILES, Profile, judge
from epctx.run.runner import Runner
from epctx.spec import predict
from epctx.target import build, prepare

FAKE = Path(__file__).parent.parent / "fakes" / "misbehaving.cc"
READ = Call("read", "good.bin")
WORLD = World((File("model/good.bin"), File("outside/secret.bin"), Link("model/link", "../outside/secret.bin")))


def case(*calls: Call) -> Case:
    return Case("fuzz/1-1", "A case.", "hostile", (), WORLD, calls)


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(jobs=1) as made:
        yield made


@pytest.fixture(scope="module")
def third() -> str:
    """A target that aborts in the third read of its process."""
    native = ("-I" + str(build.NATIVE), "-I" + str(build.NATIVE / "ort"))
    return f"lib:{build.build(build.Part('misbehaving', (FAKE,), (FAKE,), native))}?set=third"


def looked_at(
    runner: Runner, target: str, made: Case, seen: Observation | None = None, judged: Profile = PROFILES["spec"]
) -> list[Looked]:
    """What comes of looking at the first way in which a case fails, when that was ``seen`` or is seen of it now."""
    launch, pack = prepare(target), msgspec.msgpack.encode
    if seen is None:
        ((_, seen),) = runner.run(launch, [made])
    first = next(iter(signs(made, seen, judge(made, seen, judged), judged)))
    order = Order(launch, judged, Setting(launch.target, 0))
    return unpacked(runner.call(look, pack(order), pack(made), pack(seen), (first,)))


def test_what_fails_alone_is_shrunk_to_what_does_so(runner: Runner, third: str) -> None:
    """In company any read may be the third; but nobody could show a single one again."""
    made = replace(case(*[Call("read", "a")] * 4), world=World())
    (found,) = looked_at(runner, third, made)
    assert (found.sign.rule, found.confirmed, len(found.case.calls)) == ("safe.no-crash", True, 3)
    (again,) = (observation for _, observation in runner.run(prepare(third), [found.case], alone=True))
    assert again.calls[-1].ended == "crash"


def test_what_does_not_fail_alone_is_told_as_what_failed_in_company(runner: Runner, third: str) -> None:
    made = case(READ)
    crashed = Observation(made.id, third, "/root", (Seen("crash", detail="SIGABRT"),))
    (found,) = looked_at(runner, third, made, crashed)
    assert (found.sign.rule, found.confirmed, len(found.case.calls)) == ("safe.no-crash", False, 1)


def test_a_smaller_case_is_expected_what_the_specification_says(runner: Runner) -> None:
    """A case may say by itself what is expected of its calls, but not of those that are left."""
    calls = (READ, Call("read", "a/../link"), READ)
    stated = replace(case(*calls), expect=predict(case(*calls)))
    (found,) = looked_at(runner, "weak:S7", stated)
    assert (found.sign.rule, found.confirmed) == ("contain.symlink-file", True)
    assert [call.name for call in found.case.calls] == ["a/../link"]
    assert not found.case.expect


def test_what_a_case_alone_says_is_left_as_it_is(runner: Runner) -> None:
    own = replace(
        case(READ, READ), expect=(Expect("accept", "contain.accept-inside", ""), Expect("refuse", "contain.parent", ""))
    )
    (found,) = looked_at(runner, "reference", own)
    assert (found.sign.rule, found.confirmed) == ("contain.parent", True)
    assert (found.case.calls, found.case.expect) == (own.calls, own.expect)


def test_a_name_that_is_raw_in_the_text_of_an_error_is_one_finding_whatever_is_wrong_with_it(runner: Runner) -> None:
    def finding(call: Call) -> str:
        (found,) = looked_at(runner, "weak:raw-name-in-text", case(call), judged=PROFILES["hardened"])
        assert found.sign.rule == "name.log-safe"
        return found.fingerprint

    names = ["\x1b[31m/none", "../\n", "good.bin/\x07", "none\r.bin"]
    assert len({finding(Call("read", name)) for name in names}) == 1
    assert finding(Call("write", "../\n")) == finding(Call("write", "none/\n")) != finding(Call("read", "\n"))
