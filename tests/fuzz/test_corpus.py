"""Finds that are kept: added, merged, minimised, listed, and run again."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from epctx import case_file
from epctx.case import Call, Case, File, Link, World
from epctx.cli import main, options
from epctx.fuzz import corpus
from epctx.fuzz.encoding import HEAD, decode, encoded
from epctx.fuzz.store import Found, Setting, Store
from epctx.observation import Observation
from epctx.spec import predict

SOURCES = Path(__file__).parents[2] / "corpora"
WEAK = "weak:final-link-unchecked"
FILES = (File("model/good.bin"), File("outside/secret.bin"))
LINK = Link("model/link", "../outside/secret.bin")
MARK = "0123456789ab"


def case(name: str, *entries: File | Link, id: str = "own/one") -> Case:
    return Case(id, "A case.", "hostile", (), World((*FILES, *entries)), (Call("read", name),))


OUTSIDE, BESIDE = case("../outside/secret.bin"), case("../outside/../outside/secret.bin")
THROUGH, LONGER = case("link", LINK), case("./link", LINK, File("model/more.bin"), id="own/two")
GOOD = case("good.bin", id="own/good")


def epctx(*words: str | Path) -> Result:
    return CliRunner().invoke(main, ["corpus", *map(str, words)], catch_exceptions=False)


def files(folder: Path, *cases: Case) -> Path:
    folder.mkdir()
    for number, one in enumerate(cases):
        case_file.write(folder / f"{number}.json", [one])
    return folder


def became(result: Result) -> list[str]:
    assert result.exit_code == 0, result.output
    return [line.split("  ")[0].strip() for line in result.output.splitlines()[:-1]]


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """A campaign that found one thing, and another that fails in company alone."""
    store = Store(tmp_path / "campaign", Setting(WEAK, 1))
    for rule, confirmed, mark in (("contain.symlink-file", True, MARK), ("contain.parent", False, MARK[::-1])):
        kept = replace(THROUGH, id=f"fuzz/{rule.replace('.', '-')}-{mark}", rules=(rule,))
        found = Found(mark, rule, "critical", "fuzz/1-1", "", "", "", WEAK, "1.31", "0.1", "again", confirmed)
        store.keep(found, kept, Observation(kept.id, WEAK))
    return tmp_path / "campaign"


def test_what_a_campaign_found_has_its_fingerprint_for_a_name(campaign: Path, tmp_path: Path) -> None:
    into = tmp_path / "own"
    result = epctx("add", campaign, "--into", into)
    assert sorted(became(result)) == ["added", "in company"]
    (kept,) = case_file.read(into / f"contain-symlink-file-{MARK}.json")
    assert kept.id == f"regressions/contain-symlink-file-{MARK}"
    assert kept.summary == "A symbolic link inside that resolves outside is refused, on read and on write."
    assert (kept.intent, kept.rules[0], kept.expect) == ("hostile", "contain.symlink-file", predict(THROUGH))
    assert became(epctx("add", campaign / "findings" / f"contain.symlink-file-{MARK}", "--into", into)) == ["known"]


def test_case_files_are_added_and_their_names_follow_from_what_they_do(tmp_path: Path) -> None:
    given, into = files(tmp_path / "given", OUTSIDE, GOOD, replace(OUTSIDE, id="own/again")), tmp_path / "own"
    assert became(epctx("add", given, "--into", into)) == ["added", "added", "known"]
    kept = {one.rules[0]: one for one in corpus.read(into).values()}
    assert set(kept) == {"contain.parent", "contain.accept-inside"}
    assert kept["contain.accept-inside"].intent == "benign"
    before = {path.name: path.read_bytes() for path in into.iterdir()}
    other = tmp_path / "other"
    epctx("add", given / "1.json", given / "0.json", "--into", other)
    assert {path.name: path.read_bytes() for path in other.iterdir()} == before


def test_of_two_with_the_same_fingerprint_the_shorter_one_is_kept(tmp_path: Path) -> None:
    short = replace(OUTSIDE, id=f"fuzz/contain-parent-{MARK}")
    long = replace(BESIDE, id=short.id)
    one, two = files(tmp_path / "one", long), files(tmp_path / "two", short)
    into = tmp_path / "own"
    assert became(epctx("merge", one, two, "--into", into)) == ["added", "added"]
    assert [corpus.same(kept) for kept in corpus.read(into).values()] == [corpus.same(short)]
    assert became(epctx("merge", one, "--into", into)) == ["known"]
    assert [corpus.same(kept) for kept in corpus.read(into).values()] == [corpus.same(short)]


def test_what_fails_in_the_same_way_is_dropped_and_the_rest_shrunk(tmp_path: Path) -> None:
    own = files(tmp_path / "own", LONGER, GOOD, case("./././link", LINK, File("model/more.bin"), id="own/three"))
    result = epctx("minimise", own, WEAK, "--profile", "spec", "--jobs", "1")
    assert sorted(became(result)) == ["dropped", "passes", "shrunk"]
    left = {one.id: one for one in corpus.read(own).values()}
    assert set(left) == {"own/two", "own/good"}
    assert left["own/good"] == GOOD
    assert len(left["own/two"].world.entries) <= 2
    assert left["own/two"].expect == predict(left["own/two"])
    assert sorted(became(epctx("minimise", own, WEAK, "--profile", "spec", "--jobs", "1"))) == ["kept", "passes"]


def test_cases_are_inputs_of_fuzzers_and_back(tmp_path: Path) -> None:
    exact = decode(encoded(0, 0, b"../outside/secret.bin"))
    assert exact
    given, inputs, back = files(tmp_path / "given", exact, LONGER), tmp_path / "inputs", tmp_path / "back"
    result = epctx("encode", given, "--into", inputs)
    assert result.output.endswith(" of 2 cases, 1 of them exactly\n")
    written = {path.read_bytes() for path in inputs.iterdir()}
    assert encoded(0, 0, b"../outside/secret.bin") in written
    assert {data[HEAD:] for data in written} == {b"../outside/secret.bin", b"./link"}
    (inputs / "none").write_bytes(b"\0")
    result = epctx("decode", inputs, "--into", back)
    assert result.output.endswith(f"of {len(written) + 1} inputs, 1 of which are no case\n")
    assert exact in corpus.read(back).values()
    assert len(corpus.read(back)) == len(written)


def test_a_list_has_a_line_for_each_case(tmp_path: Path) -> None:
    epctx("add", files(tmp_path / "given", OUTSIDE, GOOD), "--into", tmp_path / "own")
    rows = [line.split("\t") for line in epctx("list", tmp_path / "own").output.splitlines()]
    assert [row[1:3] for row in rows] == [["benign", "read good.bin"], ["hostile", "read ../outside/secret.bin"]]
    assert [row[0] for row in rows] == [one.id for one in corpus.read(tmp_path / "own").values()]


def test_a_folder_of_cases_is_run(tmp_path: Path) -> None:
    own = files(tmp_path / "own", THROUGH, GOOD)
    words = ["check", WEAK, "--cases", str(own), "--profile", "spec", "--jobs", "1"]
    result = CliRunner().invoke(main, words, catch_exceptions=False)
    assert result.exit_code == 1
    assert "  own/one\n" in result.output
    assert f"again    epctx replay own/one {WEAK} --cases {own}" in result.output


def test_regressions_are_those_of_the_source_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "files", lambda package: SOURCES / package)
    kept = corpus.read(SOURCES / "epctx_corpora" / "regressions")
    assert [line.split("\t")[0] for line in epctx("list").output.splitlines()] == [case.id for case in kept.values()] != []


def test_what_is_installed_is_not_changed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(options, "files", lambda package: tmp_path / "site-packages" / package)
    result = epctx("add", files(tmp_path / "given", GOOD))
    assert result.exit_code == 2
    assert "Name a folder of your own" in result.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("add", "{none}", "--into", "{own}"), "cannot be read: No such file"),
        (("add", "{empty}", "--into", "{own}"), "there is no case file in this folder"),
        (("add", "{broken}", "--into", "{own}"), "not JSON"),
        (("add", "{finding}", "--into", "{own}"), "this is no finding of a campaign"),
        (("add", "{good}", "--into", "{good}/0.json"), "name a folder that can be written to"),
        (("merge", "{empty}", "--into", "{own}"), "there is no case in this folder"),
        (("minimise", "{empty}"), "there is no case in this folder"),
        (("list", "{none}"), "there is no case in this folder"),
    ],
)
def test_a_mistake_is_told(tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    given = {name: tmp_path / name for name in ("none", "own", "empty", "broken", "finding", "good")}
    files(given["good"], GOOD)
    for name, file in (("empty", "read.me"), ("broken", "a.json"), ("finding", "finding.json")):
        given[name].mkdir()
        (given[name] / file).write_text("{")
    result = epctx(*(word.format(**given) for word in words))
    assert result.exit_code == 2
    assert sentence in result.output
    assert result.output.count("\n") == 1
