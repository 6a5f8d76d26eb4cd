"""The engine ``libfuzzer``: it finds what the grammar does not, and what it finds is judged by the whole oracle."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.fuzz.conftest import campaign, go_on, outcome
from tests.fuzz.running import CONVERTING, rounds

from epctx.box import Strength
from epctx.cli import main
from epctx.errors import TargetError, UsageError
from epctx.fuzz import Grammar
from epctx.fuzz.encoding import HEAD
from epctx.fuzz.engine import cases, ready
from epctx.fuzz.mutate import listed as listed_cases
from epctx.fuzz.rounds import HEAD_OF_REPORT, RECORD, number_of, report_of
from epctx.fuzz.seeds import listed, standing
from epctx.fuzz.store import Setting, Store
from epctx.oracle import PROFILES, judge
from epctx.run.runner import Runner
from epctx.target import prepare
from epctx.target.native import why_no_coverage

needs_clang = pytest.mark.skipif(bool(why_no_coverage()), reason=why_no_coverage())


@pytest.mark.slow
@needs_clang
def test_a_fault_in_a_conversion_is_found_from_nothing_where_the_grammar_finds_none() -> None:
    came = rounds(CONVERTING, "libfuzzer", 1 << 15, numbers=range(1, 21), until="safe.no-crash")
    assert "safe.no-crash" in came.broken
    launch, grammar = prepare(CONVERTING), Grammar((), listed_cases())
    made = [case for number in range(8) for case in cases(grammar, 7, number)]
    assert len(made) > 4000
    with Runner(jobs=1) as runner:
        verdicts = [judge(made[index], seen, PROFILES["spec"]) for index, seen in runner.run(launch, made)]
    assert [v.case for v in verdicts if v.fails] == []


@pytest.mark.slow
@needs_clang
@pytest.mark.parametrize("box", [None, "none"], ids=["boxed", "unboxed"])
def test_a_fault_that_only_a_sanitizer_sees_is_judged_under_it_and_leaves_nothing_where_one_is(
    box: Strength | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # libFuzzer writes what crashed there, unless it is told where else
    came = rounds("weak:percent-length", "libfuzzer", 1 << 11, box=box)
    assert "heap-buffer-overflow in LooksDecoded" in came.broken["safe.no-crash"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@needs_clang
def test_a_way_out_is_found() -> None:
    came = rounds("weak:final-link-unchecked", "libfuzzer", 1 << 11, seeds=None)
    assert came.broken.keys() >= {"contain.symlink-file", "safe.no-outside-read"}


@pytest.mark.slow
@needs_clang
def test_a_round_comes_to_the_same_in_any_worker_also_of_a_target_that_draws_lots() -> None:
    both = rounds("reference", "libfuzzer", 1 << 11, seeds=None, numbers=(0, 1))
    assert both.broken == {}
    first, second = (rounds("reference", "libfuzzer", 1 << 11, seeds=None, numbers=(number,)) for number in (0, 1))
    assert both.cases == first.cases + second.cases
    assert len(second.cases) > 20
    assert both.executions == first.executions + second.executions > 2 * len(listed()) + (1 << 11)


@pytest.mark.slow
@needs_clang
def test_a_campaign_comes_to_the_same_on_two_workers_and_when_it_goes_on(tmp_path: Path) -> None:
    two = campaign(tmp_path / "two", "reference", 5, jobs=2, engine="libfuzzer")
    one = campaign(tmp_path / "one", "reference", 2, engine="libfuzzer")
    with Runner(jobs=1) as runner:
        go_on(Store(tmp_path / "one", None), runner, 5)
    assert outcome(one) == outcome(two)
    assert one.inputs(5) == two.inputs(5)
    assert min(map(len, list(two.inputs(5).values())[1:])) > 10


@pytest.mark.slow
@needs_clang
def test_a_call_that_hangs_is_a_case() -> None:
    came = rounds("weak:blocks-on-fifo", "libfuzzer", 64, numbers=(0,))
    assert "safe.no-hang" in came.broken


@pytest.mark.slow
@needs_clang
def test_the_yardstick_measures_both() -> None:
    result = CliRunner().invoke(main, ("bench", "libfuzzer", "reference", "--calls", "256"))
    assert result.exit_code == 0, result.output
    row = re.fullmatch(r"reference +(\d+) +(\d+) +(\d+\.\d+) *", result.output.splitlines()[-1].replace(",", ""))
    assert row
    assert all(float(figure) > 0 for figure in row.groups())


def test_without_clang_it_says_where_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(TargetError, match=r"was not found: install it with its runtime \(on .* `apt install clang`"):
        ready(Setting("reference", 1, "libfuzzer"))


def test_what_is_no_library_cannot_be_fuzzed_so() -> None:
    with pytest.raises(UsageError, match="The engine libfuzzer calls a library, and ep:bundled is none; choose another engine"):
        ready(Setting("ep:bundled", 1, "libfuzzer"))


def test_a_report_is_read_as_it_was_written() -> None:
    records = b"".join(RECORD.pack(0, len(d)) + d + bytes(-len(d) % 8) for d in (b"abc", b"12345678", b""))
    rest = records + b"what was there before"
    assert report_of(HEAD_OF_REPORT.pack(7, len(records), 1, 0, 9, b"") + rest) == (7, [b"abc", b"12345678", b""], None)
    ended = HEAD_OF_REPORT.pack(7, len(records), 1, 4, 9, b"wxyz rest") + rest
    assert report_of(ended) == (8, [b"abc", b"12345678", b""], b"wxyz")


def test_no_seed_for_libfuzzer_is_0_which_it_takes_for_none() -> None:
    numbers = {number_of(1, batch, life) for batch in range(50) for life in range(3)}
    assert len(numbers) == 150
    assert min(numbers) > 0
    assert all(len(data) > HEAD for data in standing())
