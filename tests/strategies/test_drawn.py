"""The grammar as strategies: what they give may be used, and shrinks to what is plain."""

from __future__ import annotations

import sys

import pytest
from hypothesis import HealthCheck, find, given, settings

from epctx.case import Callback, Case, Entry, File, Name, World, raw
from epctx.case_check import validate
from epctx.case_file import dumps, loads
from epctx.spec import predict
from epctx.strategies import callbacks, cases, entries, names, worlds

often = settings(max_examples=200, deadline=None, database=None, suppress_health_check=list(HealthCheck))


@often
@given(cases())
def test_cases_may_be_built_and_are_what_their_files_say(case: Case) -> None:
    validate(case)
    assert loads(dumps(case)) == case
    assert predict(case)


@often
@given(names(tokens=("geheim",)))
def test_names_are_bytes(name: Name) -> None:
    assert isinstance(raw(name), bytes)


@often
@given(entries(), callbacks("read"), callbacks("write"))
def test_parts_are_what_they_are_called(special: tuple[Entry, ...], read: Callback, write: Callback) -> None:
    assert 1 <= len(special) <= 2
    assert write.content is None


def test_the_simplest_case_makes_one_call_in_a_plain_world() -> None:
    case = find(cases(), lambda case: True, settings=often)
    assert len(case.calls) == 1
    assert len(case.world.entries) <= 5


def test_what_is_found_is_shrunk() -> None:
    case = find(cases(), lambda case: any(expect.rule == "contain.parent" for expect in predict(case)), settings=often)
    assert len(case.calls) == 1
    assert len(raw(case.calls[0].name or "")) <= len("../outside/secret.bin")


def test_names_may_aim_at_what_is_special() -> None:
    name = find(names(entries=(File("model/odd/one.bin"),)), lambda name: b"odd/one.bin" in raw(name), settings=often)
    assert raw(name) == b"odd/one.bin"


def test_tokens_are_tried() -> None:
    assert find(names(tokens=("geheim",)), lambda name: name == "geheim", settings=often) == "geheim"


def test_a_world_has_what_is_usual_unless_something_takes_its_place() -> None:
    world = find(worlds(), lambda world: len(world.entries) > 4, settings=often)
    assert isinstance(world, World)
    assert {"model/sub/inner.bin", "outside/secret.bin"} <= {entry.path for entry in world.entries}


def test_without_hypothesis_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("epctx.strategies")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(ImportError, match=r"needs Hypothesis; install it with `pip install 'epctx\[hypothesis\]'`"):
        import epctx.strategies  # noqa: F401
