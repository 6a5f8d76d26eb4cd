"""The weak targets: what weak.toml says and what the library has are the same."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

from tests.native.running import Running

from epctx.oracle import RULES
from epctx.target import build
from epctx.target.weakness import weaknesses
from epctx_driver import bundled_external


def test_the_names_are_those_of_the_library(bundled: Path) -> None:
    names = ctypes.CDLL(str(bundled)).epctx_weak_names
    names.restype = ctypes.c_char_p
    assert sorted(w.name for w in weaknesses() if w.of == "helper") == sorted(filter(None, names().decode().split(",")))


def test_the_names_of_flaws_are_those_of_the_execution_provider() -> None:
    names = ctypes.CDLL(str(build.ep())).epctx_ep_flaw_names
    names.restype = ctypes.c_char_p
    assert sorted(w.name for w in weaknesses() if w.of == "ep") == sorted(filter(None, names().decode().split(",")))


def test_the_names_of_weak_loaders_are_those_of_the_driver() -> None:
    assert sorted(w.name for w in weaknesses() if w.of == "loader") == sorted(bundled_external.WEAK)


def test_each_name_is_given_once() -> None:
    names = [w.name for w in weaknesses()]
    assert len(names) == len(set(names))


def test_each_breaks_rules_that_exist() -> None:
    for weakness in weaknesses():
        assert weakness.breaks, weakness.name
        assert not {*weakness.breaks, *weakness.follows} - RULES.keys(), weakness.name
        assert not set(weakness.breaks) & set(weakness.follows), weakness.name


def test_every_rule_has_a_weak_target_that_breaks_it() -> None:
    judged = {rule.id for rule in RULES.values() if not rule.informational}
    assert judged - {rule for w in weaknesses() for rule in w.breaks} == set()


def test_each_starts(start: Callable[..., Running]) -> None:
    for weakness in weaknesses():
        if weakness.of != "helper":
            continue
        settings = f"weak={weakness.name}" + (",platform=windows" if weakness.platform == "windows" else "")
        assert start(settings).hello.error == "", weakness.name
