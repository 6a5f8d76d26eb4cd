"""The engine ``atheris``, and the mutator that it brings along."""

from __future__ import annotations

import importlib.util

import pytest
from tests.fuzz.running import CONVERTING, rounds

from epctx.errors import TargetError, UsageError
from epctx.fuzz.atheris import AtherisEngine
from epctx.fuzz.encoding import HEAD, WORLDS, decode, encoded
from epctx.fuzz.engine import ready
from epctx.fuzz.mutator import SHORT, Mutator
from epctx.fuzz.rounds import Round
from epctx.fuzz.store import Setting
from epctx.target.native import why_no_coverage

needs_atheris = pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
needs_clang = pytest.mark.skipif(bool(why_no_coverage()), reason=why_no_coverage())
SETTING = Setting("reference", 7, "atheris")


@pytest.mark.slow
@needs_atheris
@needs_clang
def test_a_fault_in_a_conversion_is_found_from_nothing() -> None:
    came = rounds(CONVERTING, "atheris", 1 << 15, numbers=range(1, 21), until="safe.no-crash")
    assert "safe.no-crash" in came.broken


@pytest.mark.slow
@needs_atheris
def test_a_way_out_is_found_and_the_process_goes_on() -> None:
    came = rounds("weak:final-link-unchecked", "atheris", 1 << 12)
    assert came.broken.keys() >= {"contain.symlink-file", "safe.no-outside-read"}
    assert came.executions > 1 << 11


@pytest.mark.slow
@needs_atheris
def test_the_reference_holds() -> None:
    assert rounds("reference", "atheris", 1 << 12).broken == {}


def test_without_atheris_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"install it with `pip install 'epctx\[fuzz\]'`"):
        ready(SETTING)


def test_a_mutator_that_is_not_called_is_an_error_and_one_that_is_none_whatever_was_printed_since() -> None:
    said = "INFO: found LLVMFuzzerCustomMutator (0x1). Disabling -len_control by default."
    with pytest.raises(TargetError, match=r"does not call the mutator .* It printed: INFO: found"):
        AtherisEngine(SETTING).check(Round(10, (), (), (), said, 0))
    AtherisEngine(SETTING).check(Round(1 << 16, (), (), (), "#65536 NEW cov: 578", 9))


def test_the_mutator_follows_its_seed_and_makes_names_of_the_grammar() -> None:
    mutator = Mutator(lambda data, longest: data[::-1])
    start = encoded(1, 0, b"sub/inner.bin")
    made = [mutator.mutate(start, 4096, seed) for seed in range(600)]
    assert made == [mutator.mutate(start, 4096, seed) for seed in range(600)]
    assert made.count(start[::-1]) in range(200, 400)
    assert all(len(data) <= max(SHORT, 2 * len(start)) for data in made)
    cases = [case for data in made if (case := decode(data))]
    assert len({raw for data in made if (raw := data[HEAD:]).startswith(b"../")}) > 3
    assert {WORLDS.index(place) for place in WORLDS for case in cases if case.world == place.world} >= {1}
    assert len({case.calls[0].op for case in cases}) == 2
    assert mutator.mutate(b"", 16, 1) == b""
