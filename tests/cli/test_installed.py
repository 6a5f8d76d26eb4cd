"""What is tested is what is installed, and it is complete."""

from __future__ import annotations

import os
import sys
from importlib.metadata import entry_points, version
from importlib.resources import files
from pathlib import Path

import pytest

import epctx
import epctx_attacks
import epctx_corpora
from epctx.attack import families

SOURCES = Path(__file__).parent.parent.parent


@pytest.mark.skipif("TOX_ENV_NAME" not in os.environ, reason="outside tox the sources themselves may be tested")
@pytest.mark.parametrize("package", [epctx, epctx_attacks, epctx_corpora], ids=lambda package: str(package.__name__))
def test_the_wheel_is_tested(package: object) -> None:
    file = Path(str(getattr(package, "__file__", None))).resolve()
    assert file.is_relative_to(Path(sys.prefix).resolve())
    assert "site-packages" in file.parts


@pytest.mark.parametrize(
    "name",
    [
        "py.typed",
        "target/weak.toml",
        "native/epctx_target.h",
        "native/protocol.h",
        "native/driver/main.cc",
        "native/ort/onnxruntime_c_api.h",
        "native/reference/ep_context_data.h",
        "native/shim/shim.cc",
        "native/weak/library.cc",
    ],
)
def test_files_that_are_no_python_come_along(name: str) -> None:
    assert files("epctx").joinpath(name).is_file()


def test_every_source_file_is_installed() -> None:
    packages = (("harness", "epctx"), ("harness", "epctx_pytest"), ("attacks", "epctx_attacks"), ("corpora", "epctx_corpora"))
    for top, package in packages:
        wanted = {p.relative_to(SOURCES / top / package) for p in (SOURCES / top / package).rglob("*") if p.is_file()}
        wanted = {p for p in wanted if "__pycache__" not in p.parts}
        installed = Path(str(files(package)))
        assert {str(p) for p in wanted if not (installed / p).is_file()} == set()


def test_the_corpus_has_every_family() -> None:
    corpora = files("epctx_corpora")
    frozen = {Path(str(p)).stem for p in corpora.joinpath("cases").iterdir()}
    assert frozen | {"regressions"} == set(families())
    kept = {p.name.removesuffix(".json") for p in corpora.joinpath("regressions").iterdir()}
    assert kept == {case.id.partition("/")[2] for case in families()["regressions"].cases()}


def test_entry_points_lead_somewhere() -> None:
    for group in ("epctx.attacks", "epctx.targets"):
        found = entry_points(group=group)
        assert found
        for entry in found:
            assert entry.load() is not None


def test_the_version_is_that_of_the_distribution() -> None:
    assert epctx.__version__ == version("epctx")
