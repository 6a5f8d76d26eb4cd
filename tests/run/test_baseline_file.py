"""Baselines as files: what is read, what is refused in which words, and what is written."""

from __future__ import annotations

import os
import tomllib
from datetime import date
from pathlib import Path

import pytest

from epctx.case import Call, Case, World
from epctx.errors import UsageError
from epctx.oracle import RULES
from epctx.run.baseline import Entry
from epctx.run.baseline_file import BaselineFile, NewFile, dumps, read

CASES = [Case(i, "A case.", "benign", (), World(), (Call("read", "x"),)) for i in ("links/a[read,x]", "links/b", "names/c")]
GOOD = '[[known]]\nrule = "contain.parent"\ncases = ["links/*"]\nreason = "ticket 12"\n'


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_all_that_an_entry_may_hold(tmp_path: Path) -> None:
    path = write(
        tmp_path / "b.toml",
        'target = "header:*"\nprofile = "spec"\n'
        + GOOD
        + "expires = 2030-12-31\n"
        + '[[known]]\nsometimes = true\nreason = "γ"\ncases = ["links/a[read,x]", "names/c"]\nrule = "contain.race"\n',
    )
    (file,) = read([path], CASES)
    assert file == BaselineFile(
        str(path),
        (
            Entry(str(path), 1, "contain.parent", ("links/*",), "ticket 12", date(2030, 12, 31)),
            Entry(str(path), 2, "contain.race", ("links/a[read,x]", "names/c"), "γ", sometimes=True),
        ),
        "header:*",
        "spec",
    )


@pytest.mark.parametrize("text", ["", "known = []\n", 'target = "reference"\n'])
def test_nothing_may_be_known(tmp_path: Path, text: str) -> None:
    assert read([write(tmp_path / "b.toml", text)], CASES)[0].entries == ()


WRONG: dict[str, tuple[str, str]] = {
    "not TOML": ("known", "b.toml: not TOML: "),
    "JSON": ('{"known": []}', "b.toml: not TOML: "),
    "no such day": (GOOD + "expires = 2030-02-30\n", "b.toml: not TOML: "),
    "nested": ("x = " + "[" * 5000, "b.toml: not TOML: "),
    "key of the file": ('targets = "x"\n', "b.toml: there is no key 'targets'; did you mean 'target'?"),
    "key of something else": ("[tool]\n", "b.toml: there is no key 'tool'; there are known, target, profile."),
    "target": ("target = 1\n", "b.toml: target must be a text."),
    "profile": ('profile = "strict"\n', "b.toml: there is no profile 'strict'; the profiles are spec, "),
    "one table": ('[known]\nrule = "x"\n', "b.toml: entries are tables that begin with [[known]]."),
    "known is a text": ('known = "all"\n', "b.toml: entries are tables that begin with [[known]]."),
    "key of an entry": (GOOD + 'case = "x"\n', "b.toml: entry 1 (contain.parent): there is no key 'case'; did you mean 'cases'?"),
    "no rule": (GOOD.replace('rule = "contain.parent"\n', ""), "b.toml: entry 1: there is no rule in it; give the id of a rule"),
    "no cases": (GOOD.replace('cases = ["links/*"]\n', ""), "entry 1 (contain.parent): there is no cases in it; give a list"),
    "cases empty": (GOOD.replace('"links/*"', ""), "entry 1 (contain.parent): there is no cases in it; give a list"),
    "cases is a text": (
        GOOD.replace('["links/*"]', '"links/*"'),
        "entry 1 (contain.parent): cases must be a list of ids or globs",
    ),
    "cases are numbers": (GOOD.replace('["links/*"]', "[1]"), "entry 1 (contain.parent): cases must be a list of ids or globs"),
    "rule is a number": (GOOD.replace('"contain.parent"', "7"), "b.toml: entry 1: rule must be the id of a rule"),
    "rule unknown": (
        GOOD.replace("parent", "parnet"),
        "entry 1 (contain.parnet): there is no such rule; did you mean 'contain.parent'?",
    ),
    "rule unlike any": (
        GOOD.replace("contain.parent", "xyzzy"),
        "entry 1 (xyzzy): there is no such rule; see `epctx list rules`.",
    ),
    "glob": (
        GOOD + GOOD.replace("links", "lniks"),
        "entry 2 (contain.parent): 'lniks/*' matches no case, so the entry is stale; did",
    ),
    "reason missing": (
        GOOD.replace('reason = "ticket 12"\n', ""),
        "entry 1 (contain.parent) has no reason; look at the finding, and",
    ),
    "reason empty": (
        GOOD.replace("ticket 12", "  "),
        "entry 1 (contain.parent) has no reason; look at the finding, and write into it why",
    ),
    "reasons empty": (
        GOOD + "".join(GOOD.replace("ticket 12", "").replace("parent", r) for r in ("absolute", "symlink-file")),
        "entry 2 (contain.absolute) has no reason; look at the finding, and write into it and 1 more why it is not mended yet.",
    ),
    "date": (GOOD + 'expires = "soon"\n', "entry 1 (contain.parent): expires must be a date, such as 2030-12-31."),
    "date is a time": (GOOD + "expires = 2030-12-31T12:00:00\n", "entry 1 (contain.parent): expires must be a date"),
    "sometimes": (GOOD + 'sometimes = "often"\n', "entry 1 (contain.parent): sometimes must be true or false."),
    "twice": (
        GOOD + GOOD,
        "entry 2 (contain.parent): 'links/*' is in {path}: entry 1 (contain.parent) already; keep one of them.",
    ),
    "twice in an entry": (
        GOOD.replace('["links/*"]', '["links/*", "links/*"]'),
        "(contain.parent): 'links/*' stands twice in it",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_file_is_one_sentence(tmp_path: Path, name: str) -> None:
    text, words = WRONG[name]
    path = write(tmp_path / "b.toml", text)
    with pytest.raises(UsageError) as caught:
        read([path], CASES)
    assert str(caught.value).startswith(str(path))
    assert words.format(path=path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "bytes").write_bytes(b"\xff")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(17 << 20)
    for name, words in [
        ("missing", "cannot be read: No such file"),
        (".", "not a regular file"),
        ("fifo", "not a regular file"),
        ("bytes", "byte 0 is not UTF-8"),
        ("large", "larger than 16 MiB"),
    ]:
        with pytest.raises(UsageError, match=words):
            read([tmp_path / name], CASES)


def test_several_files_add_up_and_know_nothing_twice(tmp_path: Path) -> None:
    first = write(tmp_path / "a.toml", GOOD)
    assert len(read([first, write(tmp_path / "b.toml", GOOD.replace("parent", "absolute"))], CASES)) == 2
    with pytest.raises(UsageError, match=r"c\.toml: entry 1 \(contain\.parent\): 'links/\*' is in .*a\.toml: entry 1"):
        read([first, write(tmp_path / "c.toml", GOOD)], CASES)


@pytest.mark.parametrize(
    ("target", "profile", "words"),
    [
        ("header:src/a.h?namespace=x", "spec", ""),
        ("header:b.h", "spec", "this baseline is for the target 'header:*a.h*', and the run's is 'header:b.h'"),
        ("header:a.h", "hardened", "this baseline is for the profile 'spec', and the run's is 'hardened'"),
    ],
)
def test_a_file_may_say_what_it_is_for(target: str, profile: str, words: str) -> None:
    file = BaselineFile("b.toml", (), "header:*a.h*", "spec")
    BaselineFile("b.toml", ()).check_use(target, profile)
    if words:
        with pytest.raises(UsageError, match="give the right one, or take out the line if it is for both") as caught:
            file.check_use(target, profile)
        assert words in str(caught.value)
    else:
        file.check_use(target, profile)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    entries = [
        Entry("", 0, "contain.parent", ("links/*", "names/c"), 'a "quoted" \\ reason\nof two lines \x7f γ', date(2030, 1, 1)),
        Entry("", 0, "contain.race", ("links/b",), "by luck", sometimes=True),
    ]
    path = write(tmp_path / "b.toml", dumps(entries, "header:my *.h", "ort-1.31"))
    (file,) = read([path], CASES)
    assert [(e.rule, e.cases, e.reason, e.expires, e.sometimes) for e in file.entries] == [
        (e.rule, e.cases, e.reason, e.expires, e.sometimes) for e in entries
    ]
    assert (file.target, file.profile) == ("header:my *.h", "ort-1.31")


def test_a_person_can_review_what_is_written() -> None:
    text = dumps([Entry("", 0, "contain.parent", ("links/a[read,x]", "links/b"), "")], "weak:S7", "spec")
    assert text.split("\n\n", 1)[1] == (
        'target = "weak:S7"\n'
        'profile = "spec"\n'
        "\n"
        "# critical: A name whose resolved path leaves the model directory is refused.\n"
        "[[known]]\n"
        'rule = "contain.parent"\n'
        "cases = [\n"
        '    "links/a[read,x]",\n'
        '    "links/b",\n'
        "]\n"
        'reason = ""\n'
    )


def test_any_rule_can_be_written() -> None:
    text = dumps([Entry("", 0, rule, ("links/b",), "why") for rule in RULES], "weak:S7", "spec")
    assert [table["rule"] for table in tomllib.loads(text)["known"]] == list(RULES)


def test_a_file_that_is_there_is_never_written_over(tmp_path: Path) -> None:
    path = write(tmp_path / "b.toml", GOOD)
    with pytest.raises(UsageError, match=r"--write-baseline .*b\.toml: there is such a file"), NewFile(path):
        pass
    assert path.read_text(encoding="utf-8") == GOOD


def test_a_file_that_nothing_was_written_to_is_gone(tmp_path: Path) -> None:
    with NewFile(tmp_path / "b.toml"):
        assert (tmp_path / "b.toml").exists()
    assert not (tmp_path / "b.toml").exists()


def test_a_file_that_cannot_be_made_is_said_at_once(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match="No such file or directory; name a file that can be written"),
        NewFile(tmp_path / "no" / "b"),
    ):
        pass
