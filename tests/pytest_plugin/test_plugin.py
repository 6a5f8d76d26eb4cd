"""``pytest --epctx``: items, their outcomes, what is printed, and that all that pytest offers works on them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from click.testing import CliRunner

import epctx_pytest.own
import epctx_pytest.plugin
from epctx.attack import families
from epctx.cli import main
from epctx.report import jsonl
from epctx.target import build

pytest_plugins = ["pytester"]

CACHE = build.cache_directory()
"""Where what is built is kept: pytester has a home of its own."""
CAREFUL = Path(__file__).parent.parent / "fakes" / "adapters" / "careful_loader.py"
WEAK = "weak:final-link-unchecked"
KNOWN = '[[known]]\nrule = "{}"\ncases = ["{}"]\nreason = "ticket 3"\n'


@pytest.fixture(autouse=True)
def prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs inside is no worker of what runs these tests, and finds all modules loaded and everything built."""
    monkeypatch.setenv("EPCTX_CACHE", str(CACHE))
    assert families()
    assert epctx_pytest.own
    assert epctx_pytest.plugin
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)


def settings(pytester: pytest.Pytester, text: str) -> None:
    (pytester.path / "epctx.toml").write_text(text)


def shown(result: pytest.RunResult) -> str:
    return result.stdout.str()


def test_outcomes_are_those_of_check_and_failures_print_its_report(pytester: pytest.Pytester) -> None:
    settings(
        pytester,
        f'target = "{WEAK}"\nonly = ["links/final-outside[*]", "links/hard-outside[read,flat]"]\nbaseline = "known.toml"\n'
        '[skip]\n"links/final-outside[write*" = "ticket 12"\n',
    )
    known = "".join(
        KNOWN.format(rule, "links/final-outside[read,dot]") for rule in ("contain.symlink-file", "safe.no-outside-read")
    )
    (pytester.path / "known.toml").write_text(known)
    result = pytester.runpytest("--epctx", "epctx.toml", "-rsx", "-p", "no:randomly")
    counts = result.parseoutcomes()
    assert (counts["failed"], counts["xfailed"], counts["skipped"]) == (8, 1, 9)
    assert result.ret == 1
    assert (
        "\n_ epctx::links/final-outside[read,relative] _\n"
        "critical  contain.symlink-file  1 case\n"
        "  A symbolic link inside that resolves outside is refused, on read and on write.\n"
        "  links/final-outside[read,relative]\n"
        "    call     read link\n"
        "    expected refused with code 2\n"
        "    happened it was accepted with 96 bytes, the content of outside/secret.bin\n"
        "    file     outside/secret.bin\n"
    ) in re.sub(r"_{2,}", "_", shown(result))
    assert "Traceback" not in shown(result)
    assert f"'links/final-outside[read,relative]' {WEAK} --profile " in shown(result)
    result.stdout.fnmatch_lines(
        [
            f"epctx: {WEAK}, settings epctx.toml",
            "collected 27 items",
            "*= epctx =*",
            f"epctx {WEAK}, profile *, 18 cases",
            "settings: epctx.toml",
            "notes (not failures in this profile)",
            "  contain.hard-link  1 case; for example links/hard-outside[[]read,flat]: *",
            "9 fail, 1 note, 8 pass; 1 of 9 known; * s",
            f"{WEAK} does not hold: 9 of 18 cases break rules of profile *, 8 of them new",
            "SKIPPED [[]9] *: ticket 12",
            "XFAIL epctx::links/final-outside[[]read,dot] - *contain.symlink-file: ticket 3*",
        ]
    )


def test_cases_are_chosen_by_id_marker_and_word_and_the_last_failed_run_again(pytester: pytest.Pytester) -> None:
    one, other = "links/final-outside[read,dot]", "links/final-outside[read,relative]"
    stopped = pytester.runpytest("--epctx", WEAK, "-x", f"epctx::{one}", f"epctx::{other}")
    assert stopped.parseoutcomes() == {"failed": 1}
    again = pytester.runpytest("--epctx", WEAK, "--lf", "-k", "relative or dot", "--collect-only", "-q")
    assert [line for line in again.outlines if line.startswith("epctx::")] == [f"epctx::{one}"]
    marked = pytester.runpytest("--epctx", WEAK, "--strict-markers", "-m", "epctx_control and epctx_spec", "--collect-only", "-q")
    found = [line for line in marked.outlines if line.startswith("epctx::")]
    assert found
    assert all(line.startswith("epctx::control/") for line in found)


def test_what_is_known_and_no_longer_occurs_fails_the_run(pytester: pytest.Pytester) -> None:
    (pytester.path / "known.toml").write_text(KNOWN.format("contain.parent", "control/read-beside-model"))
    result = pytester.runpytest("--epctx", "reference", "--epctx-baseline", "known.toml", "epctx::control/read-beside-model")
    assert (result.ret, result.parseoutcomes()) == (1, {"passed": 1})
    result.stdout.fnmatch_lines(
        ["stale: known.toml: entry 1 (contain.parent): it no longer occurs; take out control/read-beside-model"]
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--epctx", "weak:refuses-everything"), "The target is not usable: it fails the control control/"),
        pytest.param(
            ("--epctx", "weak:refuses-everything", "-n", "2"),
            "The target is not usable: it fails the control control/",
            marks=pytest.mark.slow,
        ),
        (("--epctx", "weak:nothing"), "There is no weak target 'nothing'; see `epctx list weak`."),
        (("--epctx", "missing.toml"), "missing.toml: cannot be read: No such file"),
        (("--epctx", "reference", "--epctx-baseline", "missing.toml"), "missing.toml: cannot be read: No such file"),
        (
            ("--epctx", "reference", "epctx::control/read-beside"),
            "there is no case 'control/read-beside'; did you mean 'control/read",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_run_is_told_once(pytester: pytest.Pytester, arguments: tuple[str, ...], words: str) -> None:
    result = pytester.runpytest(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    told = shown(result) + result.stderr.str()
    assert told.count(words) == 1
    assert "Traceback" not in told


def compared(pytester: pytest.Pytester, target: str) -> None:
    """Hold the outcomes with two workers of xdist against the verdicts of ``epctx check``, with the settings that are there."""
    CliRunner().invoke(main, ["check", target, "--json", "run.jsonl", "-j", "2"], catch_exceptions=False)
    _, lines, _ = jsonl.read(Path("run.jsonl"))
    expected = {
        line.verdict.case: "failure" if line.verdict.fails else "skipped" if line.verdict.result == "skip" else ""
        for line in lines
    }
    assert "failure" in expected.values()
    result = pytester.runpytest("--epctx", target, "-n", "2", "--junitxml", "junit.xml")
    assert result.ret == 1
    cases = ElementTree.parse("junit.xml").getroot().iter("testcase")
    assert {case.attrib["name"]: next((child.tag for child in case), "") for case in cases} == expected
    failing = sum(outcome == "failure" for outcome in expected.values())
    judged = sum(outcome != "skipped" for outcome in expected.values())
    assert f"{target} does not hold: {failing} of {judged:,} cases break rules of profile " in shown(result)


def test_two_workers_come_to_the_verdicts_of_check(pytester: pytest.Pytester) -> None:
    settings(pytester, 'only = ["sizes/file-size-limit*", "external/*", "traversal/new-file*"]\n')
    compared(pytester, "weak:S7")


@pytest.mark.slow
def test_two_workers_come_to_the_verdicts_of_check_on_all_cases(pytester: pytest.Pytester) -> None:
    compared(pytester, "weak:final-link-unchecked")


def test_without_a_target_nothing_is_loaded(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(
        """
        import sys

        def test_modules():
            assert "epctx_pytest" in sys.modules
            found = {name.partition(".")[0] for name in sys.modules}
            assert not found & {"epctx", "epctx_attacks", "msgspec", "onnx", "onnxruntime", "numpy", "click", "rich"}
        """
    )
    result = pytester.runpytest_subprocess("-p", "epctx_pytest", "-W", "error", "--strict-markers", "--strict-config")
    assert result.parseoutcomes() == {"passed": 1}


OWN = """
import pytest
from epctx.case import Call, Case, File, Link, World
from epctx_pytest import Broken

LINK = Case(
    "mine/link", "A link to a file outside.", "hostile", ("contain.symlink-file",),
    World((File("outside/secret.bin"), Link("model/link", "../outside/secret.bin"))), (Call("read", "link"),),
)

@pytest.fixture(scope="module")
def epctx_target():
    return "{target}"

def test_own(epctx_run):
    judged = epctx_run(LINK)
    assert judged.verdict.result == "pass"
    assert judged.observation.calls[0].code == 2

def test_listed(epctx_run):
    epctx_run("control/read-beside-model")

def test_expected(epctx_run):
    with pytest.raises(Broken) as caught:
        epctx_run(LINK)
    assert caught.value.judged.verdict.findings[0].rule == "contain.symlink-file"

def test_skipped(epctx_run):
    epctx_run("external/good-location-last[read,parent]")
"""


def test_cases_of_ones_own_run_on_targets_of_ones_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_weak=OWN.replace("{target}", WEAK), test_good=OWN.replace("{target}", "reference"))
    result = pytester.runpytest("-v", "-W", "error")
    outcomes = dict(re.findall(r"^(\S+::\S+) (PASSED|FAILED|SKIPPED)", shown(result), re.MULTILINE))
    assert outcomes["test_weak.py::test_own"] == "FAILED"
    assert outcomes["test_weak.py::test_expected"] == "PASSED"
    assert outcomes["test_good.py::test_own"] == "PASSED"
    assert outcomes["test_good.py::test_expected"] == "FAILED"
    assert outcomes["test_good.py::test_skipped"] == "SKIPPED"
    assert outcomes["test_good.py::test_listed"] == "PASSED"
    assert "    again    " in shown(result)
    assert "\ncritical  contain.symlink-file  1 case\n" in shown(result)


def test_an_object_is_met_in_the_box(pytester: pytest.Pytester) -> None:
    for directory in (pytester.path, *pytester.path.parents[:2]):
        directory.chmod(0o755)  # in its box the target is nobody
    pytester.makepyfile(loader=f"{CAREFUL.read_text()}\n\nloader = Loader()\n")
    pytester.makepyfile(
        """
        import loader, pytest

        @pytest.fixture
        def epctx_target(request):
            return {"name": loader.loader, "class": loader.Loader, "none": loader.Loader()}[request.param]

        @pytest.mark.parametrize("epctx_target", ["name", "class", "none"], indirect=True)
        def test_it(epctx_run):
            epctx_run("control/read-beside-model")
        """
    )
    pytester.syspathinsert()
    result = pytester.runpytest("-v", "-W", "error")
    outcomes = dict(re.findall(r"::test_it\[(\w+)\] (PASSED|FAILED|SKIPPED|ERROR)", shown(result)))
    assert outcomes == {"name": "PASSED", "class": "PASSED", "none": "ERROR"}
    assert "has no name in loader; give it one, as it is imported anew in the box" in shown(result)


def test_without_a_target_that_is_told(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(epctx_run):\n    epctx_run('control/read-beside-model')\n")
    result = pytester.runpytest()
    assert result.ret == 1
    assert "epctx_run has no target: override the fixture epctx_target, give --epctx, or write epctx.toml" in shown(result)
