"""``epctx check``: what is run, what is found, and with what it exits."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from tests.cli.conftest import FAKES, FOUND, Epctx

from epctx import case_file
from epctx.case import Call, Case, File, Link, World
from epctx.oracle import PROFILES, contract_of
from epctx.report import jsonl

CONTROLS = 8
CHOSEN = contract_of(FOUND)
LINK = Case(
    "mine/link",
    "A link to a file outside.",
    "hostile",
    ("contain.symlink-file",),
    World((File("outside/secret.bin"), Link("model/link", "../outside/secret.bin"))),
    (Call("read", "link"),),
)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    case_file.write(path, [LINK])
    return path


def again(output: str) -> list[list[str]]:
    """The replay commands that a report shows, as a shell would take them."""
    return [shlex.split(line.split(None, 1)[1]) for line in output.splitlines() if line.startswith("    again ")]


def test_the_reference_holds(epctx: Epctx) -> None:
    result = epctx("check", "--only", "links/final*", "--only", "types/*")
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[0].startswith(f"epctx reference, profile {CHOSEN}, ")
    assert f"ONNX Runtime {FOUND}, judged by the contract of {PROFILES[CHOSEN].contract}\n" in result.output
    assert "lends" not in result.output
    assert f"reference holds: every rule of profile {CHOSEN} held in" in result.output.splitlines()[-1]
    assert "critical" not in result.output


def test_a_target_that_declares_chunking_is_held_to_that(epctx: Epctx, tmp_path: Path) -> None:
    declared = "the target declares ordered chunking: its writes are judged by chunk.declared"
    held = epctx("check", "reference?chunking=ordered", "--only", "chunking/*", "--json", tmp_path / "r.jsonl")
    assert held.exit_code == 0, held.output
    assert declared in held.output.splitlines()
    head, lines, _ = jsonl.read(tmp_path / "r.jsonl")
    assert head.chunking
    counts = {line.verdict.case: len(line.observation.calls[0].callbacks) for line in lines}
    assert counts["chunking/whole-payload[65537]"] == 3

    assert epctx("check", "weak:writes-in-halves?chunking=ordered", "--only", "chunking/*").exit_code == 0
    broken = epctx("check", "weak:writes-in-halves", "--only", "chunking/whole-payload*")
    assert (broken.exit_code, declared in broken.output) == (1, False)
    assert "high  chunk.single-write" in broken.output
    wrong = epctx("check", "weak:chunks-out-of-order", "--only", "chunking/whole-payload*")
    assert (wrong.exit_code, declared in wrong.output) == (1, True)
    assert "high  chunk.declared" in wrong.output


def test_the_documents_helper_loses_short_writes_and_refuses_new_files_beside_a_bare_model(epctx: Epctx) -> None:
    result = epctx("check", "weak:S7", "--only", "sizes/file-size-limit*", "--only", "traversal/new-file-by-storage*")
    assert result.exit_code == 1
    short = result.output.split("\n\n")[1]
    assert short.startswith("high  size.short-write-reported  ")
    assert (
        "  sizes/file-size-limit[63,new]\n"
        "    call     write new.bin\n"
        "    expected refused\n"
        "    happened it was accepted, with 62 bytes in the file\n"
        "    file     model/new.bin\n"
        "    again    epctx replay 'sizes/file-size-limit[63,new]' weak:S7\n"
    ) in short
    bare = result.output.split("\n\n")[2]
    assert bare.startswith("medium  contain.model-path-forms  1 case\n")
    assert (
        "  traversal/new-file-by-storage[bare,plain]\n    call     write new.bin\n    expected accepted on model/new.bin\n"
        in bare
    )
    assert f"weak:S7 does not hold: 9 of 78 cases break rules of profile {CHOSEN}" in result.output.splitlines()[-1]


def test_a_finding_is_shown_again_by_its_command(epctx: Epctx) -> None:
    found = epctx("check", "weak:final-link-unchecked", "--only", "links/final-outside*")
    assert found.exit_code == 1
    for words in again(found.output)[:2]:
        assert words[:2] == ["epctx", "replay"]
        result = epctx(*words[1:])
        assert result.exit_code == 1
        assert f"{words[2]}: fail" in result.output


def test_a_header_of_the_documents_signatures_alone_is_judged(epctx: Epctx) -> None:
    result = epctx("check", f"header:{FAKES / 'headers' / 'plain.h'}", "--only", "traversal/*", "--fail-fast")
    assert result.exit_code == 1, result.output
    assert "contain.parent" in result.output


def test_a_compile_error_is_the_compilers_words(epctx: Epctx) -> None:
    result = epctx("check", f"header:{FAKES / 'headers' / 'broken.h'}")
    assert result.exit_code == 3
    assert "broken.h:10:" in result.output
    assert "return nowhere_;" in result.output
    assert "The command was:" in result.output


def test_a_target_that_refuses_good_models_is_not_usable(epctx: Epctx) -> None:
    result = epctx("check", "weak:refuses-everything", "--only", "links/final*")
    assert result.exit_code == 3
    assert "The target is not usable: it fails the control control/" in result.output
    assert "holds" not in result.output


def test_only_runs_what_matches_and_the_controls(epctx: Epctx, tmp_path: Path) -> None:
    assert epctx("check", "--only", "names/empty*", "--json", tmp_path / "r.jsonl").exit_code == 0
    _, lines, foot = jsonl.read(tmp_path / "r.jsonl")
    families = [line.verdict.case.partition("/")[0] for line in lines]
    assert families[:CONTROLS] == ["control"] * CONTROLS
    assert set(families[CONTROLS:]) == {"names"}
    assert foot.judged == len(lines) > CONTROLS


def test_skips_are_reported_with_their_reason(epctx: Epctx, tmp_path: Path) -> None:
    options = ("--only", "links/final*", "--only", "names/empty*", "--skip", "links/*: ticket 12", "--json", tmp_path / "r.jsonl")
    result = epctx("check", "weak:final-link-unchecked", *options)
    assert result.exit_code == 0, result.output
    head, lines, _ = jsonl.read(tmp_path / "r.jsonl")
    assert f"skipped {len(head.skipped)}: ticket 12" in result.output.splitlines()
    assert set(head.skipped.values()) == {"ticket 12"}
    assert not head.skipped.keys() & {line.verdict.case for line in lines}


def test_fail_fast_ends_with_the_first_failure(epctx: Epctx) -> None:
    result = epctx("check", "weak:none", "--only", "traversal/*", "--fail-fast", "-j", "1")
    assert result.exit_code == 1
    assert "weak:none does not hold: 1 of " in result.output
    assert "so far: the run stopped after" in result.output.splitlines()[-1]


def test_the_json_report_holds_what_was_seen_and_what_it_means(epctx: Epctx, tmp_path: Path) -> None:
    assert epctx("check", "weak:none", "--only", "absolute/*", "--json", tmp_path / "r.jsonl").exit_code == 1
    head, lines, foot = jsonl.read(tmp_path / "r.jsonl")
    assert (head.target, head.profile, head.cases) == ("weak:none", CHOSEN, len(lines))
    assert (head.contract, head.lent) == (PROFILES[CHOSEN].contract, False)
    assert [line.index for line in lines] == list(range(len(lines)))
    assert foot.counts["fail"] == sum(line.verdict.fails for line in lines) > 20
    assert not foot.held
    leaking = next(line for line in lines if any(f.rule == "safe.no-outside-read" for f in line.verdict.findings))
    assert "outside/secret.bin" in leaking.observation.calls[0].leaks
    assert all(
        json.loads(text)["type"] in ("header", "case", "footer") for text in (tmp_path / "r.jsonl").read_text().splitlines()
    )


def test_a_full_disk_takes_the_json_report_and_not_the_findings(epctx: Epctx) -> None:
    result = epctx("check", "--only", "control/*", "--json", "/dev/full")
    assert result.exit_code == 2
    assert "reference holds" in result.output
    assert "--json /dev/full: No space left on device" in result.output


def test_the_order_is_that_of_the_cases_whoever_is_first(epctx: Epctx, tmp_path: Path) -> None:
    orders = []
    for jobs in ("1", "3"):
        assert epctx("check", "--only", "types/*", "-j", jobs, "--json", tmp_path / "r.jsonl").exit_code == 0
        orders.append([line.verdict.case for line in jsonl.read(tmp_path / "r.jsonl")[1]])
    assert orders[0] == orders[1]


def test_cases_of_a_file_run_with_the_controls_and_are_found_again(epctx: Epctx, mine: Path) -> None:
    result = epctx("check", "weak:links-not-resolved", "--cases", mine)
    assert result.exit_code == 1
    assert f"weak:links-not-resolved does not hold: 1 of 9 cases breaks rules of profile {CHOSEN}" in result.output
    words = again(result.output)[0]
    assert words[2:] == ["mine/link", "weak:links-not-resolved", "--cases", str(mine)]
    assert epctx(*words[1:]).exit_code == 1


def test_a_file_is_no_way_around_the_controls(epctx: Epctx, mine: Path) -> None:
    assert epctx("check", "weak:refuses-everything", "--cases", mine).exit_code == 3


def test_ids_are_unique_over_all_files(epctx: Epctx, mine: Path) -> None:
    result = epctx("check", "--cases", mine, "--cases", mine)
    assert result.exit_code == 2
    assert "the id mine/link occurs twice" in result.output


@pytest.mark.parametrize(
    ("stance", "code", "words"), [("refuse", 1, "refused by the profile"), ("accept", 0, ""), ("report", 0, "notes")]
)
def test_a_policy_decides_what_loaders_differ_on(epctx: Epctx, stance: str, code: int, words: str) -> None:
    result = epctx("check", "--only", "links/hard-outside*", "--policy", f"contain.hard-link={stance}")
    assert result.exit_code == code, result.output
    assert ("contain.hard-link" in result.output) is bool(words)
    assert words in result.output
    assert all(w[-2:] == ["--policy", f"contain.hard-link={stance}"] for w in again(result.output))


def test_a_profile_decides_which_rules_must_hold(epctx: Epctx) -> None:
    def judged(profile: str) -> tuple[int, str]:
        result = epctx("check", "weak:writes-in-place", "--only", "sizes/file-size-limit*", "--profile", profile)
        return result.exit_code, result.output

    assert judged("spec")[0] == 0
    assert "notes (not failures in this profile)\n  write.atomic  " in judged("spec")[1]
    code, output = judged("hardened")
    assert code == 1
    assert "write.atomic" in output
    assert all("--profile hardened" in shlex.join(words) for words in again(output))


@pytest.mark.parametrize("profile", ["spec", "ort-1.28", "ort-1.31", "hardened"])
def test_the_report_says_whose_contract_counts(epctx: Epctx, profile: str) -> None:
    result = epctx("check", "weak:absolute-allowed", "--only", "absolute/*", "--profile", profile)
    contract = PROFILES[CHOSEN if profile == "hardened" else profile].contract
    assert f"ONNX Runtime {FOUND}, judged by the contract of {contract}\n" in result.output
    assert all(("--profile" in words) is (profile != CHOSEN) for words in again(result.output))


@pytest.mark.skipif(CHOSEN != "ort-1.31", reason="this ONNX Runtime has the experimental names")
def test_experimental_names_are_lent_and_that_is_said(epctx: Epctx, tmp_path: Path) -> None:
    result = epctx("check", "weak:S1", "--only", "callbacks/adopts[1]", "--json", tmp_path / "r.jsonl")
    assert (
        f"the target looks up experimental names, which ONNX Runtime {FOUND} does not have: epctx lends them\n" in result.output
    )
    head, (*_, line), _ = jsonl.read(tmp_path / "r.jsonl")
    assert head.lent
    assert line.observation.calls[0].callbacks


def test_unboxed_warns_and_judges_the_same(epctx: Epctx) -> None:
    result = epctx("check", "weak:S7", "--unboxed", "--only", "sizes/file-size-limit*")
    assert result.exit_code == 1
    assert "WARNING: the target is not boxed." in result.output
    assert all(words[-1] == "--unboxed" for words in again(result.output))


@pytest.mark.parametrize(("mode", "result"), [("hang", "1 hang, 4 pass, 4 skip; "), ("abort", "1 crash, 4 pass, 4 skip; ")])
def test_a_target_that_does_not_come_back_is_a_finding(
    epctx: Epctx, misbehaving: Path, tmp_path: Path, mode: str, result: str
) -> None:
    path = tmp_path / "trigger.json"
    world = World((File("model/trigger.bin"),))
    case_file.write(path, [Case("mine/trigger", "A read.", "benign", (), world, (Call("read", "trigger.bin"),))])
    path.write_text(path.read_text().replace('"id"', '"limits": {"seconds": 1}, "id"'))
    found = epctx("check", f"lib:{misbehaving}?set={mode}", "--cases", path)
    assert found.exit_code == 1
    assert result in found.output.splitlines()[-2]
