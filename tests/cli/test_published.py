"""published: environments made by a fake installer, releases that are bundled targets, and what the command makes of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Epctx
from tests.fakes.installer import FakeUv, install_fake_uv

from epctx import faults
from epctx.cli import options, published_command
from epctx.run import published
from epctx.run.published import Row
from epctx.target import Launch, prepare

FAULTS = """
format = 1

[[environments]]
name = "it {old}"
requirements = ["it=={old}"]

[[environments]]
name = "it {new}"
requirements = ["it=={new}"]
{python}

[[faults]]
id = "CVE-2020-1"
title = "It follows links"
target = "loader:it"
vulnerable = "it {old}"
fixed = "it {new}"
cases = ["links/final-outside[read,relative]"]
rules = ["contain.symlink-file"]
sources = ["https://example.org/1"]
affected = "before {new}"
"""
RELEASES = {"1.0": "weak:final-link-unchecked", "2.0": "reference", "3.0": "weak:refuses-everything"}


@pytest.fixture(autouse=True)
def uv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeUv:
    return install_fake_uv(monkeypatch, tmp_path)


@pytest.fixture(autouse=True)
def releases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A release of ``it`` is a bundled target, told by the directory of its environment. Only environments are made anew."""

    def prepared(text: str) -> Launch:
        (target,) = (target for version, target in RELEASES.items() if f"/it-{version}-py" in text)
        return prepare(target)

    monkeypatch.setattr(published, "prepare", prepared)
    monkeypatch.setattr("epctx.target.environment.directory", lambda: tmp_path / "environments")


def written(path: Path, old: str = "1.0", new: str = "2.0", python: str = "") -> Path:
    file = path / "faults.toml"
    file.write_text(FAULTS.format(old=old, new=new, python=python))
    return file


def test_a_fault_that_is_found_and_gone(epctx: Epctx, tmp_path: Path, uv: FakeUv) -> None:
    file = written(tmp_path)
    first = epctx("published", "--faults", file, "--json", tmp_path / "done.json")
    assert first.exit_code == 0
    lines = first.output.splitlines()
    assert lines[0] == f"2 environments in {tmp_path / 'environments'}, 2 of them made now"
    assert re.split(" {2,}", lines[2]) == ["CVE-2020-1", "loader:it", "it 1.0", "found, 1 case", "it 2.0", "silent, 1 case"]
    assert lines[-1].startswith("1 published fault: found in each vulnerable release, silent in each fixed one; ")
    again = epctx("published", "CVE-*", "--faults", file)
    assert "2 environments in" in again.output
    assert ", 0 of them made now" in again.output
    assert sorted(uv.installed) == ["it==1.0", "it==2.0"]
    (row,) = json.loads((tmp_path / "done.json").read_text())["rows"]
    assert row["fault"]["id"] == "CVE-2020-1"
    assert (row["vulnerable"]["outcome"], row["fixed"]["outcome"]) == ("right", "right")


def test_one_wrong_cell_fails(epctx: Epctx, tmp_path: Path) -> None:
    result = epctx("published", "--faults", written(tmp_path, old="2.0", new="1.0"))
    assert result.exit_code == 1
    assert "CVE-2020-1  it 2.0: not found, 0 of 1 case\n" in result.output
    assert "CVE-2020-1  it 1.0: not silent, 1 of 1 case\n" in result.output
    assert result.output.splitlines()[-1].startswith("2 of 2 cells wrong; ")


def test_an_environment_that_cannot_be_made_is_one_sentence(epctx: Epctx, tmp_path: Path) -> None:
    file = written(tmp_path)
    file.write_text(file.read_text().replace("it==2.0", "missing==1"))
    result = epctx("published", "--faults", file)
    assert result.exit_code == 3
    (line,) = result.output.splitlines()
    assert line.startswith("epctx: The environment for it 2.0 cannot be made: No solution found when resolving dependencies: ")


def test_a_release_that_cannot_be_judged_ends_with_3_and_its_reason(epctx: Epctx, tmp_path: Path) -> None:
    result = epctx("published", "--faults", written(tmp_path, new="3.0"))
    assert result.exit_code == 3
    assert "CVE-2020-1  it 3.0: no verdict\n  reason   The target is not usable: it fails the control " in result.output
    assert "nothing is wrong, but only 1 of 2 cells say something; " in result.output


def test_a_release_without_a_wheel_for_this_python_is_skipped(epctx: Epctx, tmp_path: Path, uv: FakeUv) -> None:
    result = epctx("published", "--faults", written(tmp_path, python='python = "3.9"'))
    assert result.exit_code == 0
    assert "CVE-2020-1  it 2.0: skipped\n  reason   it 2.0 has wheels for Python 3.9 and earlier, not for " in result.output
    assert uv.installed == ["it==1.0"]


def test_where_all_is_skipped_nothing_ran(epctx: Epctx, tmp_path: Path) -> None:
    file = written(tmp_path, python='python = "3.9"')
    file.write_text(file.read_text().replace('["it==1.0"]', '["it==1.0"]\npython = "3.9"'))
    result = epctx("published", "--faults", file)
    assert result.exit_code == 4
    assert "no verdict on any published fault; " in result.output


def test_fresh_makes_them_anew(epctx: Epctx, tmp_path: Path, uv: FakeUv) -> None:
    file = written(tmp_path)
    epctx("published", "--faults", file)
    assert ", 2 of them made now" in epctx("published", "--faults", file, "--fresh").output
    assert sorted(uv.installed) == ["it==1.0", "it==1.0", "it==2.0", "it==2.0"]


def test_an_interrupted_run_shows_what_is_known(epctx: Epctx, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any) -> Iterator[Row]:
        yield from published.published(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(published_command, "published", interrupted)
    result = epctx("published", "--faults", written(tmp_path))
    assert result.exit_code == 130
    assert "found, 1 case" in result.output
    assert "; interrupted after 1 of 1; " in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["CVE-1999-1"], "'CVE-1999-1' matches no published fault; there are "),
        (["--faults", "none.toml"], "none.toml: No such file or directory; name a faults file."),
        (
            ["--json", "no/such/file.json"],
            "--json no/such/file.json: No such file or directory; name a file that can be written.",
        ),
    ],
)
def test_mistakes_are_told_before_anything_is_installed(epctx: Epctx, uv: FakeUv, arguments: list[str], words: str) -> None:
    result = epctx("published", *arguments)
    assert result.exit_code == 2
    assert words in result.output
    assert not uv.calls


def test_the_list_names_every_bundled_fault_with_its_releases_and_sources(epctx: Epctx) -> None:
    lines = epctx("list", "published").output.splitlines()
    bundled = faults.read(options.bundled_faults()).faults
    assert [line.split("\t")[0] for line in lines] == [fault.id for fault in bundled]
    for line, fault in zip(lines, bundled, strict=True):
        assert all(text in line for text in (fault.title, fault.vulnerable, fault.fixed, *fault.sources))
