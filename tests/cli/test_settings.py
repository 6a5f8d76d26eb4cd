"""Settings in a file: what they do, that the command line wins, and what is said of mistakes in them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Epctx

from epctx.report import jsonl
from epctx.run import settings

ROOT = Path(__file__).parent.parent.parent

WHOLE = """\
target = "weak:final-link-unchecked"
profile = "hardened"
only = "links/final-outside[*,relative]"
baseline = "known.toml"
jobs = 1
patience = 20
json = "run.jsonl"
report = ["markdown:summary.md"]

[policy]
"contain.hard-link" = "report"

[skip]
"links/final-outside[write*" = "ticket 12"
"""
KNOWN = '[[known]]\nrule = "contain.symlink-file"\ncases = ["links/final-outside*"]\nreason = "ticket 3"\n'


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_a_file_says_counts_as_if_it_were_typed_and_what_is_typed_wins(epctx: Epctx, place: Path) -> None:
    (place / "sub").mkdir()
    (place / "sub" / "epctx.toml").write_text(WHOLE)
    (place / "sub" / "known.toml").write_text(KNOWN)
    result = epctx("check", "--config", "sub/epctx.toml", "--profile", "spec")
    assert result.exit_code == 1, result.output
    assert "settings: sub/epctx.toml\neach call may take 20 s\nknown findings: sub/known.toml\n" in result.output
    assert "again    epctx replay 'links/final-outside[read,relative]' weak:final-link-unchecked --profile spec" in result.output
    head, lines, foot = jsonl.read(place / "sub" / "run.jsonl")
    assert (head.target, head.profile, head.patience) == ("weak:final-link-unchecked", "spec", 20.0)
    assert head.policies == {"contain.hard-link": "report"}
    assert head.skipped == {"links/final-outside[write,relative]": "ticket 12"}
    assert head.baselines == ("sub/known.toml",)
    failing = [line for line in lines if line.verdict.fails]
    assert [(line.verdict.case, line.known) for line in failing] == [
        ("links/final-outside[read,relative]", {"contain.symlink-file": "ticket 3"})
    ]
    assert foot.counts["fail"] == 1
    assert (place / "sub" / "summary.md").is_file()


def test_the_table_in_pyproject_serves_too_and_can_be_left_alone(epctx: Epctx, place: Path) -> None:
    (place / "pyproject.toml").write_text('[project]\nname = "x"\n\n[tool.epctx]\ntarget = "weak:refuses-everything"\n')
    used = epctx("check", "--only", "control/*")
    assert (used.exit_code, "settings: pyproject.toml\n" in used.output) == (3, True)
    assert epctx("replay", "control/read-beside-model").exit_code == 1
    left = epctx("check", "--only", "control/read*", "--no-config")
    assert (left.exit_code, "settings" in left.output) == (0, False)


def test_a_campaign_that_goes_on_has_its_own_target(epctx: Epctx, place: Path) -> None:
    (place / "epctx.toml").write_text('profile = "spec"\ntarget = "reference"\ncases = "no-file-here.jsonl"\n')
    assert epctx("fuzz", "--out", "out", "--seed", "7", "--cases", "1", "-j", "1").exit_code == 0
    (place / "epctx.toml").write_text('target = "weak:final-link-unchecked"\n')
    assert epctx("fuzz", "--resume", "out", "--cases", "769", "-j", "1").exit_code == 0
    typed = epctx("fuzz", "reference", "--resume", "out")
    assert (typed.exit_code, "leave the others out" in typed.output) == (2, True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("traget = 'reference'", "epctx.toml:1: there is no key 'traget'; did you mean 'target'?"),
        ("\n\nzzz = 1", "epctx.toml:3: there is no key 'zzz'; there are target, profile, policy,"),
        ("unboxed = true", "epctx.toml:1: unboxed is no setting: whether the target is boxed is up to whoever runs it"),
        ("config = 'x.toml'", "epctx.toml:1: config is no setting: "),
        ("target = 1", "epctx.toml:1: target must be a text, such as 'header:my.h'"),
        ("jobs = 0", "epctx.toml:1: jobs must be a number from 1 to 256"),
        ("jobs = true", "epctx.toml:1: jobs must be a number from 1 to 256"),
        ("patience = -1", "epctx.toml:1: patience must be a number of seconds up to 600"),
        ("only = [1]", "epctx.toml:1: only must be a glob such as 'links/*', or a list of them"),
        ("profile = 'hardend'", "epctx.toml:1: there is no profile 'hardend'; did you mean 'hardened'?"),
        ("sanitize = 'memory'", "epctx.toml:1: sanitize must be one of "),
        ("[skip]\n'links/*' = ' '", "epctx.toml:1: skip must be a table of globs and reasons, such as 'links/*' = 'ticket 12'"),
        ("[policy]\ncontain.hard-link = 'refuse'", "epctx.toml:1: policy must be a table of rules in quotes"),
        ("[policy]\n'contain.parent' = 'refuse'", "epctx.toml:1: --policy 'contain.parent=refuse': write RULE=accept"),
        ("json = '../run.jsonl'", "epctx.toml:1: ../run.jsonl is outside the directory of this file; name a file in it"),
        ("report = 'markdown:/tmp/summary.md'", "epctx.toml:1: /tmp/summary.md is outside the directory of this file"),
        ("report = 'markdwon:summary.md'", "did you mean 'markdown'?\nepctx: settings are taken from epctx.toml; --no-config"),
        ("target", "epctx.toml: not TOML: "),
        ("only = 'nothing/*'", "matches no case, so nothing would run"),
        (
            "target = 'weak:nothing'",
            "There is no weak target 'nothing'; see `epctx list weak`.\nepctx: settings are taken from epctx",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(epctx: Epctx, place: Path, text: str, words: str) -> None:
    (place / "epctx.toml").write_text(text)
    result = epctx("check")
    assert (result.exit_code, words in result.output) == (2, True), result.output
    assert "Traceback" not in result.output


def test_files_of_the_wrong_kind(epctx: Epctx, place: Path) -> None:
    def told(*arguments: str) -> str:
        result = epctx("check", *arguments)
        assert result.exit_code == 2
        return result.output

    (place / "pyproject.toml").write_text('[tool]\nepctx = "reference"\n')
    assert "pyproject.toml: tool.epctx must be a table" in told()
    (place / "pyproject.toml").write_text("[tool.other]\n# epctx\n")
    assert "pyproject.toml: there is no table [tool.epctx] in it" in told("--config", "pyproject.toml")
    assert "missing.toml: cannot be read: No such file" in told("--config", "missing.toml")
    (place / "epctx.toml").write_bytes(b"\xff")
    assert "epctx.toml: byte 0 is not UTF-8" in told()
    (place / "epctx.toml").write_text("")
    (place / "pyproject.toml").write_text("[tool.epctx]\n")
    assert "There are settings in epctx.toml and in [tool.epctx] of pyproject.toml; keep one of them" in told()
    assert "exclude each other" in told("--config", "pyproject.toml", "--no-config")
    assert "exclude each other" in told("--no-config", "--config", "pyproject.toml")
    (place / "epctx.toml").unlink()
    (place / "epctx.toml").symlink_to("/dev/zero")
    assert "not a regular file" in told("--config", "epctx.toml")


def test_a_link_does_not_lead_what_is_written_out_of_the_directory(epctx: Epctx, place: Path) -> None:
    (place / "out").symlink_to("/tmp")
    (place / "epctx.toml").write_text("json = 'out/run.jsonl'\n")
    result = epctx("check")
    assert (result.exit_code, "out/run.jsonl is outside the directory of this file" in result.output) == (2, True)


@pytest.mark.parametrize(
    ("target", "moved"),
    [
        ("reference", "reference"),
        (
            "header:my.h?namespace=a&include=inc&include=/usr/include",
            "header:d/my.h?namespace=a&include=d/inc&include=/usr/include",
        ),
        ("lib:x.so?set=x=1", "lib:d/x.so?set=x=1"),
        ("ep:qnn?python=venv/bin/python", "ep:qnn?python=d/venv/bin/python"),
        ("ep:my.toml", "ep:d/my.toml"),
        ("ep:lib=x", "ep:lib=x"),
        ("python:mine:adapter?path=src", "python:mine:adapter?path=d/src"),
    ],
)
def test_paths_in_a_target_are_those_of_the_file(place: Path, target: str, moved: str) -> None:
    (place / "d").mkdir()
    (place / "d" / "epctx.toml").write_text(f'target = "{target}"\n')
    assert settings.read(Path("d/epctx.toml")).settings.target == moved


def test_the_schema_is_that_of_the_code_and_every_key_is_an_option_of_check(epctx: Epctx) -> None:
    schema = settings.schema()
    assert json.loads((ROOT / "docs" / "schema" / "settings.schema.json").read_text("utf-8")) == schema
    options = re.findall(r"^  (?:-\w, )?--([\w-]+)", epctx("check", "--help").output, re.MULTILINE)
    assert set(schema["properties"]) - {"target"} <= set(options)
