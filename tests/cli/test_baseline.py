"""Known findings, from the first run of a target with faults to the day on which they are gone."""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path

import pytest
from click.testing import Result
from tests.cli.conftest import FAKES, Epctx

from epctx import case_file
from epctx.case import Call, Case, File, World
from epctx.report import jsonl

SIZES = ("--only", "sizes/file-size-limit*")
FAULT = "size.short-write-reported"


@pytest.fixture
def known(tmp_path: Path) -> Path:
    return tmp_path / "known.toml"


def reasoned(path: Path, reason: str = "ticket 12") -> str:
    """Do what a person does: write a reason into each entry."""
    text = path.read_text(encoding="utf-8").replace('reason = ""', f'reason = "{reason}"')
    path.write_text(text, encoding="utf-8")
    return text


def last(result: Result) -> str:
    return result.output.splitlines()[-1]


def entry(rule: str, *globs: str, more: str = "") -> str:
    listed = ", ".join(f'"{glob}"' for glob in globs)
    return f'[[known]]\nrule = "{rule}"\ncases = [{listed}]\nreason = "ticket 12"\n{more}'


def test_a_first_baseline_is_written_reviewed_and_used(epctx: Epctx, known: Path, tmp_path: Path) -> None:
    first = epctx("check", "weak:S7", *SIZES, "--write-baseline", known)
    assert first.exit_code == 1
    assert f"\nbaseline {known}: 1 entry; write a reason into 1 of them\n" in first.output

    bare = epctx("check", "weak:S7", *SIZES, "--baseline", known)
    assert bare.exit_code == 2
    assert f"epctx: {known}: entry 1 ({FAULT}) has no reason; " in bare.output

    reasoned(known)
    result = epctx("check", "weak:S7", *SIZES, "--baseline", known, "--json", tmp_path / "r.jsonl")
    assert result.exit_code == 0, result.output
    assert f"known findings: {known}\n" in result.output
    assert f"\nknown 8: {FAULT}: ticket 12\n" in result.output
    assert "happened" not in result.output
    assert "; 8 of 8 known; " in result.output.splitlines()[-2]
    assert last(result).startswith("weak:S7 does not hold, but nothing is new: 8 of ")

    head, lines, foot = jsonl.read(tmp_path / "r.jsonl")
    assert head.baselines == (str(known),)
    assert (foot.held, foot.failing, foot.known, foot.stale) == (False, 8, 8, ())
    failing = [line for line in lines if line.verdict.fails]
    assert all(line.known == {FAULT: "ticket 12"} for line in failing)
    assert not any(line.known for line in lines if not line.verdict.fails)
    assert all(f.fails for line in failing for f in line.verdict.findings if f.rule == FAULT)


def test_what_is_known_is_shown_on_request(epctx: Epctx, known: Path) -> None:
    known.write_text(entry(FAULT, "sizes/file-size-limit*"))
    result = epctx("check", "weak:S7", *SIZES, "--baseline", known, "--all")
    assert result.exit_code == 0
    assert f"high  {FAULT}  8 cases\n" in result.output
    assert result.output.count("    known    ticket 12\n") == 8
    assert result.output.count("    again    epctx replay") == 8


def test_what_is_new_fails_as_before(epctx: Epctx, known: Path) -> None:
    known.write_text(entry(FAULT, "sizes/file-size-limit[1,*]", "sizes/file-size-limit[63,new]"))
    result = epctx("check", "weak:S7", *SIZES, "--baseline", known)
    assert result.exit_code == 1
    assert f"high  {FAULT}  5 cases\n" in result.output
    assert "  sizes/file-size-limit[63,existing]\n" in result.output
    assert "  sizes/file-size-limit[63,new]\n" not in result.output
    assert last(result).endswith(", 5 of them new")


def test_what_no_longer_occurs_fails_and_is_named(epctx: Epctx, known: Path, tmp_path: Path) -> None:
    known.write_text(entry(FAULT, "sizes/file-size-limit*") + entry("contain.parent", "sizes/file-size-limit[63,new]"))
    result = epctx("check", "weak:S7", *SIZES, "--baseline", known, "--json", tmp_path / "r.jsonl")
    assert result.exit_code == 1
    gone = f"stale: {known}: entry 2 (contain.parent): it no longer occurs; take out sizes/file-size-limit[63,new]\n"
    assert gone in result.output
    assert last(result).endswith("; the baseline is stale")
    (stale,) = jsonl.read(tmp_path / "r.jsonl")[2].stale
    assert (stale.file, stale.number, stale.cases) == (str(known), 2, ("sizes/file-size-limit[63,new]",))

    mended = epctx("check", *SIZES, "--baseline", known)
    assert mended.exit_code == 1
    assert last(mended).startswith("reference holds: ")
    assert last(mended).endswith("; the baseline is stale")


@pytest.mark.parametrize(
    "options",
    [
        ("--only", "links/loop*"),
        ("--only", "sizes/file-size-limit[63,new]"),
        (*SIZES, "--skip", "sizes/file-size-limit[63,new]: slow"),
    ],
)
def test_what_did_not_run_is_not_stale(epctx: Epctx, known: Path, options: tuple[str, ...]) -> None:
    known.write_text(entry("contain.parent", "sizes/file-size-limit*"))
    assert epctx("check", "--baseline", known, *options).exit_code == 0
    assert epctx("check", "--baseline", known, *SIZES).exit_code == 1


def test_an_entry_ends_after_its_last_day(epctx: Epctx, known: Path, tmp_path: Path) -> None:
    def run(last_day: date) -> Result:
        known.write_text(entry(FAULT, "sizes/file-size-limit*", more=f"expires = {last_day}\n"))
        return epctx("check", "weak:S7", *SIZES, "--baseline", known, "--json", tmp_path / "r.jsonl")

    assert run(date.today() + timedelta(days=2)).exit_code == 0
    past = run(date.today() - timedelta(days=2))
    assert past.exit_code == 1
    assert (
        f"expired: {known}: entry 1 ({FAULT}) ended on {date.today() - timedelta(days=2)}, and what it names is not "
        in past.output
    )
    assert "; 0 of 8 known; " in past.output.splitlines()[-2]
    head, lines, _ = jsonl.read(tmp_path / "r.jsonl")
    assert [e.number for e in head.expired] == [1]
    assert not any(line.known for line in lines)


def test_a_baseline_is_brought_up_to_date(epctx: Epctx, known: Path, tmp_path: Path) -> None:
    known.write_text(
        entry(FAULT, "sizes/file-size-limit[63,*]", "sizes/file-size-limit[4096,new]") + entry("type.read-missing", "links/b*")
    )
    new = tmp_path / "new.toml"
    result = epctx("check", "weak:S7", *SIZES, "--baseline", known, "--write-baseline", new)
    assert result.exit_code == 1
    assert f"baseline {new}: 3 entries; write a reason into 1 of them\n" in result.output
    text = reasoned(new, "ticket 13")
    assert '"sizes/file-size-limit[63,*]"' in text
    assert '"links/b*"' in text  # of what did not run nothing is known
    assert "4096" not in text
    again = epctx("check", "weak:S7", *SIZES, "--baseline", new)
    assert again.exit_code == 0, again.output
    assert f"\nknown 2: {FAULT}: ticket 12\n" in again.output
    assert f"\nknown 6: {FAULT}: ticket 13\n" in again.output


def test_several_baselines_add_up(epctx: Epctx, known: Path, tmp_path: Path) -> None:
    known.write_text(entry(FAULT, "sizes/file-size-limit[*,new]"))
    more = tmp_path / "more.toml"
    more.write_text(entry(FAULT, "sizes/file-size-limit[*,existing]"))
    assert epctx("check", "weak:S7", *SIZES, "--baseline", known).exit_code == 1
    assert epctx("check", "weak:S7", *SIZES, "--baseline", known, "--baseline", more).exit_code == 0


def test_a_run_ends_fast_only_at_what_is_new(epctx: Epctx, known: Path) -> None:
    known.write_text(entry(FAULT, "sizes/file-size-limit*"))
    options = ("check", "weak:S7", *SIZES, "--baseline", known, "--fail-fast", "-j", "1")
    assert epctx(*options).exit_code == 0
    known.write_text(entry(FAULT, "sizes/file-size-limit[1,*]"))
    result = epctx(*options)
    assert result.exit_code == 1
    assert ", 1 of them new so far: the run stopped after " in last(result)


@pytest.mark.parametrize(("mode", "rule"), [("hang", "safe.no-hang"), ("abort", "safe.no-crash")])
def test_a_target_that_does_not_come_back_may_be_known(
    epctx: Epctx, misbehaving: Path, known: Path, tmp_path: Path, mode: str, rule: str
) -> None:
    path = tmp_path / "trigger.json"
    case_file.write(
        path, [Case("mine/trigger", "A read.", "benign", (), World((File("model/trigger.bin"),)), (Call("read", "trigger.bin"),))]
    )
    path.write_text(path.read_text().replace('"id"', '"limits": {"seconds": 1}, "id"'))
    options = ("check", f"lib:{misbehaving}?set={mode}", "--cases", path)
    assert epctx(*options, "--write-baseline", known).exit_code == 1
    text = reasoned(known)
    assert f'rule = "{rule}"\ncases = [\n    "mine/trigger",\n]\n' in text
    assert "sometimes" not in text
    result = epctx(*options, "--baseline", known)
    assert result.exit_code == 0, result.output
    assert "; 1 of 1 known; " in result.output.splitlines()[-2]


def test_what_comes_by_luck_is_taken_down_as_such(epctx: Epctx, known: Path) -> None:
    options = ("check", "weak:shares-buffer", "--only", "threads/*")
    assert epctx(*options, "--write-baseline", known).exit_code == 1
    tables = re.split(r"^\[\[known\]\]$", reasoned(known), flags=re.MULTILINE)[1:]
    assert any("thread.no-cross-talk" in table for table in tables)
    assert all("sometimes = true\n" in table for table in tables if "threads/" in table)
    assert epctx("check", "--only", "threads/*", "--baseline", known).exit_code == 2  # it is for the other target
    known.write_text(known.read_text().replace('target = "weak:shares-buffer"\n', ""))
    held = epctx("check", "--only", "threads/*", "--baseline", known)
    assert held.exit_code == 0, held.output
    assert "stale" not in held.output


def test_a_target_that_holds_has_an_empty_baseline(epctx: Epctx, known: Path) -> None:
    assert epctx("check", *SIZES, "--write-baseline", known).exit_code == 0
    assert "[[known]]" not in known.read_text()
    assert epctx("check", *SIZES, "--baseline", known).exit_code == 0


def test_nothing_is_written_where_nothing_ran(epctx: Epctx, known: Path) -> None:
    assert epctx("check", "weak:refuses-everything", *SIZES, "--write-baseline", known).exit_code == 3
    assert epctx("check", f"header:{FAKES / 'headers' / 'broken.h'}", "--write-baseline", known).exit_code == 3
    assert not known.exists()
