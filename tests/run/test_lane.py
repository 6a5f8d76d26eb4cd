"""The quick lane: plain reads that are made at once come to what each of them comes to by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from epctx.case import Call, Case, Content, Entry, File, Link, World
from epctx.observation import Observation
from epctx.run.lane import GROUP, LEAST, groups_of
from epctx.run.runner import BATCH, Runner, batches_of
from epctx.spec import predict
from epctx.target import Launch, build, prepare

FAKE = Path(__file__).parent.parent / "fakes" / "misbehaving.cc"
STANDING = (File("model/good.bin"), File("model/trigger.bin"), File("outside/secret.bin"))
CHANGING: tuple[tuple[Entry, str], ...] = (
    (File("model/x"), "x"),
    (Link("model/x", "good.bin"), "x"),
    (Link("model/x", "../outside/secret.bin"), "x"),
    (File("outside/x"), "../outside/x"),
    (File("model/x", mode=0o600), "missing.bin"),
)


def case(number: int, name: str, entry: Entry) -> Case:
    made = Case(f"test/{number}", "A read.", "benign", (), World((*STANDING, entry)), (Call("read", name),))
    return replace(made, expect=predict(made))


CASES = [case(number, name, entry) for number, (entry, name) in enumerate(CHANGING * (GROUP * 3 // len(CHANGING)))]


@pytest.fixture(scope="module")
def launch() -> Launch:
    return prepare("weak:final-link-unchecked")


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(jobs=1) as made:
        yield made


def what_counts(observation: Observation) -> object:
    """What is seen of a read, but for times and places."""
    (seen,) = observation.calls
    return replace(seen, seconds=0.0, message=seen.message.replace(observation.root, ""), memory=replace(seen.memory, peak=0))


def test_reads_at_once_come_to_what_each_comes_to_alone(runner: Runner, launch: Launch) -> None:
    together = {index: what_counts(observation) for index, observation in runner.run(launch, CASES)}
    alone = {index: what_counts(observation) for index, observation in runner.run(launch, CASES[:5], alone=True)}
    assert len(together) == len(CASES)
    assert len({str(seen) for seen in alone.values()}) == 5
    for index, seen in together.items():
        assert seen == alone[index % 5], CASES[index]


@pytest.mark.parametrize("mode", ["temporary", "climb", "remove"])
def test_what_one_read_leaves_is_not_seen_of_its_neighbours(runner: Runner, mode: str) -> None:
    native = ("-I" + str(build.NATIVE), "-I" + str(build.NATIVE / "ort"))
    library = build.build(build.Part("misbehaving", (FAKE,), (FAKE,), native))
    names = ["good.bin"] * (3 * GROUP)
    names[GROUP + 3] = "trigger.bin"
    cases = [case(number, name, File("model/x")) for number, name in enumerate(names)]
    seen = dict(runner.run(prepare(f"lib:{library}?set={mode}"), cases))
    marked = [index for index, observation in seen.items() if {t.what for t in observation.calls[0].touched} != {"open"}]
    assert marked == [GROUP + 3]


@pytest.mark.parametrize("count", [0, 1, LEAST, GROUP, GROUP + 1, 2 * GROUP, 5 * GROUP + 7])
def test_groups_hold_every_case_once_in_order_and_end_small(count: int) -> None:
    groups = [list(group) for group in groups_of(range(count))]
    assert [index for group in groups for index in group] == list(range(count))
    assert all(0 < len(group) <= GROUP for group in groups)
    assert not groups or len(groups[-1]) <= LEAST


def test_batches_hold_every_case_once_heavy_ones_alone_and_first() -> None:
    heavy = replace(CASES[0], world=World((File("model/large.bin", Content("large", 20 << 20)),)))
    cases = [*CASES * 20, heavy, *CASES]
    batches = batches_of(cases, jobs=2)
    assert sorted(index for batch in batches for index in batch) == list(range(len(cases)))
    assert batches[0] == [len(CASES) * 20]
    sizes = [len(batch) for batch in batches[1:]]
    assert max(sizes) <= BATCH
    assert sizes == sorted(sizes, reverse=True)
