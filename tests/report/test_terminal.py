"""What people read: grouped, in order, copyable, and plain about the conclusion."""

from __future__ import annotations

import io
import shlex
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from epctx.case import Call, Case, File, Link, Piece, World
from epctx.observation import Observation, Output, Seen, Touched
from epctx.oracle import RULES, SEVERITIES, Finding, Verdict
from epctx.report import console as where
from epctx.report import terminal
from epctx.report.detail import case_detail, observation_detail
from epctx.report.record import Footer, Header
from epctx.run.baseline import Entry
from epctx.spec import predict

HEAD = Header("weak:S7", "ort-1.28", 5, "a box", "1.30.0", "0.1.0", "2026-01-01T00:00:00+00:00")


def case(slug: str, *names: str) -> Case:
    calls = tuple(Call("read", name) for name in names or ("../x",))
    return Case(f"names/{slug}", "A case.", "hostile", ("contain.parent",), World((File("model/good.bin"),)), calls)


def finding(rule: str, call: int = 0, *, fails: bool = True, **more: Any) -> Finding:
    found = RULES[rule]
    return Finding(rule, found.tier, found.severity, call, "refused", "it was accepted", fails=fails, **more)


def failing(slug: str, *found: Finding, calls: int = 1) -> tuple[Case, Verdict]:
    made = case(slug, *["../x"] * calls)
    return made, Verdict(made.id, "fail" if any(f.fails for f in found) else "note", findings=found)


def printed(
    *results: tuple[Case, Verdict],
    head: Header = HEAD,
    width: int = 100,
    everything: bool = False,
    known: Mapping[str, Mapping[str, str]] = {},
) -> str:
    console = Console(file=io.StringIO(), width=width)
    terminal.findings(console, results, head, known, everything=everything)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"  # type: ignore[attr-defined]


def test_a_finding_in_full() -> None:
    assert printed(failing("a", finding("contain.parent", file="outside/secret.bin"))) == (
        "\n"
        "critical  contain.parent  1 case\n"
        "  A name whose resolved path leaves the model directory is refused.\n"
        "  names/a\n"
        "    call     read ../x\n"
        "    expected refused\n"
        "    happened it was accepted\n"
        "    file     outside/secret.bin\n"
        "    again    epctx replay names/a weak:S7\n"
    )


KNOWN = {"names/a": {"contain.parent": "ticket 12"}, "names/b": {"contain.parent": "ticket 12", "own.moves": "harmless"}}


def test_what_is_known_is_counted_with_its_reason_and_shown_on_request() -> None:
    results = [
        failing("a", finding("contain.parent")),
        failing("b", finding("contain.parent"), finding("own.moves"), finding("safe.no-hang")),
    ]
    assert printed(*results, known=KNOWN) == (
        "\n"
        "high  safe.no-hang  1 case\n"
        "  The call returns within its time limit.\n"
        "  names/b\n"
        "    call     read ../x\n"
        "    expected refused\n"
        "    happened it was accepted\n"
        "    again    epctx replay names/b weak:S7\n"
        "\n"
        "known 2: contain.parent: ticket 12\n"
        "known 1: own.moves: harmless\n"
    )
    everything = printed(*results, known=KNOWN, everything=True)
    assert "critical  contain.parent  2 cases\n" in everything
    assert everything.count("    happened it was accepted\n    known    ticket 12\n") == 2
    assert everything.count("    known    harmless\n") == 1
    assert everything.count("    again ") == 4


@pytest.mark.parametrize(
    ("expired", "stale", "text"),
    [
        ((), (), ""),
        ((1,), (), "\nexpired: b.toml: entry 1 (contain.parent) ended on 2026-01-01, and what it names is not known any more\n"),
        (
            (),
            (1,),
            "\nstale: b.toml: entry 1 (contain.parent): it no longer occurs; take out names/c0\n"
            "--write-baseline FILE writes a baseline without what is stale\n",
        ),
        (
            (1,),
            (7,),
            "\nexpired: b.toml: entry 1 (contain.parent) ended on 2026-01-01, and what it names is not known any more\n"
            "stale: b.toml: entry 1 (contain.parent): 7 of its globs no longer occur; take out "
            "names/c0, names/c1, names/c2, names/c3, names/c4, names/c5, …\n"
            "--write-baseline FILE writes a baseline without what is stale\n",
        ),
    ],
)
def test_what_is_out_of_date_in_a_baseline_is_said(expired: tuple[int, ...], stale: tuple[int, ...], text: str) -> None:
    def entries(numbers: tuple[int, ...]) -> tuple[Entry, ...]:
        cases = [tuple(f"names/c{i}" for i in range(n)) for n in numbers]
        return tuple(Entry("b.toml", 1, "contain.parent", globs, "why", date(2026, 1, 1)) for globs in cases)

    console = Console(file=io.StringIO(), width=300)
    terminal.baselines(console, replace(HEAD, expired=entries(expired)), Footer({}, False, 1.0, stale=entries(stale)))
    assert console.file.getvalue() == text  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("reasons", "text"),
    [
        (("",), "\nbaseline b.toml: 1 entry; write a reason into 1 of them\n"),
        (("", "why", ""), "\nbaseline b.toml: 3 entries; write a reason into 2 of them\n"),
        (("why", "why"), "\nbaseline b.toml: 2 entries\n"),
        ((), "\nbaseline b.toml: 0 entries\n"),
        (None, "\nno baseline was written, since the run was interrupted\n"),
    ],
)
def test_a_baseline_that_was_written_says_what_is_left_to_do(reasons: tuple[str, ...] | None, text: str) -> None:
    console = Console(file=io.StringIO(), width=100)
    entries = None if reasons is None else [Entry("", 0, "contain.parent", ("names/*",), reason) for reason in reasons]
    terminal.baseline_written(console, Path("b.toml"), entries)
    assert console.file.getvalue() == text  # type: ignore[attr-defined]


def test_the_most_severe_rule_comes_first() -> None:
    text = printed(
        failing("a", finding("own.moves")), failing("b", finding("contain.parent")), failing("c", finding("safe.no-hang"))
    )
    heads = [line.split("  ")[1] for line in text.splitlines() if line.endswith("  1 case")]
    assert heads == sorted(heads, key=lambda r: (SEVERITIES.index(RULES[r].severity), r))
    assert heads[0] == "contain.parent"


def test_a_case_is_shown_once_for_a_rule_with_all_its_calls() -> None:
    text = printed(failing("a", *(finding("contain.parent", call) for call in (1, 2, 4)), calls=5))
    assert "contain.parent  1 case\n" in text
    assert text.count("names/a\n") == 1
    assert "call     read ../x (call 2 of 5; calls 3, 5 too)\n" in text


def test_few_cases_are_shown_and_the_others_named() -> None:
    results = [failing(f"c{n}", finding("contain.parent")) for n in range(12)]
    text = printed(*results, width=200)
    assert text.count("happened") == terminal.SHOWN
    assert "  and 9 more: names/c3, names/c4, names/c5, names/c6, names/c7, names/c8, … (--all shows each)\n" in text
    assert printed(*results, everything=True).count("happened") == 12


def test_notes_skips_and_errors_are_counted_by_reason() -> None:
    skipped, lost = case("s"), case("e")
    text = printed(
        failing("a", finding("contain.race", fails=False)),
        failing("b", finding("contain.race", fails=False)),
        (skipped, Verdict(skipped.id, "skip", reason="no room")),
        (lost, Verdict(lost.id, "error", reason="worker died")),
        head=replace(HEAD, skipped={"x/y": "ticket 12", "x/z": "ticket 12"}),
    )
    assert "\n  contain.race  2 cases; for example names/a: it was accepted\n" in text
    assert "\nskipped 2: ticket 12\nskipped 1: no room\n\nerror 1: names/e: worker died\n" in text


@pytest.mark.parametrize("width", [20, 60, 200])
def test_a_command_is_never_broken_into_lines(width: int) -> None:
    made = case("long")
    long = replace(made, id="names/a-long-name[read,with spaces,'quoted']")
    head = replace(
        HEAD,
        target="header:my helper.h?include=a b",
        profile="hardened",
        by_itself=False,
        files=("my cases.jsonl",),
        unboxed=True,
    )
    text = printed((long, Verdict(long.id, "fail", ("accepted",), (finding("contain.parent"),))), head=head, width=width)
    (line,) = (line for line in text.splitlines() if line.startswith("    again "))
    assert shlex.split(line) == [
        *("again", "epctx", "replay", long.id, "header:my helper.h?include=a b"),
        *("--cases", "my cases.jsonl", "--profile", "hardened", "--unboxed"),
    ]


def test_a_command_carries_the_policies() -> None:
    head = replace(HEAD, policies={"contain.hard-link": "refuse"})
    assert terminal.replay_command("a/b", head) == "epctx replay a/b weak:S7 --policy contain.hard-link=refuse"


@pytest.mark.parametrize(
    ("counts", "held", "interrupted", "last"),
    [
        ({"pass": 5}, True, False, "weak:S7 holds: every rule of profile ort-1.28 held in 5 cases"),
        ({"pass": 3, "note": 1, "skip": 1}, True, False, "weak:S7 holds: every rule of profile ort-1.28 held in 4 cases"),
        ({"pass": 4, "fail": 1}, False, False, "weak:S7 does not hold: 1 of 5 cases breaks rules of profile ort-1.28"),
        ({"fail": 1, "hang": 1, "crash": 1, "pass": 2}, False, False, "hold: 3 of 5 cases break rules of profile ort-1.28"),
        (
            {"fail": 1, "pass": 1},
            False,
            False,
            "1 of 2 cases breaks rules of profile ort-1.28 so far: the run stopped after 2 of 5 cases",
        ),
        ({"fail": 1, "pass": 1}, False, True, "ort-1.28 so far: the run was interrupted after 2 of 5 cases"),
        ({"pass": 2}, False, True, "no verdict on weak:S7: nothing failed so far: the run was interrupted after 2 of 5 cases"),
        ({}, False, True, "no verdict on weak:S7: nothing failed so far: the run was interrupted after 0 of 5 cases"),
        ({"pass": 4, "error": 1}, False, False, "no verdict on weak:S7: 1 case could not be run"),
        ({"skip": 5}, False, False, "no verdict on weak:S7: nothing ran"),
    ],
)
def test_the_last_line_is_plain(counts: dict[Any, int], held: bool, interrupted: bool, last: str) -> None:
    console = Console(file=io.StringIO(), width=200)
    terminal.summary(console, HEAD, Footer(counts, held, 1.25, interrupted))
    assert console.file.getvalue().splitlines()[-1].endswith(last)  # type: ignore[attr-defined]


LOADER = replace(
    HEAD,
    target="loader:onnx",
    profile="external-onnx-1.21",
    ort="",
    contract="what it publishes",
    scope="effects",
    met="onnx 1.21.0",
    sessions=True,
    policies={"contain.hard-link": "refuse"},
)


def test_a_loader_is_told_by_what_is_met_of_it() -> None:
    console = Console(file=io.StringIO(), width=200)
    terminal.header(console, LOADER)
    terminal.summary(console, LOADER, Footer({"pass": 4, "fail": 1}, False, 1.25))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert lines[2:4] == [
        "onnx 1.21.0, judged by what it publishes",
        "only files and bytes count: which files are touched, and what is read or written",
    ]
    assert lines[-1] == "loader:onnx (onnx 1.21.0) does not hold: 1 of 5 cases breaks rules of profile external-onnx-1.21"
    assert terminal.replay_command("a/b", LOADER) == "epctx replay a/b loader:onnx"


def test_what_is_over_strict_stands_apart_from_notes() -> None:
    strict = finding("contain.accept-inside", fails=False, over_strict=True)
    assert printed(failing("a", strict), failing("b", finding("contain.mount", fails=False)), head=LOADER) == (
        "\n"
        "over-strict (safe, but refuses what the specification accepts)\n"
        "  contain.accept-inside  1 case; for example names/a: it was accepted\n"
        "\n"
        "notes (not failures in this profile)\n"
        "  contain.mount  1 case; for example names/b: it was accepted\n"
    )


ENTRY = Entry("b.toml", 1, "contain.parent", ("names/a",), "why")


@pytest.mark.parametrize(
    ("counts", "known", "stale", "lines"),
    [
        (
            {"fail": 2, "hang": 1, "pass": 2},
            1,
            False,
            ["2 fail, 1 hang, 2 pass; 1 of 3 known; 1.2 s", "hold: 3 of 5 cases break rules of profile ort-1.28, 2 of them new"],
        ),
        (
            {"fail": 2, "crash": 1, "pass": 2},
            3,
            False,
            ["; 3 of 3 known; 1.2 s", "weak:S7 does not hold, but nothing is new: 3 of 5 cases break rules of profile ort-1.28"],
        ),
        (
            {"fail": 1, "pass": 4},
            0,
            False,
            ["; 0 of 1 known; 1.2 s", "S7 does not hold: 1 of 5 cases breaks rules of profile ort-1.28"],
        ),
        (
            {"fail": 1, "pass": 4},
            1,
            True,
            ["", "nothing is new: 1 of 5 cases breaks rules of profile ort-1.28; the baseline is stale"],
        ),
        (
            {"pass": 5},
            0,
            True,
            ["5 pass; 1.2 s", "weak:S7 holds: every rule of profile ort-1.28 held in 5 cases; the baseline is stale"],
        ),
        ({"pass": 4, "error": 1}, 0, True, ["", "no verdict on weak:S7: 1 case could not be run; the baseline is stale"]),
    ],
)
def test_the_last_lines_say_what_is_new(counts: dict[Any, int], known: int, stale: bool, lines: list[str]) -> None:
    console = Console(file=io.StringIO(), width=200)
    held = counts.keys() == {"pass"}
    foot = Footer(counts, held, 1.25, known=known, stale=(ENTRY,) if stale else ())
    terminal.summary(console, replace(HEAD, baselines=("b.toml",)), foot)
    for line, end in zip(console.file.getvalue().splitlines()[-2:], lines, strict=True):  # type: ignore[attr-defined]
        assert line.endswith(end)


@pytest.mark.parametrize("counts", [{"pass": 5}, {"fail": 1, "pass": 4}])
@pytest.mark.parametrize("opens_only", [True, False])
def test_that_only_opens_count_is_said_first_and_last(counts: dict[Any, int], opens_only: bool) -> None:
    console = Console(file=io.StringIO(), width=200)
    head = replace(HEAD, scope="effects", opens_only=opens_only, notes=("a virtual device",))
    terminal.header(console, head)
    terminal.summary(console, head, Footer(counts, counts.keys() == {"pass"}, 1.25))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert lines[-1].endswith("; only which file is opened counts") == opens_only
    assert any(line.startswith("only which file is opened counts: good data cannot") for line in lines) == opens_only
    assert "note: a virtual device" in lines


@pytest.mark.parametrize(
    ("shown_by", "words"),
    [("result", "executed, as the result shows"), ("open", "as far as an open tells"), ("bytes", "the content of model/a\n")],
)
def test_a_replay_says_what_shows_which_file_was_read(shown_by: Any, words: str) -> None:
    seen = Seen("returned", output=Output(96, ""), reads=("model/a",), shown_by=shown_by)
    console = Console(file=io.StringIO(), width=100)
    console.print(observation_detail(Observation("a/b", "ep:x", calls=(seen,))))
    assert words in "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())  # type: ignore[attr-defined]


def test_what_a_target_says_cannot_steer_the_terminal() -> None:
    evil = "\x1b[2J\x1b]0;owned\x07[bold]markup[/bold]\r\n"
    world = World((File((Piece("model/"), Piece(hex="1b5b324a"))), Link("model/l", "\x1b[31m")))
    made = Case("names/evil", "A case.", "hostile", (), world, (Call("read", "\x1b[2J"),))
    seen = Seen("returned", code=2, message=evil, output=Output(0, ""), touched=(Touched("open", ("model/a",), "inside"),))
    console = Console(file=io.StringIO(), width=100, force_terminal=False)
    console.print(case_detail(made, predict(made)))
    console.print(observation_detail(Observation(made.id, "weak:S7", calls=(seen,))))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[bold]markup[/bold]" in text


def test_in_a_pipe_a_line_is_as_long_as_its_text(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    where.Output().print("word " * 500)
    assert capsys.readouterr().out == "word " * 499 + "word\n"


def test_a_width_that_is_asked_for_counts(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    where.Output().print("word " * 50)
    assert all(len(line) <= 60 for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize(("count", "words"), [(0, "0 cases"), (1, "1 case"), (2262, "2,262 cases")])
def test_numbers_have_the_right_noun(count: int, words: str) -> None:
    assert where.plural(count, "case") == words
