from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from tests.report.runs import MIXED

from epctx.case import Call, Case, Piece, World
from epctx.errors import UsageError
from epctx.observation import Observation, Seen
from epctx.oracle import Verdict
from epctx.report import jsonl
from epctx.report.jsonl import JsonLines, read
from epctx.report.record import Header, Line, footer

SCHEMA = Path(__file__).parent.parent.parent / "docs" / "schema" / "run.schema.json"
HEAD = Header("reference", "spec", 1, "a box", "1.32.0", "0.1.0", "2026-01-01T00:00:00+00:00")
LINE = Line(
    0,
    Case("a/b", "A case.", "hostile", ("contain.parent",), World(), (Call("read", (Piece(hex="ff"),)),)),
    Verdict("a/b", "pass", ("refused",)),
    Observation("a/b", "reference", calls=(Seen("returned", code=2, message="no \x1b\n"),)),
)


def write(path: Path, *records: object) -> Path:
    with JsonLines(path) as report:
        for record in records:
            report.write(record)  # type: ignore[arg-type]
    return path


def test_a_report_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    foot = footer([LINE.verdict], [LINE.observation], 1.5)
    path = write(tmp_path / "r.jsonl", HEAD, LINE, foot)
    assert read(path) == (HEAD, [LINE], foot)
    assert path.read_bytes().count(b"\n") == 3


def test_a_report_without_a_footer_was_cut_off(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cut off"):
        read(write(tmp_path / "r.jsonl", HEAD, LINE))


def test_a_line_that_ends_in_the_middle_is_a_run_that_was_cut_off(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", HEAD, LINE, footer([LINE.verdict], [LINE.observation], 1.5))
    whole = path.read_bytes()
    for end in (len(whole) - 3, whole.index(b"\n", whole.index(b"\n") + 1) - 20):
        path.write_bytes(whole[:end])
        with pytest.raises(UsageError, match="cut off"):
            read(path)


@pytest.mark.parametrize(("written", "version"), [(b'"format":3', 3), (b'"format":1', 1), (b'"boxed":true', 1)])
def test_another_format_is_named(tmp_path: Path, written: bytes, version: int) -> None:
    path = write(tmp_path / "r.jsonl", HEAD, LINE, footer([LINE.verdict], [LINE.observation], 1.5))
    assert path.read_bytes().count(b'"format":2') == 1
    path.write_bytes(path.read_bytes().replace(b'"format":2', written))
    with pytest.raises(UsageError, match=f"saved in format {version}, and this epctx reads format 2"):
        read(path)


def test_lines_are_in_order(tmp_path: Path) -> None:
    foot = footer([LINE.verdict], [LINE.observation], 1.5)
    with pytest.raises(UsageError, match="a header, a line for each case, and a footer"):
        read(write(tmp_path / "r.jsonl", HEAD, HEAD, foot))


@pytest.mark.parametrize("text", [b"", b"{}\n", b"not json\n", b'{"type":"header"}\n'])
def test_what_is_no_report_is_one_sentence(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(text)
    with pytest.raises(UsageError, match=r"r\.jsonl"):
        read(path)


def test_a_file_that_cannot_be_written_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name a file that can be written"), JsonLines(tmp_path / "no" / "r.jsonl"):
        pass


@pytest.mark.parametrize(
    ("results", "held"),
    [
        (["pass"], True),
        (["pass", "note", "skip"], True),
        (["pass", "fail"], False),
        (["pass", "hang"], False),
        (["pass", "crash"], False),
        (["pass", "error"], False),
        (["skip"], False),
        ([], False),
    ],
)
def test_a_target_held_only_if_something_ran_and_nothing_broke(results: list[str], held: bool) -> None:
    assert footer([Verdict("a/b", r) for r in results], [], 1.0).held is held  # type: ignore[arg-type]
    assert footer([Verdict("a/b", r) for r in results], [], 1.0, interrupted=True).held is False  # type: ignore[arg-type]


def test_the_schema_is_that_of_the_structs() -> None:
    assert SCHEMA.read_text() == json.dumps(jsonl.schema(), indent=2) + "\n"


def test_every_line_is_valid_by_the_schema(tmp_path: Path) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    texts = write(tmp_path / "r.jsonl", MIXED.header, *MIXED.lines, MIXED.footer).read_text().splitlines()
    assert len(texts) == len(MIXED.lines) + 2
    for text in texts:
        validator.validate(json.loads(text))
    assert not validator.is_valid({**json.loads(texts[0]), "format": 1})
    assert not validator.is_valid({**json.loads(texts[1]), "more": 1})
