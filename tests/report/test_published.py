"""The table of published faults: what each cell says, why one is not right, and the last line."""

from __future__ import annotations

import io
import shlex

import msgspec
import pytest
from msgspec.structs import replace
from rich.console import Console

from epctx.faults import Fault
from epctx.report import published as report
from epctx.run.published import Cell, Row

FAULT = Fault(
    "CVE-2020-1",
    "It reads outside",
    "loader:it",
    "it 1.0",
    "it 2.0",
    ("links/*",),
    ("contain.symlink-file",),
    ("https://example.org/1",),
    "before 2.0",
    policies=("contain.hard-link=refuse",),
)
AT = "loader:it?python=/cache/it/bin/python"
FOUND = Cell("it 1.0", "found", "right", 2, {"contain.symlink-file": ("links/a", "links/b")}, target=AT)
SILENT = Cell("it 2.0", "silent", "right", 2, target=AT)
BLIND = Cell("it 1.0", "found", "wrong", 2, {}, ("contain.symlink-file",), ("links/a", "links/b"), target=AT)
LOUD = Cell("it 2.0", "silent", "wrong", 9, {"safe.no-crash": tuple(f"links/{n}" for n in range(5))}, target=AT)
SKIPPED = Cell("it 1.0", "found", "skipped", reason="it 1.0 has no wheels for pdp11")
UNUSABLE = Cell("it 2.0", "silent", "unusable", reason="The target is not usable.", target=AT)


def row(vulnerable: Cell = FOUND, fixed: Cell = SILENT) -> Row:
    return Row(FAULT, vulnerable, fixed)


def printed(*rows: Row, wanted: int | None = None, interrupted: bool = False) -> str:
    console = Console(file=io.StringIO(), width=200)
    report.table(console, rows)
    report.details(console, rows)
    report.conclusion(console, report.Report("0.1.0", "3.11.7", rows, 12.3, interrupted), wanted or len(rows))
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"  # type: ignore[attr-defined]


def test_a_fault_that_is_found_and_gone() -> None:
    assert printed(row()) == (
        "fault       target     vulnerable  found there     fixed   silent there\n"
        "CVE-2020-1  loader:it  it 1.0      found, 2 cases  it 2.0  silent, 2 cases\n"
        "\n"
        "1 published fault: found in each vulnerable release, silent in each fixed one; 12 s\n"
    )


def test_a_fault_that_is_missed_names_the_rules_and_the_cases_that_saw_nothing() -> None:
    text = printed(row(BLIND))
    assert "CVE-2020-1  loader:it  it 1.0      not found, 0 of 2 cases  it 2.0  silent, 2 cases\n" in text
    assert (
        "\nCVE-2020-1  it 1.0: not found, 0 of 2 cases\n"
        "  missed   no case breaks contain.symlink-file\n"
        "  missed   links/a, links/b should break contain.symlink-file\n"
        "  again    epctx replay links/a 'loader:it?python=/cache/it/bin/python' --policy contain.hard-link=refuse\n"
        "\n"
        "1 of 2 cells wrong; 12 s\n"
    ) in text


def test_a_finding_in_the_fixed_release_names_rule_and_cases() -> None:
    text = printed(row(fixed=LOUD))
    assert (
        "\nCVE-2020-1  it 2.0: not silent, 5 of 9 cases\n  broken   safe.no-crash by links/0, links/1, links/2 and 2 more\n"
        in text
    )
    assert text.endswith("1 of 2 cells wrong; 12 s\n")


def test_cells_that_say_nothing_say_why_and_are_not_counted_as_right() -> None:
    text = printed(row(SKIPPED, UNUSABLE), row())
    assert "CVE-2020-1  loader:it  it 1.0      skipped         it 2.0  no verdict\n" in text
    assert "\nCVE-2020-1  it 1.0: skipped\n  reason   it 1.0 has no wheels for pdp11\n" in text
    assert "\nCVE-2020-1  it 2.0: no verdict\n  reason   The target is not usable.\n" in text
    assert text.endswith("\nnothing is wrong, but only 2 of 4 cells say something; 12 s\n")


def test_where_nothing_says_anything_there_is_no_verdict() -> None:
    assert printed(row(SKIPPED, SKIPPED)).endswith("\nno verdict on any published fault; 12 s\n")


@pytest.mark.parametrize("fixed", [SILENT, LOUD])
def test_an_interrupted_run_says_so(fixed: Cell) -> None:
    assert printed(row(fixed=fixed), wanted=3, interrupted=True).endswith("; interrupted after 1 of 3; 12 s\n")


def test_what_is_special_about_a_target_is_said_once() -> None:
    noted = [replace(cell, notes=("it has no device here",)) for cell in (FOUND, SILENT)]
    assert printed(row(*noted), row(*noted)).splitlines()[2:6] == [
        "CVE-2020-1  loader:it  it 1.0      found, 2 cases  it 2.0  silent, 2 cases",
        "",
        "loader:it: it has no device here",
        "",
    ]


def test_the_command_names_the_profile_where_the_fault_has_one() -> None:
    words = shlex.split(report.replay_command(Row(replace(FAULT, profile="hardened"), FOUND, SILENT), FOUND, "links/a[x]"))
    assert words == ["epctx", "replay", "links/a[x]", AT, "--profile", "hardened", "--policy", "contain.hard-link=refuse"]


def test_the_report_as_data_comes_back() -> None:
    done = report.Report("0.1.0", "3.11.7", (row(BLIND, LOUD), row(SKIPPED, UNUSABLE)), 12.3)
    assert msgspec.json.decode(msgspec.json.encode(done), type=report.Report) == done
