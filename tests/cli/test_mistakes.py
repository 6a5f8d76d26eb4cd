"""What a user may get wrong: one clear sentence, the right exit code, and never a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cli.conftest import FAKES, Epctx, Process

HEADERS = FAKES / "headers"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with files of the wrong kind."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dir.json").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    (tmp_path / "cut.json").write_text("{")
    (tmp_path / "none.jsonl").touch()
    (tmp_path / "text").write_text("This is no case.\n")
    (tmp_path / "loop.json").symlink_to("loop.json")
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "fifo.json")
    (tmp_path / "bare.toml").write_text('[[known]]\nrule = "contain.parent"\ncases = ["links/*"]\nreason = ""\n')
    (tmp_path / "stale.toml").write_text('[[known]]\nrule = "contain.parent"\ncases = ["link/*"]\nreason = "ticket 12"\n')
    (tmp_path / "other.toml").write_text('target = "weak:S7"\n')
    (tmp_path / "spec.toml").write_text('profile = "spec"\n')
    return tmp_path


MISTAKES: list[tuple[tuple[str, ...], str]] = [
    # commands and options
    (("chekc",), "did you mean 'check'?"),
    (("nonsense",), "the commands are check, "),
    (("check", "--onyl", "x"), "No such option"),
    (("check", "reference", "weak:S7"), "unexpected extra argument"),
    (("check", "--jobs", "0"), "not in the range"),
    (("check", "--jobs", "many"), "not a valid integer"),
    (("check", "--profile", "strict"), "not one of 'spec', 'ort-1.28', 'ort-1.31', 'hardened'"),
    (("check", "--policy", "contain.hard-link"), "write RULE=accept"),
    (("check", "--policy", "contain.hard-link=maybe"), "write RULE=accept"),
    (("check", "--policy", "contain.parent=accept"), "with RULE one of contain.hard-link, contain.model-link-cache"),
    (("selftest", "--repeat", "0"), "not in the range"),
    (("bench", "--seconds", "0"), "not in the range"),
    # targets
    (("check", ""), "names no target"),
    (("check", "mine"), "there is no kind 'mine'; the kinds are ep, "),
    (("check", "reference:x"), "reference takes no name"),
    (("check", "reference?platfrom=windows"), "did you mean 'platform'?"),
    (("check", "reference?platform=amiga"), "platform is posix or windows, not 'amiga'"),
    (("check", "reference?platform"), "write OPTION=VALUE"),
    (("check", "weak:nothing"), "There is no weak target 'nothing'"),
    (("check", "weak:S7?platform=windows"), "it has chunking"),
    (("check", "reference?chunking=random"), "the only chunking that can be declared is ordered, not 'random'"),
    (("check", "lib:missing.so?chunks=ordered"), "did you mean 'chunking'?"),
    (("check", "header:"), "names no header"),
    (("check", "header:missing.h"), "There is no header missing.h"),
    (("check", "header:dir.json"), "There is no header dir.json"),
    (("check", f"header:{HEADERS / 'plain.h'}?include=missing"), "There is no include directory"),
    (("check", f"header:{HEADERS / 'plain.h'}?namespace=a%20b"), "not the name of a C++ namespace"),
    (("check", "header:x.h?namespace=a&namespace=b"), "gives namespace 2 times"),
    (("check", "lib:missing.so"), "there is no library 'missing.so'"),
    (("check", "lib:dir.json"), "there is no library 'dir.json'"),
    (("bench", "mine"), "there is no kind 'mine'"),
    # cases
    (("check", "--only", "links/finel*"), "matches no case, so nothing would run; did you mean 'links/"),
    (("check", "--only", "["), "matches no case"),
    (("check", "--skip", "links/*"), "give a reason, as in --skip 'links/*: ticket 12'"),
    (("check", "--skip", "nothing/*: why"), "the skip is stale"),
    (("check", "--cases", "missing.json"), "missing.json: cannot be read: No such file"),
    (("check", "--cases", "dir.json"), "there is no case file in this folder"),
    (("check", "--cases", "cut.json"), "not JSON"),
    (("check", "--cases", "none.jsonl"), "there is no case in it"),
    (("check", "--cases", "text"), "a case file is called .json (one case) or .jsonl"),
    (("check", "--cases", "loop.json"), "Too many levels of symbolic links"),
    (("check", "--cases", "zero.json"), "not a regular file"),
    (("check", "--cases", "fifo.json"), "not a regular file"),
    (("replay",), "Missing argument 'CASE'"),
    (("replay", "nothing"), "there is no family 'nothing'"),
    (("replay", "links/final-outside"), "There is no case 'links/final-outside'; did you mean 'links/final-outside["),
    (("replay", "links/xyzzy"), "`epctx list cases --only 'links/*'`"),
    (("replay", "none.jsonl"), "none.jsonl holds 0 cases; name one by its id, and the file with --cases"),
    (("replay", "links/loop", "--cases", "none.jsonl"), "there is no case in it"),
    (("replay", "control/read[sub]", "mine"), "There is no case"),
    (("show", "fifo.json"), "not a regular file"),
    (("show", "text"), "a case file is called .json"),
    (("show", ""), "is no case"),
    (("list",), "Missing argument 'WHAT'"),
    (("list", "everything"), "'everything' is not one of 'attacks', 'cases'"),
    (("list", "rules", "--only", "nothing*"), "matches none of the rules"),
    (("explain", "contain.parnet"), "did you mean 'contain.parent'?"),
    (("explain", "xyzzy"), "see `epctx list rules`"),
    (("selftest", "--only", "nothing*"), "matches no weak target"),
    # baselines
    (("check", "--baseline", "missing.toml"), "missing.toml: cannot be read: No such file"),
    (("check", "--baseline", "fifo.json"), "fifo.json: this is not a regular file"),
    (("check", "--baseline", "text"), "text: not TOML: "),
    (("check", "--baseline", "bare.toml"), "bare.toml: entry 1 (contain.parent) has no reason; look at the finding"),
    (
        ("check", "--baseline", "stale.toml"),
        "stale.toml: entry 1 (contain.parent): 'link/*' matches no case, so the entry is stale",
    ),
    (
        ("check", "--baseline", "other.toml"),
        "other.toml: this baseline is for the target 'weak:S7', and the run's is 'reference'",
    ),
    (("check", "--baseline", "spec.toml", "--profile", "hardened"), "for the profile 'spec', and the run's is 'hardened'"),
    (("check", "--write-baseline", "new.toml", "--fail-fast"), "--write-baseline takes a whole run; leave out --fail-fast"),
    (("check", "--write-baseline", "text"), "--write-baseline text: there is such a file, and its reasons would be lost"),
    (("check", "mine", "--write-baseline", "new.toml"), "there is no kind 'mine'"),
    # reports
    (("check", "--report", "markdon:x"), "There is no report 'markdon'; did you mean 'markdown'?"),
    (("check", "--report", "xyzzy:x"), "There is no report 'xyzzy'; there are "),
    (("check", "--report", "markdown"), "'markdown' is no report; write FORMAT:FILE"),
    (("check", "--report", "markdown:"), "'markdown:' is no report; write FORMAT:FILE"),
    (("check", "--report", "markdown:-"), "report markdown:-: standard output has the terminal report; name a file"),
    (("check", "--report", "markdown:x", "--report", "markdown:x"), "x is the file of two reports"),
    (("check", "--report", "markdown:missing/x"), "report markdown:missing/x: No such file or directory; name a file"),
    (("check", "--report", "markdown:dir.json"), "report markdown:dir.json: Is a directory"),
    (("check", "--source", "missing.h:3"), "--source missing.h:3: there is no such file; write FILE, or FILE:LINE"),
    (("report",), "Missing argument 'RUN'"),
    (("report", "text"), "Missing argument 'FORMAT:FILE...'"),
    (("report", "text", "markdown:x"), "text: this is no saved run; write one with --json"),
    (("report", "fifo.json", "markdown:x"), "fifo.json: this is not a regular file"),
    (("report", "none.jsonl", "markdown:x"), "none.jsonl: this is no saved run"),
    (("report", "missing.jsonl", "markdown:x"), "missing.jsonl: cannot be read: No such file"),
    # files to write
    (
        ("check", "--json", "missing/r.jsonl"),
        "--json missing/r.jsonl: No such file or directory; name a file that can be written",
    ),
    (("check", "--write-baseline", "missing/b.toml"), "--write-baseline missing/b.toml: No such file or directory; name a file"),
    (("check", "--json", "dir.json"), "--json dir.json: Is a directory"),
    (("selftest", "--save", "missing/m.md"), "--save missing/m.md: No such file or directory"),
    (("export", "full"), "full is not empty; name a new directory"),
    (("export", "text"), "text: File exists"),
    (("export", "text/new"), "Not a directory"),
    (("export", "new", "--only", "nothing/*"), "matches no case"),
]


@pytest.mark.parametrize(("arguments", "words"), MISTAKES, ids=[" ".join(a) or "-" for a, _ in MISTAKES])
def test_a_mistake_is_told_and_nothing_is_done(epctx: Epctx, place: Path, arguments: tuple[str, ...], words: str) -> None:
    before = sorted(place.rglob("*"))
    result = epctx(*arguments)
    assert result.exit_code == 2, result.output
    assert words in result.output
    assert "Traceback" not in result.output
    assert sorted(place.rglob("*")) == before


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"CXX": "no-such-compiler"}, "$CXX names 'no-such-compiler', which is not a program that can be run"),
        ({"CXX": "'"}, "$CXX is no command"),
        ({"CXX": "/bin/false"}, "/bin/false does not run"),
        ({"CXX": "/bin/cat"}, "The command was:\n/bin/cat -std=c++17"),
        ({"EPCTX_CACHE": "text"}, "Set EPCTX_CACHE to another directory"),
        ({"EPCTX_CACHE": "/proc/nowhere"}, "Set EPCTX_CACHE to another directory"),
    ],
    ids=str,
)
def test_a_harness_that_cannot_work_says_so(
    epctx: Epctx, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], words: str
) -> None:
    for name, value in {"EPCTX_CACHE": "cache", **environment}.items():
        monkeypatch.setenv(name, value)
    result = epctx("check", "--only", "control/*")
    assert result.exit_code == 3, result.output
    assert words in result.output


def test_without_a_compiler_the_ways_to_one_are_named(epctx: Epctx, monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    monkeypatch.setenv("PATH", str(place))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    result = epctx("check")
    assert result.exit_code == 3
    assert "No C++ compiler was found: set $CXX to one, or install g++ or clang++, or install epctx[zig]" in result.output


@pytest.mark.parametrize("content", [b"", b"no library", b"\x7fELF" + bytes(60)], ids=["empty", "text", "header-only"])
def test_a_library_that_is_none_is_not_usable(epctx: Epctx, place: Path, content: bytes) -> None:
    (place / "my.so").write_bytes(content)
    result = epctx("check", "lib:my.so", "--only", "control/*")
    assert result.exit_code == 3
    assert "The target lib:my.so cannot be loaded: " in result.output


def test_when_all_is_skipped_nothing_ran(epctx: Epctx) -> None:
    result = epctx("check", "--skip", "*: not today")
    assert result.exit_code == 4
    assert "No case is left to run" in result.output


def test_a_file_that_may_not_be_read(epctx_process: Process, place: Path) -> None:
    (place / "secret.json").write_text("{}")
    (place / "secret.json").chmod(0)
    if os.geteuid() == 0:
        pytest.skip("root may read every file")
    result = epctx_process("show", "secret.json")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "epctx: secret.json: cannot be read: Permission denied\n"


@pytest.mark.parametrize("arguments", [("check", "weak:nothing"), ("show", "cut.json"), ("export", "full")], ids=" ".join)
def test_a_mistake_is_one_line_on_standard_error(epctx_process: Process, arguments: tuple[str, ...]) -> None:
    result = epctx_process(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("epctx: ")
    assert result.stderr.count("\n") == 1
