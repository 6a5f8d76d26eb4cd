"""What only a process shows: pipes, terminals, signals."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Process

from epctx import case_file
from epctx.case import Call, Case, File, Limits, World
from epctx.report import jsonl

FINDING = ("check", "weak:final-link-unchecked", "--only", "links/final-outside-deep*")
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Programs that these tests start can be interrupted, also where the tests run in the background of a shell and cannot."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def in_terminal(*arguments: str, columns: int, **environment: str) -> str:
    """What a terminal of that width is sent."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), **environment}
    with subprocess.Popen(
        [sys.executable, "-m", "epctx", *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=env
    ) as process:
        os.close(theirs)
        sent = b""
        with contextlib.suppress(OSError):  # the end of a terminal is an error
            while data := os.read(ours, 65536):
                sent += data
        os.close(ours)
        process.wait(60)
    return sent.decode()


def test_in_a_pipe_each_text_is_one_line_and_nothing_is_coloured(epctx_process: Process) -> None:
    result = epctx_process(*FINDING)
    assert result.returncode == 1
    assert result.stderr == ""
    assert "\x1b" not in result.stdout
    assert not re.search(r" $", result.stdout, re.MULTILINE)
    assert "cases/s" not in result.stdout  # the progress bar is for people
    line = next(line for line in result.stdout.splitlines() if line.startswith("    again "))
    again, program, command, case, target = shlex.split(line)
    assert (again, program, command, target) == ("again", "epctx", "replay", "weak:final-link-unchecked")
    assert case.startswith("links/final-outside-deep[")
    assert max(map(len, result.stdout.splitlines())) > 80


def test_a_terminal_is_filled_to_its_width_and_a_command_stays_whole() -> None:
    sent = in_terminal(*FINDING, columns=60)
    assert "\x1b[" in sent
    assert "cases/s" in sent
    lines = [line.rstrip() for line in ESCAPE.sub("", sent).replace("\r\n", "\n").rpartition("\r")[2].splitlines()]
    commands = [line for line in lines if line.startswith("    again ")]
    assert commands
    assert all(shlex.split(line)[-1] == "weak:final-link-unchecked" for line in commands)
    assert all(len(line) <= 60 for line in lines if line not in commands)


def test_a_campaign_is_watched_in_a_terminal_and_leaves_its_findings_there(tmp_path: Path) -> None:
    arguments = ("weak:final-link-unchecked", "--out", str(tmp_path / "out"), "--seed", "7", "--cases", "1", "-j", "1")
    sent = in_terminal("fuzz", *arguments, columns=100)
    assert "cases/s now" in sent
    shown = ESCAPE.sub("", sent.rpartition("\x1b[2K")[2])  # what stays when the view is gone
    assert "cases/s now" not in shown
    assert re.search(r"[\d,]+ cases, .* findings, ", shown)
    assert "breaks rules" in shown


def test_colours_can_be_declined() -> None:
    sent = in_terminal("list", "rules", "--only", "safe*", columns=80, NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", sent)
    assert "safe.no-outside-read" in sent


def test_a_dumb_terminal_gets_text_only() -> None:
    sent = in_terminal("check", "--only", "control/*", columns=80, TERM="dumb")
    assert "\x1b" not in sent
    assert "reference holds" in sent


def test_a_locale_without_the_characters_gets_escapes(epctx_process: Process) -> None:
    shown = epctx_process("show", "links/hard-outside[read,flat]", env={"PYTHONIOENCODING": "ascii"})
    listed = epctx_process("list", "cases", "--only", "*macos*", env={"PYTHONIOENCODING": "ascii"})
    for result in (shown, listed):
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout.isascii()
    assert "+-- hard.bin" in shown.stdout


def test_a_reader_that_goes_away_is_no_fault() -> None:
    words = [sys.executable, "-m", "epctx", "list", "cases"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 128 + signal.SIGPIPE


def interrupted(*arguments: str | Path, when: str, wait: float = 0.0) -> tuple[int, str, str, float]:
    """Ctrl-C, as a terminal sends it, once a line that starts with ``when`` was printed; also, how long the end took."""
    words = [sys.executable, "-u", "-m", "epctx", *map(str, arguments)]
    # The environment is named, since readline, where a test runner loads it, adds COLUMNS behind Python's back.
    environment, pipe = dict(os.environ), subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, start_new_session=True, env=environment) as process:
        assert process.stdout
        out = ""
        while not (line := process.stdout.readline()).startswith(when):
            assert line, out
            out += line
        time.sleep(wait)
        os.killpg(process.pid, signal.SIGINT)
        start = time.monotonic()
        rest, errors = process.communicate(timeout=60)
        return process.returncode, out + line + rest, errors, time.monotonic() - start


def test_an_interrupt_ends_with_what_is_known_so_far(tmp_path: Path) -> None:
    files = ("--json", tmp_path / "r.jsonl", "--report", f"sarif:{tmp_path / 'r.sarif'}")
    code, out, errors, took = interrupted("check", "weak:none", *files, when="ONNX", wait=1.5)
    assert code == 130
    assert errors == ""
    assert re.search(r"so far: the run was interrupted after \d+ of [\d,]+ cases$", out.rstrip())
    head, lines, foot = jsonl.read(tmp_path / "r.jsonl")
    assert foot.interrupted
    assert not foot.held
    assert len(lines) == sum(foot.counts.values()) < head.cases
    (told,) = json.loads((tmp_path / "r.sarif").read_text())["runs"][0]["invocations"]
    assert (told["executionSuccessful"], told["exitCode"]) == (False, 130)
    assert took < 10


def test_an_interrupt_does_not_wait_for_a_call_that_hangs(misbehaving: Path, tmp_path: Path) -> None:
    case = Case(
        "mine/hang",
        "A read.",
        "benign",
        (),
        World((File("model/trigger.bin"),)),
        (Call("read", "trigger.bin"),),
        limits=Limits(60.0),
    )
    case_file.write(tmp_path / "hang.jsonl", [case])
    arguments = ("check", f"lib:{misbehaving}?set=hang", "--cases", tmp_path / "hang.jsonl")
    code, out, errors, took = interrupted(*arguments, when="ONNX", wait=1.5)
    assert code == 130
    assert errors in ("", "epctx: interrupted\n")  # the latter before the first case
    assert "the run was interrupted after 8 of 9 cases" in out
    assert took < 10


@pytest.mark.parametrize("wait", [0.0, 0.1, 0.2, 0.3])
def test_an_interrupt_while_workers_start_is_quiet(wait: float) -> None:
    code, _, errors, _ = interrupted("check", "-j", "4", when="ONNX", wait=wait)
    assert code == 130
    assert errors in ("", "epctx: interrupted\n")  # the latter before the first case


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL])
def test_what_is_killed_leaves_no_process_behind(by: signal.Signals) -> None:
    words = [sys.executable, "-u", "-m", "epctx", "check", "-j", "2"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout
        while not process.stdout.readline().startswith(b"ONNX"):
            assert process.poll() is None
        time.sleep(0.5)
        process.send_signal(by)
        process.wait(10)
    deadline = time.monotonic() + 10
    while in_session(process.pid):
        assert time.monotonic() < deadline, in_session(process.pid)
        time.sleep(0.05)


def in_session(session: int) -> list[int]:
    """The processes that still live in a session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, _, _, session_of = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
                if int(session_of) == session and state not in "ZX":
                    found.append(int(entry.name))
    return found


@pytest.mark.slow
def test_an_interrupt_before_anything_ran_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPCTX_CACHE", str(tmp_path / "cache"))  # so that it takes a while to compile
    words = [sys.executable, "-m", "epctx", "check"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, start_new_session=True, env=dict(os.environ)) as process:
        while not (tmp_path / "cache").exists():
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        assert process.communicate(timeout=60) == ("", "epctx: interrupted\n")
        assert process.returncode == 130


def test_version_and_help(epctx_process: Process) -> None:
    assert re.fullmatch(r"epctx \d+\.\d+\.\d+\S*\n", epctx_process("--version").stdout)
    for command in ("", "check", "replay", "list", "show", "explain", "export", "fuzz", "selftest", "bench"):
        result = epctx_process(*filter(None, [command]), "--help")
        assert result.returncode == 0
        assert result.stdout.startswith(f"Usage: epctx {command}".rstrip())
        assert "..." not in result.stdout.partition("Commands:")[2]


def test_a_race_is_seen_on_one_processor_too() -> None:
    """There the attacker and the target never run at once: it has to wake in the middle of a call."""
    words = [sys.executable, "-m", "epctx", "check", "weak:walks-back-by-dotdot", "--profile", "hardened"]
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        result = subprocess.run(
            [*words, "--only", "races/parent-moves-outside*"], stdout=subprocess.PIPE, text=True, check=False, timeout=120
        )
    finally:
        os.sched_setaffinity(0, before)
    assert result.returncode == 1
    assert "contain.race" in result.stdout
