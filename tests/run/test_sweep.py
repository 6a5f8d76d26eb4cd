"""The sweep: cases that are run in one world come to what each of them comes to by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from epctx.attack import STANDARD, node
from epctx.case import Call, Callback, Case, Content, Fifo, File, HardLink, Link, Model, Piece, Socket, Step, World
from epctx.lookout import why_no_doors
from epctx.observation import Observation
from epctx.run import worker
from epctx.run.runner import Runner
from epctx.run.sweep import GROUP, observe_by_world
from epctx.target import Launch, build, prepare

FAKE = Path(__file__).parent.parent / "fakes" / "misbehaving.cc"
WORLD = World(
    (
        *STANDARD,
        Link("model/link", "../outside/secret.bin"),
        Link("model/dangling", "../outside/new.bin"),
        Fifo("model/fifo"),
        Socket("model/socket"),
        File("model/large.bin", Content("large", 32 << 10)),
    )
)
CALLS: tuple[tuple[Call, ...], ...] = (
    (Call("read", "good.bin"),),
    (Call("read", "large.bin", held=True, moves=True),),
    (Call("read", "../outside/secret.bin"),),
    (Call("read", "link"),),
    (Call("read", "fifo"),),
    (Call("read", "socket"), Call("read", "{root}/outside/secret.bin", "caller", allocator="caller")),
    (Call("read", "n.bin", read_callback=Callback(Content("answer", 20 << 10))),),
    (Call("read", "n.bin", read_callback=Callback(None, 3, "no"), config=True),),
    (Call("write", "dangling"),),
    (Call("write", "fifo", payload=Content("payload", 20 << 10)),),
    (Call("write", "../x.bin", write_callback=Callback()), Call("read", "sub/inner.bin")),
    (Call("write", "new.bin"), Call("read", "new.bin")),
    (Call("write", "good.bin"),),
    (Call("config", steps=(Step("set-read"), Step("take"), Step("get-read"))),),
    (Call("load"),),
    (Call("read", "n.bin", read_callback=Callback(Content("answer")), lingers=True),),
)
NODES = (node("good.bin"), node("../outside/secret.bin"))


def case(number: int, calls: tuple[Call, ...], world: World = WORLD) -> Case:
    model = Model(nodes=NODES) if calls[0].op == "load" else Model()
    return Case(f"test/{number}", "Calls.", "hostile", (), world, calls, model)


CASES = [case(number, calls) for number, calls in enumerate(CALLS * 3)]


class Ran(msgspec.Struct):
    """What was seen of cases, and which of them ran by themselves."""

    observations: list[Observation]
    single: list[str]


def by_world(launch: bytes, cases: bytes) -> bytes:
    """In a worker: run cases of one world."""
    keeper, single = worker.keeper(), []
    observe = keeper.observe

    def noted(launch: Launch, case: Case) -> Observation:
        single.append(case.id)
        return observe(launch, case)

    keeper.observe = noted  # type: ignore[method-assign]
    unpacked = msgspec.msgpack.decode(cases, type=list[Case])
    shared = [replace(case, world=unpacked[0].world) for case in unpacked]
    try:
        return msgspec.msgpack.encode(Ran(observe_by_world(keeper, msgspec.msgpack.decode(launch, type=Launch), shared), single))
    finally:
        keeper.observe = observe  # type: ignore[method-assign]


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(jobs=1) as made:
        yield made


def swept(runner: Runner, launch: Launch, cases: Sequence[Case]) -> Ran:
    packed = runner.call(by_world, msgspec.msgpack.encode(launch), msgspec.msgpack.encode(cases))
    return msgspec.msgpack.decode(packed, type=Ran)


def what_counts(observation: Observation) -> list[object]:
    """What is seen of calls, but for times and places."""
    return [
        replace(
            seen,
            seconds=0.0,
            message=seen.message.replace(observation.root, ""),
            memory=replace(seen.memory, peak=0),
            changes=tuple(replace(c, before=replace(c.before, inode=0), after=replace(c.after, inode=0)) for c in seen.changes),
            touched=tuple(replace(t, names=tuple(re.sub(r"epctx-\w+", "temporary", n) for n in t.names)) for t in seen.touched),
            callbacks=tuple(replace(c, started=0.0, ended=0.0) for c in seen.callbacks),
        )
        for seen in observation.calls
    ]


def ends(observation: Observation) -> list[str]:
    return [seen.ended for seen in observation.calls]


@pytest.mark.parametrize("target", ["reference", "weak:final-link-unchecked", "weak:follows-dangling-link"])
def test_cases_in_one_world_come_to_what_each_comes_to_by_itself(runner: Runner, target: str) -> None:
    launch = prepare(target)
    together = swept(runner, launch, CASES)
    by_themselves = dict(runner.run(launch, CASES[: len(CALLS)], alone=True))
    for index, observation in enumerate(together.observations):
        assert what_counts(observation) == what_counts(by_themselves[index % len(CALLS)]), CASES[index].calls
    assert len(together.single) < len(CASES) / 2


WRITES: tuple[tuple[Call, ...], ...] = (
    (Call("write", "good.bin", payload=Content("payload", 5)),),
    (Call("read", "good.bin"),),
    (Call("write", "new.bin"), Call("read", "new.bin"), Call("write", "new.bin", payload=None), Call("read", "good.bin")),
    (Call("write", "../x.bin"),),
    (Call("read", "new.bin"), Call("read", "twin.bin")),
    (Call("write", "twin.bin"),),
    (Call("write", "sub/../n/f.bin"),),
    (Call("read", "dangling"),),
)


@pytest.mark.parametrize(
    ("target", "most"),
    [
        ("reference", 0),
        ("weak:leaves-temporary-file", 0),
        ("weak:writes-in-place", 0),
        ("weak:keeps-old-tail", 0),
        ("weak:makes-directories", 40),
        ("weak:writes-four-levels-up", 40),
        ("weak:plaintext-cached", 40),
    ],
)
def test_what_a_write_changes_is_seen_of_it_alone(runner: Runner, target: str, most: int) -> None:
    launch, world = prepare(target), World((*WORLD.entries, HardLink("model/twin.bin", "model/sub/inner.bin")))
    cases = [case(number, calls, world) for number, calls in enumerate(WRITES * 5)]
    together = swept(runner, launch, cases)
    by_themselves = dict(runner.run(launch, cases[: len(WRITES)], alone=True))
    for index, observation in enumerate(together.observations):
        assert what_counts(observation) == what_counts(by_themselves[index % len(WRITES)]), cases[index].calls
    assert len(together.single) <= most


ANSWERED = Call("read", "n.bin", read_callback=Callback(Content("answer")))
GUARDED: tuple[tuple[Call, ...], ...] = (
    (Call("write", "link", payload=Content("saved", 5)), ANSWERED),
    (ANSWERED, Call("write", "new.bin", payload=Content("saved"))),
    (ANSWERED,),
    (Call("write", "good.bin", payload=Content("saved", 4096)), ANSWERED, Call("read", "good.bin")),
    (ANSWERED, Call("read", "link")),
    (Call("write", "w.bin", payload=Content("payload"), write_callback=Callback()),),
)


@pytest.mark.skipif(bool(why_no_doors()), reason=why_no_doors())
@pytest.mark.parametrize(
    ("target", "most"),
    [("reference", 0), ("weak:final-link-unchecked", 12), ("weak:writes-in-place", 0), ("weak:plaintext-cached", 40)],
)
def test_cases_with_plaintext_may_write_other_files_meanwhile(runner: Runner, target: str, most: int) -> None:
    launch = prepare(target)
    cases = [case(number, calls) for number, calls in enumerate(GUARDED * 6)]
    together = swept(runner, launch, cases)
    by_themselves = dict(runner.run(launch, cases[: len(GUARDED)], alone=True))
    for index, observation in enumerate(together.observations):
        assert what_counts(observation) == what_counts(by_themselves[index % len(GUARDED)]), cases[index].calls
    assert len(together.single) <= most


@pytest.mark.skipif(bool(why_no_doors()), reason=why_no_doors())
def test_plaintext_that_another_case_writes_to_a_file_is_not_taken_for_what_leaked(runner: Runner) -> None:
    written = (Call("write", "new.bin", payload=Content("answer")), ANSWERED)
    ran = swept(runner, prepare("reference"), [case(n, written if n == 7 else (ANSWERED,)) for n in range(16)])
    assert ran.single == ["test/7"]
    assert not any(seen.plaintext for observation in ran.observations for seen in observation.calls)


@pytest.mark.parametrize("times", [2040, 4096, 65536, 100_000])
def test_a_long_name_in_company_is_as_alone(runner: Runner, times: int) -> None:
    calls = [
        Call("read", (Piece("n", times=times),)),
        Call("read", "good.bin"),
        Call("write", (Piece("./", times=times // 2), Piece("new.bin"))),
    ]
    cases, launch = [case(number, (call,)) for number, call in enumerate(calls * 8)], prepare("reference")
    together, by_themselves = swept(runner, launch, cases), dict(runner.run(launch, cases[:3], alone=True))
    for index, observation in enumerate(together.observations):
        assert what_counts(observation) == what_counts(by_themselves[index % 3])
    assert len(together.single) == (16 if times == 100_000 else 0)


def test_long_names_between_large_outputs_keep_nobody_waiting(runner: Runner) -> None:
    long = Call("write", (Piece("n", times=70_000),), payload=Content("payload", 20 << 10))
    calls = [(Call("read", "large.bin"),)] * 13 + [(long,)] + [(Call("read", "large.bin", held=True),)] * 5 + [(long,)]
    ran = swept(runner, prepare("reference"), [case(number, own) for number, own in enumerate(calls * 4)])
    assert [ends(observation) for observation in ran.observations] == [["returned"]] * 80
    assert ran.single == []


def fake(mode: str) -> Launch:
    native = ("-I" + str(build.NATIVE), "-I" + str(build.NATIVE / "ort"))
    library = build.build(build.Part("misbehaving", (FAKE,), (FAKE,), native))
    return prepare(f"lib:{library}?set={mode}")


TRIGGERED = World((File("model/good.bin"), File("model/trigger.bin"), File("outside/secret.bin")))


@pytest.mark.parametrize("mode", ["temporary", "climb", "remove"])
def test_what_one_call_leaves_is_not_seen_of_its_neighbours(runner: Runner, mode: str) -> None:
    names = ["good.bin"] * (3 * GROUP)
    names[GROUP + 3] = "trigger.bin"
    ran = swept(runner, fake(mode), [case(number, (Call("read", name),), TRIGGERED) for number, name in enumerate(names)])
    marked = [n for n, observation in enumerate(ran.observations) if {t.what for t in observation.calls[0].touched} != {"open"}]
    assert marked == [GROUP + 3]
    assert ran.single == [f"test/{GROUP + 3}"]


@pytest.mark.parametrize(("mode", "ending"), [("abort", "crash"), ("scribble", "crash"), ("hang", "hang")])
def test_the_call_at_which_a_driver_ends_is_told_from_its_neighbours(runner: Runner, mode: str, ending: str) -> None:
    names = ["good.bin"] * (2 * GROUP)
    names[GROUP - 2] = "trigger.bin"
    ran = swept(runner, fake(mode), [case(number, (Call("read", name),), TRIGGERED) for number, name in enumerate(names)])
    assert [ends(observation) for observation in ran.observations] == [
        [ending] if name == "trigger.bin" else ["returned"] for name in names
    ]


def test_a_driver_that_ends_only_in_company_ended_all_the_same(runner: Runner) -> None:
    ran = swept(runner, fake("third"), [case(number, (Call("read", "good.bin"),), TRIGGERED) for number in range(GROUP)])
    assert ["crash"] in map(ends, ran.observations)


def test_what_comes_late_is_told_of_a_call_that_lingers(runner: Runner) -> None:
    answered = Call("read", "n.bin", read_callback=Callback(Content("answer")))
    calls = [answered, replace(answered, lingers=True), answered, Call("read", "good.bin"), Call("read", "n.bin", lingers=True)]
    ran = swept(runner, prepare("weak:calls-back-later"), [case(n, (call,)) for n, call in enumerate(calls)])
    assert [any(c.late for c in observation.calls[0].callbacks) for observation in ran.observations] == [
        call is calls[1] for call in calls
    ]
    assert {"test/0", "test/1", "test/2"}.intersection(ran.single) == {"test/1"}


def test_a_read_that_hangs_on_a_fifo_is_told_from_its_neighbours(runner: Runner) -> None:
    names = ["good.bin", "good.bin", "fifo", "good.bin", "sub/inner.bin"]
    ran = swept(runner, prepare("weak:blocks-on-fifo"), [case(n, (Call("read", name),)) for n, name in enumerate(names)])
    assert [ends(observation) for observation in ran.observations] == [
        ["hang"] if name == "fifo" else ["returned"] for name in names
    ]
