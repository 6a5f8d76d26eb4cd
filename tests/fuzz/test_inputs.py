"""What engines that go by coverage reached is handed on from one generation of batches to the next."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import ParamSpec, TypeVar

import msgspec
import pytest

from epctx.fuzz import work
from epctx.fuzz.campaign import Campaign
from epctx.fuzz.inputs import MOST, Inputs, unpacked
from epctx.fuzz.native import GENERATION
from epctx.fuzz.store import Setting, Store
from epctx.fuzz.work import Judged
from epctx.oracle import profile
from epctx.target import prepare

P = ParamSpec("P")
T = TypeVar("T")


class AtOnce:
    """Workers that do what they are given when it is given to them."""

    jobs = 3

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        done: Future[T] = Future()
        done.set_result(function(*args, **kwargs))
        return done

    def renew(self) -> None:
        raise AssertionError("nobody died")


def run(store: Store, batches: int) -> dict[int, list[bytes]]:
    """Go on with a campaign whose batch N finds the input N and one that all find; what each batch started from."""
    started: dict[int, list[bytes]] = {}

    def judged(order: bytes, number: int, found: bytes) -> bytes:
        started[number] = unpacked(found)
        return msgspec.msgpack.encode(Judged(1, 1, 0, (), (), inputs=(b"%d" % number, b"again")))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "work", judged)
        for progress in Campaign(AtOnce(), prepare("reference"), profile("spec"), store, "", ()).run():
            if progress.state.batch == batches:
                break
    return started


def test_a_batch_starts_from_what_the_generations_before_its_own_found_also_when_a_campaign_goes_on(tmp_path: Path) -> None:
    store = Store(tmp_path / "out", Setting("reference", 1, "libfuzzer", "spec"))
    started = run(store, GENERATION + 3) | run(Store(tmp_path / "out", None), 3 * GENERATION)
    assert sorted(started) == list(range(len(started)))
    for number, inputs in started.items():
        before = range(number - number % GENERATION)
        assert inputs == ([b"0", b"again", *(b"%d" % n for n in before[1:])] if before else [])


def test_what_was_found_by_a_batch_that_is_not_done_with_is_found_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "out", Setting("reference", 1, "libfuzzer", "spec"))
    store.keep_inputs(0, [b"a", b"b"])
    store.keep_inputs(2, [b"c"])
    (tmp_path / "out" / "inputs" / "notes-of-mine").write_text("not an input")
    assert store.inputs(2) == {0: [b"a", b"b"], 1: []}


def test_engines_without_inputs_wait_for_nothing_and_the_first_of_very_many_inputs_are_handed_on() -> None:
    none = Inputs(0, {})
    none.add(0, [b"a"])
    assert (none.first(99), unpacked(none.before(99))) == (0, [])
    many = Inputs(2, {0: [b"%d" % n for n in range(MOST)], 1: [b"one more"]})
    assert unpacked(many.before(2)) == [b"%d" % n for n in range(MOST)]
