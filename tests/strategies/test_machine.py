"""The state machine and trials, on targets whose faults are known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from epctx.case import Call, Case, File, World
from epctx.case_file import loads
from epctx.errors import UsageError
from epctx.strategies import Broken, Trial, machine

ROOT = Path(__file__).parents[2]
PLAIN = Case(
    "own/plain", "A case.", "hostile", (), World((File("outside/secret.bin"),)), (Call("read", "../outside/secret.bin"),)
)


def play(target: str, examples: int = 100) -> None:
    run_state_machine_as_test(
        machine(target, profile="spec"),
        settings=settings(
            max_examples=examples,
            stateful_step_count=20,
            derandomize=True,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_the_reference_holds() -> None:
    play("reference", 50)


@pytest.mark.parametrize(
    ("weak", "calls", "rules"),
    [
        ("final-link-unchecked", 1, {"contain.accept-inside", "status.code", "contain.symlink-file", "type.write-replaces"}),
        pytest.param("keeps-first-config", 2, {"cb.state-identity"}, marks=pytest.mark.slow),
    ],
)
def test_a_planted_fault_is_found_and_shrunk(weak: str, calls: int, rules: set[str]) -> None:
    with pytest.raises(Broken) as caught:
        play(f"weak:{weak}", 300)
    broken = caught.value
    assert len(broken.case.calls) == calls
    assert len(broken.case.world.entries) <= 2
    assert {finding.rule for finding in broken.verdict.findings if finding.fails} & rules
    text = next(line for line in str(broken).splitlines() if line.startswith("case: ")).removeprefix("case: ")
    assert loads(text) == broken.case
    with pytest.raises(Broken):  # what is shown is enough to see it again
        Trial(f"weak:{weak}", "spec").hold(loads(text))


def test_a_trial_tells_what_is_broken() -> None:
    Trial().hold(PLAIN)
    with pytest.raises(Broken) as caught:
        Trial("weak:none", "spec").hold(PLAIN)
    text = str(caught.value)
    assert text.startswith("weak:none breaks rules\ncritical  contain.parent\n")
    assert "\n  happened it was accepted with 96 bytes" in text
    assert json.loads(text.partition("case: ")[2].partition("\n")[0])["calls"] == [
        {"op": "read", "name": "../outside/secret.bin"}
    ]


def test_a_target_that_there_is_not() -> None:
    with pytest.raises(UsageError, match="There is no weak target"):
        Trial("weak:nobody").hold(PLAIN)


@pytest.mark.parametrize(("target", "code", "words"), [("reference", 0, "3 passed"), ("weak:S1", 1, "weak:S1 breaks rules")])
def test_the_example_of_the_documentation(target: str, code: int, words: str, tmp_path: Path) -> None:
    example = str(ROOT / "docs" / "examples" / "property_tests.py")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", example]
    env = {**os.environ, "TARGET": target, "HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == code, done.stdout
    assert words in done.stdout
