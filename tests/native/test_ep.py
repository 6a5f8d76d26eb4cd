"""The bundled execution provider, in sessions made by onnxruntime's own Python binding."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from epctx.target import build
from epctx.target.native import onnxruntime_library

pytestmark = pytest.mark.skipif(onnxruntime_library() is None, reason="onnxruntime is not installed")

FAKES = Path(__file__).parent.parent / "fakes"
Check = Callable[..., None]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Runs lines of an application (``tests/fakes/application.py``) in an empty directory and a process of its own."""

    def run(*lines: str) -> None:
        search = os.pathsep.join([str(FAKES), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "EPCTX_EP": str(build.ep()), "PYTHONPATH": search}
        program = "\n".join(("import os, numpy, onnx, onnxruntime", "from application import *", *lines))
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
        )
        assert done.returncode == 0, done.stderr

    return run


def test_a_source_model_runs(check: Check) -> None:
    check("source((1.5, -2, 3))", "assert run('model.onnx', 2) == [[3.0, -4.0, 6.0]]")


@pytest.mark.parametrize("embed", [True, False])
def test_a_compiled_model_gives_what_its_source_gave(check: Check, embed: bool) -> None:
    check(
        "source((1.5, -2, 3), (0.25,))",
        f"first, second = compiled({embed})",
        f"assert first['embed_mode'] == second['embed_mode'] == {int(embed)}",
        "assert first['source'] == b'epctx'",
        "os.remove('model.onnx')",
        "assert run('compiled.onnx', 2) == [[3.0, -4.0, 6.0], [0.5]]",
        f"assert len(os.listdir()) == {1 if embed else 3}",
    )


@pytest.mark.parametrize("embed", [True, False])
def test_the_data_of_bytes_is_the_bytes(check: Check, embed: bool) -> None:
    check(
        "source((0, 1, 0, 255), dtype=numpy.uint8)",
        f"node, = compiled({embed}, name='node')",
        "data = node['ep_cache_context'] if node['embed_mode'] else open(node['ep_cache_context'], 'rb').read()",
        "assert data == bytes((0, 1, 0, 255))",
        "assert run('compiled.onnx', 1, dtype=numpy.uint8) == [[0, 1, 0, 255]]",
    )


def test_a_session_uses_what_it_reads(check: Check) -> None:
    check(
        "source((2, 3))",
        "compiled(False, name='node')",
        "data = bytearray(open('data0.bin', 'rb').read())",
        "data[-4:] = numpy.float32(5).tobytes()",
        "open('data0.bin', 'wb').write(data)",
        "assert run('compiled.onnx', 1) == [[2.0, 5.0]]",
    )


@pytest.mark.parametrize(
    ("damage", "words"),
    [("data[:-1]", "as many factors"), ("b'E' + data[1:]", "does not start as one"), ("data[:9]", "cut off"), ("b''", "cut off")],
)
def test_malformed_data_is_an_error_of_the_session(check: Check, damage: str, words: str) -> None:
    check(
        "source((2, 3))",
        "compiled(False, name='node')",
        "data = open('data0.bin', 'rb').read()",
        f"open('data0.bin', 'wb').write({damage})",
        f"assert {words!r} in refusal(run, 'compiled.onnx', 1)",
    )


def test_the_helper_may_be_a_weak_one(check: Check) -> None:
    lines = (
        "source((1, 2), dtype=numpy.uint8)",
        "compiled(True)",
        "model = onnx.load('compiled.onnx')",
        "for a in model.graph.node[0].attribute:",
        "    if a.name == 'embed_mode': a.i = 0",
        "    if a.name == 'ep_cache_context': a.s = b'../outside.bin'",
        "os.makedirs('inner', exist_ok=True)",
        "onnx.save(model, 'inner/model.onnx')",
        "open('outside.bin', 'wb').write(b'\\x05\\x06')",
    )
    check(*lines, "assert 'outside.bin' in refusal(run, 'inner/model.onnx', 1, options(), numpy.uint8)")
    check(*lines, "assert run('inner/model.onnx', 1, options(helper='weak=none'), numpy.uint8) == [[5, 6]]")


@pytest.mark.parametrize("option", ["support='all'", "helper='weak=no-such-weakness'"])
def test_options_that_make_no_sense_are_refused(check: Check, option: str) -> None:
    check("source((1,))", f"refusal(run, 'model.onnx', 1, options({option}))")


def _minor() -> int:
    try:
        return int(importlib.metadata.version("onnxruntime").split(".")[1])
    except importlib.metadata.PackageNotFoundError:
        return 0


stable = pytest.mark.skipif(_minor() < 31, reason="only from 1.31 on the Python binding takes callbacks")


@stable
def test_callbacks_take_the_place_of_files(check: Check) -> None:
    check(
        "kept = {}",
        "def write(name, data): kept[name] = data.read(0, data.size)",
        "def read(name, buffer): buffer.allocate(len(kept[name])); buffer.write(kept[name], 0)",
        "source((1.5, -2), (4,))",
        "nodes = compiled(False, lambda compiler: compiler.set_ep_context_data_write_func(write))",
        "assert {node['ep_cache_context'].decode() for node in nodes} == kept.keys()",
        "assert sorted(os.listdir()) == ['compiled.onnx', 'model.onnx']",
        "with_callback = options()",
        "with_callback.set_ep_context_data_read_func(read, 1 << 20)",
        "assert run('compiled.onnx', 2, with_callback) == [[3.0, -4.0], [8.0]]",
    )


@stable
@pytest.mark.parametrize(
    ("support", "words"),
    [
        ("none", "does not support the registered EPContext data read callback"),
        ("old", "does not support the registered EPContext data read callback"),
        ("write", "does not support the registered EPContext data read callback"),
        ("unknown", "unknown EPContext data support flags"),
        ("error", "cannot say what it supports"),
    ],
)
def test_what_it_advertises_is_negotiated(check: Check, support: str, words: str) -> None:
    check(
        "source((1,))",
        "compiled(False, name='node')",
        f"with_callback = options(support={support!r})",
        "with_callback.set_ep_context_data_read_func(lambda name, buffer: None, 1 << 20)",
        f"assert {words!r} in refusal(run, 'compiled.onnx', 1, with_callback)",
    )
