"""How soon campaigns find faults that are known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from epctx.cli import bench_fuzz_command, main
from epctx.errors import UsageError
from epctx.fuzz.bench import CHOSEN, First, Searches, reachable, searches
from epctx.fuzz.engine import ENGINES
from epctx.report.searches import cells
from epctx.run.runner import Runner
from epctx.target import Weakness

WEAK = {weakness.name: weakness for weakness in reachable()}


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(jobs=1) as runner:
        yield runner


@pytest.mark.parametrize(
    "name",
    [
        *("prefix-containment", "leading-dotdot-only", "links-not-resolved", "follows-dangling-link", "blocks-on-fifo"),
        *("S4", "file-when-callback-fails", "leaks-buffer-of-failing-callback", "plaintext-in-temporary-directory"),
    ],
)
def test_the_grammar_finds_a_fault(runner: Runner, name: str) -> None:
    *_, found = searches(runner, WEAK[name], "grammar", seeds=1, most=2000)
    (first,) = found.firsts
    assert first.rule in WEAK[name].breaks
    assert 0 < first.executions <= 2000


def test_a_search_is_given_up(runner: Runner) -> None:
    *_, found = searches(runner, WEAK["leaks-empty-buffer"], "grammar", seeds=2, most=1)
    assert [(first.executions, first.rule) for first in found.firsts] == [(1, "")] * 2
    assert cells(found)[2:] == ("0 of 2", "> 1", "> 1", "", "")


def test_medians_and_worsts() -> None:
    first, second, never = First(10, 0.5, "a.b"), First(30, 1.5, "a.b"), First(5000, 9.0, "")
    assert cells(Searches("t", "grammar", 5000, (first, second)))[2:] == ("2 of 2", "20", "30", "1.00", "1.50")
    assert cells(Searches("t", "grammar", 5000, (first, never, second)))[2:] == ("2 of 3", "30", "> 5,000", "1.50", "")
    assert cells(Searches("t", "grammar", 5000, (first, never, never)))[2:] == ("1 of 3", "> 5,000", "> 5,000", "", "")


def test_what_is_searched_by_default_can_be() -> None:
    assert set(CHOSEN) <= set(WEAK)
    assert len(CHOSEN) >= 12


# --- the command ------------------------------------------------------------------------------------------------------------


def bench(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ("bench", "fuzz", *arguments))
    return result.exit_code, result.output


def test_tables_are_printed_and_saved(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    arguments = ("--engine", "grammar", "--targets", "prefix-*", "--seeds", "2", "--seconds", "0.1", "--save", str(page))
    code, text = bench(*arguments)
    assert code == 0
    assert "prefix-containment  grammar  2 of 2" in text
    assert "| `prefix-containment` | grammar | 2 of 2 |" in page.read_text()
    assert "| `weak:S7` | grammar | " in page.read_text()


def test_an_interrupt_ends_with_what_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(runner: Runner, weakness: Weakness, name: str, seeds: int, most: int | None) -> Iterator[Searches]:
        yield Searches(weakness.name, name, most or 5000, (First(7, 0.1, "contain.parent"),))
        raise KeyboardInterrupt

    monkeypatch.setattr(bench_fuzz_command, "searches", interrupted)
    page = tmp_path / "page.md"
    code, text = bench("--engine", "grammar", "--targets", "S4", "--seconds", "0", "--save", str(page))
    assert code == 130
    assert "1 of 1" in text
    assert "| `S4` | grammar | 1 of 1 | 7 | 7 | 0.10 | 0.10 |" in page.read_text()


def test_an_engine_that_cannot_be_used_is_a_line_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(setting: object) -> None:
        raise UsageError("The engine needs what is not here; install it.")

    monkeypatch.setitem(ENGINES, "hypothesis", nowhere)
    code, text = bench("--targets", "none", "--seeds", "1", "--seconds", "0", "--engine", "hypothesis", "--engine", "grammar")
    assert code == 0
    assert "hypothesis is left out: The engine needs what is not here; install it." in text
    assert "grammar  1 of 1" in text
    assert bench("--engine", "hypothesis")[0] == 4


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--targets", "nobody"), "--targets nobody matches no weak helper"),
        (("--targets", "ep-*"), "matches no weak helper"),
        (("--save", "/nowhere/page.md"), "--save /nowhere/page.md"),
        (("--engine", "magic"), "is not one of"),
        (("--seeds", "0"), "not in the range"),
    ],
)
def test_a_mistake_is_told(arguments: tuple[str, ...], sentence: str) -> None:
    code, text = bench(*arguments)
    assert code == 2
    assert sentence in text
