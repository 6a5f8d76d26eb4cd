"""The driver's end of the conversation with a program: what it asks, and what it makes of the answers."""

from __future__ import annotations

import os
import re
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from epctx.adapter import Died, ReadCall, Skip, WriteCall
from epctx_driver.program import Program, open_adapter
from epctx_driver.serve import Fault, Unusable

MISBEHAVING = Path(__file__).parent.parent / "fakes" / "programs" / "misbehaving.py"
NOBODY = "weights.bin"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of a model with data beside it, in a directory that is the working one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weights.bin").write_bytes(b"content")
    return str(tmp_path / "model.onnx")


@pytest.fixture
def start() -> Iterator[Any]:
    """Starts programs, all of which end with the test."""
    started: list[Program] = []

    def starts(*how: str) -> Program:
        started.append(Program([sys.executable, "-S", str(MISBEHAVING), *how], {}))
        return started[-1]

    yield starts
    for program in started:
        program.bye()


def test_a_program_that_keeps_to_the_protocol(start: Any, model: str, tmp_path: Path) -> None:
    program = start("works")
    assert program.description.target == "a program that works"
    assert program.read(ReadCall("weights.bin", model, None, False)) == b"content"
    program.write(WriteCall("ignored", model, None, False, b"new", fallback="written.bin"))
    assert (tmp_path / "written.bin").read_bytes() == b"new"
    with pytest.raises(Exception, match=r"leads out") as refused:
        program.read(ReadCall("../f", model, None, False))
    assert vars(refused.value)["code"] == 2
    assert program.bye() == ""
    assert program.bye() == ""


def test_names_that_are_no_text_come_through(start: Any, model: str, tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff\xfe\xed\xa0\x80")
    (tmp_path / name).write_bytes(b"odd")
    assert start("works").read(ReadCall(name, model, None, False)) == b"odd"


def test_an_adapter_has_what_the_program_can() -> None:
    adapter = open_adapter([sys.executable, str(MISBEHAVING), "only reads"], {})
    try:
        assert not hasattr(adapter, "write")
        assert adapter.met == "a program that only reads"
        assert adapter.unsupported == {"callbacks": "not yet", "threads": "a program makes one call after the other"}
    finally:
        assert adapter.close() == ""


def test_a_skip_has_its_reason(start: Any, model: str) -> None:
    with pytest.raises(Skip, match=r"^no file is mounted here$"):
        start("skips").read(ReadCall("weights.bin", model, None, False))


def test_a_limit_on_files_is_that_of_the_program(start: Any, model: str) -> None:
    program = start("works")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(Exception, match=r"File too large"):
            program.write(WriteCall("w", model, None, False, b"x" * 11))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    program.write(WriteCall("w", model, None, False, b"x" * 11))


def test_what_it_prints_stops_nobody(start: Any, model: str) -> None:
    program = start("floods its errors")
    for _ in range(3):
        assert program.read(ReadCall("weights.bin", model, None, False)) == b"content"


# --- what is no answer ------------------------------------------------------------------------------------------------------

A_READ = "expected result, error or skip of call 1; came"


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("answers another call", f'line 3 of its standard output: {A_READ} {{"message": "result", "id": 2,'),
        ("answers another call", "it is of call 2"),
        ("gives numbers", "the field payload of the result is a list, and not a string in base64"),
        ("gives no payload", "the result of a read has no payload"),
        ("gives no base64", "the field payload of the result is no base64"),
        ("adds a field", 'the result has an unknown field "seconds"; it has id, payload'),
        (
            "says an unknown word",
            'its field message is "done", and not one of hello, describe, callback, result, error, skip, bye',
        ),
        ("writes a log", r"reading \x1b[1mweights\x1b[0m (it is no JSON"),
        ("writes other bytes", r"\xff\xfe (it is not UTF-8 at byte 0"),
        ("nests", "… (100000 bytes) (it is no JSON: "),
        ("calls back unasked", "(that is not its turn"),
        ("errs with OK", "0 is not the code of an error"),
        ("floods", "tick (it is no JSON"),
        ("never ends a line", "it has more than 96 MiB"),
    ],
)
def test_what_breaks_the_protocol_is_named(start: Any, model: str, how: str, words: str) -> None:
    with pytest.raises(Fault) as told:
        start(how).read(ReadCall("weights.bin", model, None, False))
    text = str(told.value)
    assert text.startswith(f"the program broke the protocol in line 3 of its standard output: {A_READ} ")
    assert words in text
    assert text.isprintable()
    assert len(text) < 500


def test_a_second_answer_is_noticed(start: Any, model: str) -> None:
    program = start("answers twice")
    assert program.read(ReadCall("weights.bin", model, None, False)) == b"content"
    told: list[str] = []
    while not told:  # it may come only once the next call is under way
        try:
            assert program.read(ReadCall("weights.bin", model, None, False)) == b"content"
        except Fault as error:
            told.append(str(error))
    assert re.search(r"in line [4-9] of its standard output: expected .*; came .*Y29udGVudA==", told[0])


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (
            "exits",
            "the program exited with status 7 where result, error or skip of call 1 was expected; it printed: no licence",
        ),
        ("crashes", "the program was killed by SIGSEGV where "),
        ("stops midway", 'the program exited with status 0 in the middle of line 3, {"message":"resu, where '),
        ("leaves a child", "the program exited with status 3 where "),
        ("closes its output", "the program closed its standard output and went on where "),
    ],
)
def test_a_program_that_ends_has_died(start: Any, model: str, how: str, words: str) -> None:
    with pytest.raises(Died) as told:
        start(how).read(ReadCall("weights.bin", model, None, False))
    assert str(told.value).startswith(words)


@pytest.mark.parametrize("how", ["exits", "says an unknown word"])
def test_the_next_call_finds_a_new_program(start: Any, model: str, how: str) -> None:
    program = start(how, "refusing")
    for _ in range(2):
        with pytest.raises((Died, Fault)):
            program.read(ReadCall("../f", model, None, False))
        assert program.read(ReadCall("weights.bin", model, None, False)) == b"content"


# --- before and after the calls ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("says something first", "in line 1 of its standard output: expected its hello; came Loading the loader… (it is no JSON"),
        ("cannot work", "the program says that it cannot work: the device is in use"),
        ("speaks another version", "the program speaks version 2 of the protocol, and this epctx version 1"),
        ("has no operation", "the program says that it has neither read nor write"),
        (
            "supports too much",
            'a key of the field unsupported of the describe is "colours", and not one of callbacks, fallback, trusted',
        ),
    ],
)
def test_a_program_that_does_not_come_up(start: Any, how: str, words: str) -> None:
    with pytest.raises(Unusable) as told:
        start(how)
    assert words in str(told.value)


def test_a_program_that_never_says_hello(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("epctx_driver.program.START_SECONDS", 0.2)
    with pytest.raises(Unusable, match=r"^the program took too long: expected its hello; came nothing$"):
        start("never says hello")


def test_what_is_no_program() -> None:
    with pytest.raises(Unusable, match=r"^the program /no/such/program cannot be started: No such file or directory$"):
        Program(["/no/such/program"], {})


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("says no bye", "the program exited with status 0 where its bye was expected"),
        ("fails in the end", "the program said bye, and then exited with status 5"),
        ("stays after its bye", "the program said bye, and did not end within 0.3 s"),
    ],
)
def test_a_bad_end_is_told(start: Any, monkeypatch: pytest.MonkeyPatch, how: str, words: str) -> None:
    monkeypatch.setattr("epctx_driver.program.BYE_SECONDS", 0.3)
    assert start(how).bye() == words
