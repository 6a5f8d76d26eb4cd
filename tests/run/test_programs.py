"""Programs as targets: a careful one in another language, one with a fault, and all the ways in which one can misbehave."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.box.conftest import PYTHON

from epctx.attack import Draft, families, read, scene, write
from epctx.box import Strength
from epctx.case import Case, Content, Fifo, File, Limits
from epctx.errors import TargetError, UsageError
from epctx.observation import Observation
from epctx.oracle import Verdict, judge
from epctx.run.check import judging
from epctx.run.runner import Runner
from epctx.target import parse
from epctx.target.programs import program
from epctx_driver.messages import LARGEST_PAYLOAD

PROGRAMS = Path(__file__).parents[1] / "fakes" / "programs"
EXAMPLE = Path(__file__).parents[2] / "examples" / "exec-node"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="there is no node here")
EACH = 6
"""Cases of each family that are run where not all are."""
BRIEF = 1.0
"""Seconds that a call may take where it takes for ever."""


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(jobs=1) as made:
        yield made


def misbehaving(how: str, *, refusing: bool = True) -> str:
    """A program that misbehaves in place of a refusal, or at each call."""
    return f"exec:{PYTHON or sys.executable} -S {PROGRAMS / 'misbehaving.py'} '{how}'" + (" refusing" if refusing else "")


def case(draft: Draft, name: str = "one", seconds: float = 30) -> Case:
    limits = Limits(seconds=seconds)
    return Case(f"test/{name}", "A case.", "hostile", (), draft.world, draft.calls, draft.model, limits)


GOOD, HOSTILE = case(scene(calls=read("good.bin")), "good"), case(scene(calls=read("../outside/secret.bin")), "hostile")


def observed(runner: Runner, text: str, *cases: Case) -> list[Observation]:
    seen = dict(runner.run(program(parse(text)), cases))
    return [seen[index] for index in range(len(cases))]


def judged(runner: Runner, text: str, cases: list[Case]) -> dict[str, Verdict]:
    launch = program(parse(text))
    profile = judging(launch, runner.conditions(launch))
    return {c.id: judge(c, seen, profile) for c, seen in zip(cases, observed(runner, text, *cases), strict=True)}


def listed(each: int | None = None) -> list[Case]:
    return [c for family in families().values() for c in family.cases()[:each]]


# --- one in another language ------------------------------------------------------------------------------------------------


@needs_node
@pytest.mark.parametrize("each", [EACH, pytest.param(None, marks=pytest.mark.slow)])
def test_a_careful_program_in_javascript_passes_all_that_it_can_be_asked(runner: Runner, each: int | None) -> None:
    verdicts = judged(runner, f"exec:node {EXAMPLE / 'adapter.js'}", listed(each))
    assert {v.case: v.reason or v.findings for v in verdicts.values() if v.result not in ("pass", "note", "skip")} == {}
    passed = [v for v in verdicts.values() if v.result == "pass"]
    assert len(passed) > len(verdicts) / 2
    assert {v.case.partition("/")[0] for v in passed} >= {
        "absolute",
        "callbacks",
        "links",
        "names",
        "sizes",
        "traversal",
        "types",
    }


@needs_node
def test_one_fault_is_found_by_its_rule(runner: Runner) -> None:
    text = f"exec:node {EXAMPLE / 'adapter.js'}?env=LOADER={PROGRAMS / 'prefix.js'}&path={PROGRAMS}"
    cases = [c for c in listed() if "contain.sibling-prefix" in c.rules or c.intent == "control"]
    failed = [v for v in judged(runner, text, cases).values() if v.fails]
    assert {"contain.sibling-prefix", "safe.no-outside-read"} <= {f.rule for v in failed for f in v.findings}
    assert all("contain.sibling-prefix" in c.rules for c in cases if c.id in {v.case for v in failed})


# --- what it does is found --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "ended", "words"),
    [
        ("hangs", "hang", "ended by the harness after 1 s"),
        ("spins", "hang", "ended by the harness after 1 s"),
        ("exits", "crash", "the program exited with status 7 where "),
        ("crashes", "crash", "the program was killed by SIGSEGV where "),
        ("stops midway", "crash", "the program exited with status 0 in the middle of line 4, "),
    ],
)
def test_a_hang_or_a_crash_is_that_of_the_call(runner: Runner, how: str, ended: str, words: str) -> None:
    brief = replace(HOSTILE, limits=Limits(seconds=BRIEF if ended == "hang" else 10))
    before, at_it, after = observed(runner, misbehaving(how), GOOD, brief, GOOD)
    (seen,) = at_it.calls
    assert (seen.ended, at_it.error) == (ended, "")
    assert seen.detail.startswith(words)
    for other in (before, after):
        assert (other.calls[0].ended, other.calls[0].code) == ("returned", 0)


def test_one_that_sleeps_on_a_fifo_is_known_without_waiting(runner: Runner) -> None:
    asleep = case(scene(Fifo("model/fifo"), calls=read("fifo")), seconds=60)
    ((seen,),) = [o.calls for o in observed(runner, misbehaving("opens anything"), asleep)]
    assert (seen.ended, seen.detail) == ("hang", "asleep on a FIFO until the harness opened its other end")


def test_a_lie_is_found(runner: Runner) -> None:
    told_and_done = {
        "hostile": HOSTILE,
        "written": case(scene(calls=write("new.bin")), "written"),
        "read": case(scene(calls=read("good.bin")), "read"),
    }
    verdicts = judged(runner, misbehaving("lies", refusing=False), list(told_and_done.values()))
    rules = {name.removeprefix("test/"): {f.rule for f in v.findings if f.fails} for name, v in verdicts.items()}
    assert rules == {"hostile": {"contain.parent"}, "written": {"contain.accept-inside"}, "read": {"size.exact"}}


def test_a_skip_is_told(runner: Runner) -> None:
    assert [o.skipped for o in observed(runner, misbehaving("skips"), HOSTILE)] == ["no file is mounted here"]


def test_standard_error_is_free(runner: Runner) -> None:
    for seen in observed(runner, misbehaving("floods its errors", refusing=False), GOOD, GOOD):
        assert (seen.calls[0].ended, seen.calls[0].code) == ("returned", 0)


# --- what breaks the protocol is an error, and names the line ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("answers another call", "(it is of call 3)"),
        ("answers twice", "expected nothing, as it was asked nothing"),
        ("gives numbers", "(the field payload of the result is a list, and not a string in base64)"),
        ("floods", "came tick (it is no JSON"),
        ("never ends a line", "(it has more than 96 MiB)"),
    ],
)
def test_nonsense_is_no_verdict_and_the_run_goes_on(runner: Runner, how: str, words: str) -> None:
    before, at_it, *after = observed(runner, misbehaving(how), GOOD, HOSTILE, GOOD, GOOD)
    told = [o.error for o in (at_it, *after) if o.error]
    assert len(told) == 1  # a second answer shows in the call after
    assert told[0].startswith("the program broke the protocol in line ")
    assert words in told[0]
    for other in [o for o in (before, *after) if not o.error]:
        assert (other.calls[0].ended, other.calls[0].code) == ("returned", 0)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("says something first", "in line 1 of its standard output: expected its hello; came Loading the loader… (it is no JSON"),
        ("cannot work", "the program says that it cannot work: the device is in use"),
    ],
)
def test_a_program_that_does_not_come_up_is_not_usable(runner: Runner, how: str, words: str) -> None:
    with pytest.raises(TargetError) as told:
        runner.conditions(program(parse(misbehaving(how))))
    assert words in str(told.value)


# --- how it is run ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strength", ["namespaces", "landlock", "none"])
def test_nothing_is_left_running(strength: Strength, tmp_path: Path) -> None:
    marker = f"a test {tmp_path.name}"
    with Runner(jobs=1, box=strength) as own:
        try:
            own.conditions(program(parse(misbehaving("works"))))
        except Exception as error:
            pytest.skip(str(error))
        for how in ("hangs", "leaves a child for good", "exits"):
            observed(own, misbehaving(how) + f" {marker!r}", replace(HOSTILE, limits=Limits(seconds=BRIEF)))
    assert [line for line in command_lines() if marker in line] == []


def command_lines() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_text(errors="replace").replace("\0", " "))
        except OSError:
            continue
    return found


def test_addresses_that_are_only_reserved_are_free(runner: Runner) -> None:
    (seen,) = observed(runner, misbehaving("reserves addresses"), GOOD)
    assert seen.calls[0].ended == "returned"


def test_what_has_no_room_in_a_line_is_skipped(runner: Runner) -> None:
    large = case(scene(File("model/f", Content("f", LARGEST_PAYLOAD + 1, sparse=True)), calls=read("f")))
    assert [o.skipped for o in observed(runner, misbehaving("works"), large)] == [
        "a line to or from a program has room for 64 MiB of content"
    ]


def test_folders_and_settings_are_given(runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("tool", "settings"):
        (tmp_path / folder).mkdir()
    (tmp_path / "settings" / "words").write_text("so it is")
    (tmp_path / "tool" / "adapter.py").write_text(
        "import json, os, sys\n"
        "words = open(os.environ['SETTINGS'] + '/words').read()\n"
        "for line in sys.stdin:\n"
        "    kind = json.loads(line)['message']\n"
        "    more = {'hello': {'protocol': 1}, 'describe': {'target': words, 'can': ['read']}}.get(kind, {})\n"
        "    print(json.dumps({'message': kind, **more}), flush=True)\n"
    )
    monkeypatch.chdir(tmp_path)
    text = f"exec:{sys.executable} tool/adapter.py?path=settings&env=SETTINGS={tmp_path}/settings"
    conditions = runner.conditions(program(parse(text)))
    assert conditions.met == "so it is"
    assert "write" not in conditions.can


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("exec:", "names no program; write exec:COMMAND"),
        ("exec:'node adapter.js", "has no command that can be taken apart: No closing quotation"),
        ("exec:no-such-program", "no-such-program is not among the programs that are installed"),
        ("exec:./no-such-program", "./no-such-program is no program that can be run"),
        ("exec:true?path=/no/such", "there is no directory /no/such"),
        ("exec:true?env=NAME", "'NAME' sets nothing; write env=NAME=VALUE"),
        ("exec:true?paht=.", "did you mean 'path'?"),
        ("exec:true?chunking=some", "the only chunking that can be declared is ordered"),
    ],
)
def test_mistakes_are_told(text: str, words: str) -> None:
    with pytest.raises(UsageError) as told:
        program(parse(text))
    assert words in str(told.value)
