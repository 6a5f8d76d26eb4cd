"""Faults files: the bundled one says what is there, and whatever is wrong with another is said in one sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from epctx import faults
from epctx.cli import options
from epctx.errors import UsageError
from epctx.run.published import settle
from epctx.run.select import matcher

VALID = """
format = 1

[[environments]]
name = "it 1.0"
requirements = ["it==1.0", "other<2,>=1"]

[[environments]]
name = "it 2.0"
requirements = ["it==2.0"]
python = "3.11"

[[faults]]
id = "CVE-2020-1"
title = "It reads outside"
target = "loader:it"
vulnerable = "it 1.0"
fixed = "it 2.0"
cases = ["links/*"]
rules = ["contain.parent"]
sources = ["https://example.org/1"]
affected = "before 2.0"
"""


def read(path: Path, text: str) -> faults.Faults:
    file = path / "faults.toml"
    file.write_text(text)
    return faults.read(file)


def test_a_valid_file(tmp_path: Path) -> None:
    found = read(tmp_path, VALID)
    (fault,) = found.faults
    assert (fault.id, fault.vulnerable, fault.fixed, fault.cases) == ("CVE-2020-1", "it 1.0", "it 2.0", ("links/*",))
    assert found.environment("it 2.0").python == "3.11"
    assert found.environment("it 1.0").requirements == ("it==1.0", "other<2,>=1")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("format = 1", "format = 2", "the file is of format 2, and this epctx reads format 1 only"),
        ("format = 1", "format = ", "Invalid value"),
        ('id = "CVE-2020-1"', "", "missing required field `id`"),
        ('id = "CVE-2020-1"', 'id = "a b"', "the fault 'a b' has an id with other characters"),
        ('title = "It', 'titel = "It', "unknown field `titel`"),
        ('title = "It reads outside"', 'title = ""', "the fault 'CVE-2020-1' has no title"),
        ('cases = ["links/*"]', "cases = []", "the fault 'CVE-2020-1' has no cases"),
        ('sources = ["https:', 'sources = ["http:', "has the source 'http://example.org/1', which is no https address"),
        ('fixed = "it 2.0"', 'fixed = "it 3.0"', "the fault 'CVE-2020-1' names the environment 'it 3.0', which is not there"),
        ('fixed = "it 2.0"', 'fixed = "it 1.0"', "the fault 'CVE-2020-1' is fixed in the environment that is vulnerable"),
        ('name = "it 2.0"', 'name = "it 1.0"', "two environments are called 'it 1.0'"),
        ('requirements = ["it==2.0"]', 'requirements = ["it>=2.0"]', "the environment 'it 2.0' requires no exact release"),
        (
            '["it==2.0"]',
            '["it==2.0", "--index-url=x"]',
            "the environment 'it 2.0' requires '--index-url=x', which is not PACKAGE",
        ),
        ('["it==2.0"]', '["it==2.0", "it @ https://x/y"]', "requires 'it @ https://x/y', which is not PACKAGE==VERSION"),
        ('["it==2.0"]', '["it==2.0", "./here"]', "requires './here', which is not PACKAGE==VERSION"),
        ('python = "3.11"', 'python = "eleven"', "has wheels up to Python 'eleven', which is no version such as 3.11"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in VALID
    with pytest.raises(UsageError) as caught:
        read(tmp_path, VALID.replace(old, new))
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'faults.toml'}: ")
    assert "\n" not in str(caught.value)


def test_an_environment_that_no_fault_has_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the environment 'it 3' is that of no fault"):
        read(tmp_path, VALID + '[[environments]]\nname = "it 3"\nrequirements = ["it==3"]\n')


def test_a_fault_twice_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two faults have the id 'CVE-2020-1'"):
        read(tmp_path, VALID + VALID[VALID.index("[[faults]]") :])


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file or directory; name a faults file"):
        faults.read(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("loader:it", "loder:it", "The fault CVE-2020-1 has the target 'loder:it'; the kinds are ep, "),
        ("contain.parent", "contain.nothing", "The fault CVE-2020-1 breaks the rule 'contain.nothing', which is none"),
        ("links/*", "lunks/*", "The fault CVE-2020-1 names the cases 'lunks/*', which match none"),
        ("affected", 'profile = "none"\naffected', "The fault CVE-2020-1: There is no profile 'none'"),
        ("affected", 'policies = ["contain.parent=accept"]\naffected', "The fault CVE-2020-1: --policy"),
    ],
)
def test_words_that_this_epctx_does_not_know_are_found_before_anything_is_installed(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    with pytest.raises(UsageError) as caught:
        settle(read(tmp_path, VALID.replace(old, new)).faults, options.listed_cases())
    assert words in str(caught.value)


def test_the_bundled_file_fits_the_cases_and_rules_that_there_are() -> None:
    bundled = faults.read(options.bundled_faults())
    settle(bundled.faults, options.listed_cases())
    for fault in bundled.faults:
        assert fault.checked, f"{fault.id} does not say how its range was checked"
        releases = [bundled.environment(name) for name in (fault.vulnerable, fault.fixed)]
        assert all(release.name == release.requirements[0].replace("==", " ") for release in releases)


def test_the_documentation_shows_the_bundled_faults() -> None:
    bundled, page = faults.read(options.bundled_faults()), (Path(__file__).parent.parent / "docs/published.md").read_text("utf-8")
    (table,) = re.findall(r"```text\n(fault .*?)```", page, re.DOTALL)
    shown = [re.split(" {2,}", line) for line in table.splitlines()[1:]]
    cases = options.listed_cases()
    expected = []
    for fault in bundled.faults:
        count = sum(any(matcher(glob).match(case.id) for glob in fault.cases) for case in cases)
        cells = [fault.vulnerable, f"found, {count} cases", fault.fixed, f"silent, {count} cases"]
        expected.append([fault.id, fault.target, *cells])
    assert shown == expected
