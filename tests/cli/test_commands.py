"""replay, list, show, explain, export, selftest, bench."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Epctx

from epctx import case_file
from epctx.attack import families
from epctx.cli import options
from epctx.oracle import PROFILES, RULES
from epctx.target import weaknesses

SHORT = "sizes/file-size-limit[63,new]"


def test_replay_shows_the_world_the_call_and_all_that_was_seen(epctx: Epctx) -> None:
    result = epctx("replay", "links/final-outside[read,relative]", "weak:final-link-unchecked")
    assert result.exit_code == 1
    for text in (
        "  │   ├── link -> ../outside/secret.bin",
        "  call 1   read link (a model's name)",
        "  expected refused",
        "seen on weak:final-link-unchecked",
        "  output   96 bytes, the content of outside/secret.bin",
        "  open     outside/secret.bin (outside)",
        "  leaked   outside/secret.bin",
        "critical  contain.symlink-file",
    ):
        assert text in result.output, text
    assert result.output.splitlines()[-1] == "links/final-outside[read,relative]: fail"


def test_replay_is_by_the_reference_unless_told_otherwise(epctx: Epctx) -> None:
    result = epctx("replay", SHORT)
    assert result.exit_code == 0
    assert "seen on reference" in result.output
    assert result.output.splitlines()[-1] == f"{SHORT}: pass"


def test_replay_of_a_file(epctx: Epctx, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(epctx("show", SHORT, "--json").output)
    result = epctx("replay", tmp_path / "one.json", "weak:short-write-unchecked")
    assert result.exit_code == 1
    assert "it was accepted, with 62 bytes in the file" in result.output
    assert epctx("replay", tmp_path / "one.json").exit_code == 0


def test_replay_on_a_target_that_cannot_run_the_case_says_nothing_about_it(epctx: Epctx, misbehaving: Path) -> None:
    result = epctx("replay", SHORT, f"lib:{misbehaving}")
    assert result.exit_code == 4
    assert result.output.splitlines()[-1] == f"{SHORT}: skip (the target has no write)"


@pytest.mark.parametrize(
    ("what", "names"),
    [
        ("attacks", list(families())),
        ("rules", list(RULES)),
        ("weak", [w.name for w in weaknesses()]),
        ("targets", ["ep", "exec", "header", "lib", "loader", "python", "reference", "weak"]),
        ("profiles", list(PROFILES)),
    ],
)
def test_lists_are_complete(epctx: Epctx, what: str, names: list[str]) -> None:
    result = epctx("list", what)
    assert result.exit_code == 0
    rows = [line.split("\t") for line in result.output.splitlines()]
    assert [row[0] for row in rows] == names
    assert all(all(row) for row in rows)


def test_cases_are_listed_by_glob(epctx: Epctx) -> None:
    rows = [line.split("\t") for line in epctx("list", "cases", "--only", "sizes/file-size-limit*").output.splitlines()]
    assert [SHORT, "hostile"] in [row[:2] for row in rows]
    assert all(row[0].startswith("sizes/file-size-limit[") for row in rows)
    assert len(epctx("list", "cases").output.splitlines()) == len(options.listed_cases())


def test_show_draws_the_world_and_says_what_is_expected_and_why(epctx: Epctx) -> None:
    assert epctx("show", "links/hard-outside[read,flat]").output == (
        "links/hard-outside[read,flat]  (hostile)\n"
        "A read of a hard link to a file outside is what the profile says it is (flat).\n"
        "aims at contain.hard-link\n"
        "\n"
        "  {root}\n"
        "  ├── model/\n"
        "  │   ├── good.bin  96 bytes\n"
        "  │   ├── hard.bin  hard link to outside/secret.bin\n"
        "  │   ├── model.onnx  the model\n"
        "  │   └── sub/\n"
        "  │       └── inner.bin  96 bytes\n"
        "  ├── model_evil/\n"
        "  │   └── twin.bin  96 bytes\n"
        "  └── outside/\n"
        "      └── secret.bin  96 bytes\n"
        "  model given as {root}/model/model.onnx\n"
        "\n"
        "  call 1   read hard.bin (a model's name)\n"
        "  expected refused, or accepted on model/hard.bin\n"
        "  because  hard.bin is a hard link to the outside file outside/secret.bin\n"
        "  rule     contain.hard-link\n"
    )


def test_every_case_can_be_shown(epctx: Epctx, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {c.id: c for c in options.listed_cases()}
    monkeypatch.setattr(options, "find_case", lambda text, files: found[text])
    for case in list(found)[::40]:
        result = epctx("show", case)
        assert result.exit_code == 0
        assert result.output.startswith(f"{case}  (")
        assert result.output.replace("\n", "").isprintable()


def test_windows_has_other_expectations(epctx: Epctx) -> None:
    case = next(c.id for c in families()["platform-windows"].cases() if "device" in c.id)
    posix, windows = epctx("show", case).output, epctx("show", case, "--platform", "windows").output
    assert posix != windows
    assert "expected refused" in windows


def test_a_shown_case_is_a_case_file(epctx: Epctx, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(epctx("show", SHORT, "--json").output)
    assert [c.id for c in case_file.read(tmp_path / "one.json")] == [SHORT]


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_explained(epctx: Epctx, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "listed_cases", list)
    result = epctx("explain", rule)
    assert result.exit_code == 0
    first, *rest = result.output.splitlines()
    assert first == f"{rule}  {RULES[rule].severity}  tier {RULES[rule].tier}"
    assert f"  {' '.join(RULES[rule].statement.split())}" in rest
    by = "no weak target" if RULES[rule].informational else ("weak:", "ep:bundled?weak=", "loader:bundled?weak=")
    assert next(line for line in rest if line.startswith("  broken by ")).removeprefix("  broken by ").startswith(by)


def test_an_explanation_names_cases(epctx: Epctx) -> None:
    assert "  cases     sizes/file-size-limit[" in epctx("explain", "size.short-write-reported").output


def test_export_writes_cases_as_files(epctx: Epctx, tmp_path: Path) -> None:
    result = epctx("export", tmp_path / "out", "--only", "links/hard-outside*")
    assert result.exit_code == 0
    assert result.output.startswith("6 cases in ")
    assert "left out, named in LEFT-OUT.txt beside each case.json (links and FIFOs are made on request: --links, --fifos)" in (
        result.output
    )
    folder = tmp_path / "out" / "links" / "hard-outside[read,flat]"
    assert json.loads((folder / "case.json").read_text())["id"] == "links/hard-outside[read,flat]"
    assert (folder / "LEFT-OUT.txt").read_text() == "hardlink model/hard.bin\n"
    assert not (folder / "world" / "model" / "hard.bin").exists()
    again = epctx("export", tmp_path / "out", "--only", "links/hard-outside*")
    assert again.exit_code == 2
    linked = epctx("export", tmp_path / "linked", "--only", "links/hard-outside*", "--links", "--fifos")
    assert linked.output.startswith("6 cases in ")
    world = tmp_path / "linked" / "links" / "hard-outside[read,flat]" / "world"
    assert (world / "model" / "hard.bin").samefile(world / "outside" / "secret.bin")


@pytest.fixture
def few_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    few = [c for c in options.listed_cases() if c.id.startswith(("control/", "sizes/file-size-limit", "links/final-outside["))]
    monkeypatch.setattr(options, "listed_cases", lambda: few)


@pytest.mark.usefixtures("few_cases")
def test_the_self_test_says_what_caught_what(epctx: Epctx, tmp_path: Path) -> None:
    result = epctx("selftest", "--only", "short-write-unchecked", "--save", tmp_path / "matrix.md")
    assert result.exit_code == 0, result.output
    assert result.output.startswith("weak:short-write-unchecked  ")
    assert "  caught by size.short-write-reported(" in result.output
    assert "1 of 1 weak target caught by every rule that they name, " in result.output
    assert result.output.splitlines()[-1] == "the suite proves its power"
    assert "| `short-write-unchecked` |" in (tmp_path / "matrix.md").read_text()


@pytest.mark.usefixtures("few_cases")
def test_the_self_test_says_what_is_missed(epctx: Epctx) -> None:
    result = epctx("selftest", "--only", "no-size-cap")
    assert result.exit_code == 1
    assert "  caught by nothing\n  missed    size.cap\n" in result.output
    assert result.output.splitlines()[-1].startswith("the suite does not prove its power")


def test_bench_prints_rates_and_their_ratio(epctx: Epctx) -> None:
    result = epctx("bench", "weak:S7", "--seconds", "0.1")
    assert result.exit_code == 0
    rows = {line[:28].strip(): line[28:].strip() for line in result.output.splitlines()}
    bare, changed, rebuilt = (
        float(rows[name].replace(",", ""))
        for name in ("bare helper, C++ loop", "judged cases, world changed", "judged cases, world rebuilt")
    )
    assert bare > changed > rebuilt > 0
    assert abs(float(rows["ratio changed / bare"]) - changed / bare) < 0.01
    cases, calls, more = (
        float(rows[name].replace(",", "")) for name in ("campaign, one worker", "calls of these", "on two workers")
    )
    assert 0 < cases < calls
    assert more > 0
    assert 0 < float(rows["ratio calls / bare"]) < 1
