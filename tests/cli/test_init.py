"""``epctx init``: what it finds out, what it writes, and that nothing is lost."""

from __future__ import annotations

import contextlib
import os
import pty
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.cli.conftest import FAKES, Epctx

from epctx.project import files
from epctx.project.header import namespaces

PLAIN = FAKES / "headers" / "plain.h"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(place: Path) -> list[str]:
    return sorted(str(file.relative_to(place)) for file in place.rglob("*") if not file.is_dir())


def test_a_header_is_found_tried_and_set_up(epctx: Epctx, place: Path) -> None:
    (place / "include").mkdir()
    shutil.copy(PLAIN, place / "include" / "mine.h")
    (place / "include" / "other.h").write_text("namespace other { inline int Read(); }\n")
    result = epctx("init", "--yes", "--ci", "github", "--epctx", "epctx>=0.1")
    assert result.exit_code == 0, result.output
    assert "trying header:include/mine.h\nok        is made ready" in result.output
    assert "wrote epctx.toml\nwrote tox.ini\nwrote .github/workflows/epctx.yml\n" in result.output
    assert tomllib.loads((place / "epctx.toml").read_text()) == {"target": "header:include/mine.h"}
    assert "\n[testenv:epctx]\n" in (place / "tox.ini").read_text()
    assert "\ndeps = epctx>=0.1\n" in (place / "tox.ini").read_text()
    assert "tox -e epctx -- --report sarif:epctx.sarif" in (place / ".github/workflows/epctx.yml").read_text()
    before = written(place)
    again = epctx("init", "--yes")
    assert (again.exit_code, "there is epctx.toml already; --force replaces" in again.output) == (2, True)
    assert written(place) == before


def test_a_target_that_cannot_be_judged_is_told_and_nothing_is_written(epctx: Epctx, place: Path) -> None:
    (place / "mine.h").write_text("namespace mine { int ReadEpContextData(int); }\n")
    result = epctx("init", "--yes")
    assert result.exit_code == 3, result.output
    assert "failed    is made ready" in result.output
    assert "Nothing was written, since this target cannot be judged yet" in result.output
    assert written(place) == ["mine.h"]


def test_what_is_there_stays(epctx: Epctx, place: Path) -> None:
    (place / "tox.ini").write_text("[tox]\nenv_list = py\n")
    (place / ".gitlab").mkdir()
    (place / ".gitlab" / "epctx.yml").write_text("mine\n")
    arguments = ("init", "--yes", "--kind", "python", "--path", "my.adapter:Loader", "--ci", "gitlab")
    refused = epctx(*arguments)
    assert (refused.exit_code, "Nothing was written: there is .gitlab/epctx.yml already" in refused.output) == (2, True)
    assert written(place) == [".gitlab/epctx.yml", "tox.ini"]
    forced = epctx(*arguments, "--force")
    assert forced.exit_code == 0, forced.output
    assert (place / "tox.ini").read_text() == "[tox]\nenv_list = py\n"
    assert "tox.ini was left as it is; add this environment to it" in forced.output
    assert "[testenv:epctx]" in forced.output
    assert "junit:epctx.xml" in (place / ".gitlab" / "epctx.yml").read_text()
    assert "class Loader:" in (place / "my" / "adapter.py").read_text()
    assert tomllib.loads((place / "epctx.toml").read_text()) == {"target": "python:my.adapter:Loader"}


def test_a_link_is_replaced_and_not_what_it_leads_to(place: Path) -> None:
    (place / "other").write_text("kept")
    (place / "epctx.toml").symlink_to("other")
    files.write([files.settings("reference")], force=True)
    assert (place / "other").read_text() == "kept"
    assert not (place / "epctx.toml").is_symlink()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Say with --path where it is: the header with the functions of the reference helper; there are a.h, b.h."),
        (("--path", "missing.h"), "There is no header missing.h: No such file"),
        (("--path", "none.h"), "none.h has no function ReadEpContextData"),
        (("--path", "a.h", "--namespace", "io"), "a.h has no ReadEpContextData in namespace io; it is in ep_context_data_utils."),
        (("--path", "two.txt"), "two.txt has ReadEpContextData in a, b::c; choose with --namespace."),
        (("--path", "a.h", "--include", "missing"), "There is no include directory missing."),
        (("--kind", "lib", "--path", "my.so"), "There is no library my.so; build one around your loader first"),
        (("--kind", "ep", "--path", "mine.so"), "Say with --name as which execution provider mine.so registers itself."),
        (("--kind", "exec"), "Say with --path where it is: the command of a program that speaks JSON lines."),
        (("--kind", "nothing"), "'nothing' is not one of 'header', 'lib', 'python', 'exec', 'ep'"),
        (("--kind", "python", "--path", "new:Adapter", "--baseline"), "--baseline needs a target that works"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_written(epctx: Epctx, place: Path, arguments: tuple[str, ...], words: str) -> None:
    for name in ("a.h", "b.h"):
        shutil.copy(PLAIN, place / name)
    (place / "none.h").write_text("// ReadEpContextData(\n")
    (place / "two.txt").write_text("namespace a { int ReadEpContextData(int); } namespace b::c { int ReadEpContextData(int); }")
    (place / "mine.so").touch()
    before = written(place)
    result = epctx("init", "--yes", *arguments)
    assert (result.exit_code, words in result.output) == (2, True), result.output
    assert written(place) == before


def test_settings_in_pyproject_are_not_doubled(epctx: Epctx, place: Path) -> None:
    (place / "pyproject.toml").write_text('[tool.epctx]\ntarget = "reference"\n')
    result = epctx("init", "--yes", "--kind", "python")
    assert (result.exit_code, "The settings of this project are in pyproject.toml" in result.output) == (2, True)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("namespace a { OrtStatus* ReadEpContextData(int); }", ["a"]),
        ("namespace a { namespace b { struct C { int x; }; int ReadEpContextData(int) { return 1; } } }", ["a::b"]),
        ("inline namespace a { int ReadEpContextData(int); }", ["a"]),
        ("namespace { int ReadEpContextData(int); }", [""]),
        ("namespace a { int f() { return ReadEpContextData(1); } }", []),
        ("/* namespace a { ReadEpContextData( } */ // ReadEpContextData(\n", []),
        ("namespace a { auto s = \"}\"; char c = '}'; int ReadEpContextData(int); }", ["a"]),
        ("int ReadEpContextData(int);", [""]),
    ],
)
def test_namespaces_are_read_out_of_a_header(text: str, found: list[str]) -> None:
    assert namespaces(text) == found


def test_on_a_terminal_it_asks(place: Path) -> None:
    shutil.copy(PLAIN, place / "mine.h")
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "epctx", "init"]
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "dumb"}) as process:
        os.close(theirs)
        os.write(ours, b"header\n\n\nnone\n")
        sent = b""
        with contextlib.suppress(OSError):  # the end of a terminal is an error
            while data := os.read(ours, 65536):
                sent += data
        os.close(ours)
        assert process.wait(120) == 0, sent.decode()
    text = sent.decode()
    for question in (
        "What is to be judged",
        "[mine.h]",
        "Namespace of its functions [ep_context_data_utils]",
        "Whose CI runs it",
    ):
        assert question in text
    assert written(place) == ["epctx.toml", "mine.h", "tox.ini"]


@pytest.mark.slow
def test_a_first_baseline_makes_known_what_is_found(epctx: Epctx, place: Path) -> None:
    shutil.copy(PLAIN, place / "mine.h")
    result = epctx("init", "--yes", "--baseline")
    assert result.exit_code == 0, result.output
    assert tomllib.loads((place / "epctx.toml").read_text())["baseline"] == "epctx-known.toml"
    known = (place / "epctx-known.toml").read_text()
    assert 'rule = "contain.parent"' in known
    refused = epctx("check")
    assert (refused.exit_code, "has no reason" in refused.output) == (2, True)
    (place / "epctx-known.toml").write_text(known.replace('reason = ""', 'reason = "ticket 4"'))
    held = epctx("check", "--only", "traversal/*")
    assert (held.exit_code, "does not hold, but nothing is new" in held.output) == (0, True), held.output
