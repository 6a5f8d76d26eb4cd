"""Execution providers by description: what a target's name makes of one, and what is said of one that cannot be used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from epctx.errors import TargetError, UsageError
from epctx.target import Launch, build, prepare, products, provider, toolchain
from epctx.target.native import onnxruntime_library
from epctx.target.provider import read, ready

NAME = "EpctxExecutionProvider"
DOCS = Path(__file__).parent.parent.parent / "docs"
needs_onnxruntime = pytest.mark.skipif(onnxruntime_library() is None, reason="onnxruntime is not installed")

GOOD = f'name = "{NAME}"\nlibrary = "ep.so"\ncomputes = "mul"\n'


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A description of the bundled provider, beside its library, as a vendor would write it."""
    directory = tmp_path_factory.mktemp("vendor")
    (directory / "ep.so").symlink_to(build.ep())
    (directory / "ep.toml").write_text(GOOD, encoding="utf-8")
    return directory / "ep.toml"


def library(directory: Path, text: str) -> Path:
    """A library of C++ that is none of an execution provider, or none that can be used."""
    source, made = directory / "library.cc", directory / "library.so"
    source.write_text(text, encoding="utf-8")
    build._run([*toolchain.find_compiler(), "-shared", "-fPIC", str(source), "-o", str(made)])
    return made


@needs_onnxruntime
def test_a_description_beside_its_library_is_all_that_it_takes(described: Path) -> None:
    launch = prepare(f"ep:{described}")
    assert launch.sessions
    assert launch.driver == sys.executable
    assert launch.loader is not None
    assert not launch.loader.opens_only
    made = products.read(launch.loader.products)
    assert len({product.blob for product in made.products}) == products.COUNT
    assert len({product.result for product in made.products}) == products.COUNT


@needs_onnxruntime
def test_what_was_compiled_is_kept(described: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EPCTX_CACHE", str(tmp_path / "cache"))
    first = _products(prepare(f"ep:{described}"))
    before = os.stat(first).st_mtime_ns
    assert _products(prepare(f"ep:{described}")) == first
    assert os.stat(first).st_mtime_ns == before
    assert _products(prepare(f"ep:{described}?option.helper=weak=no-containment")) != first
    assert [file.name for file in (tmp_path / "cache").iterdir() if file.name.startswith("making-")] == []


def _products(launch: Launch) -> str:
    assert launch.loader is not None
    return launch.loader.products


@needs_onnxruntime
def test_options_change_a_description(described: Path) -> None:
    loader = prepare(f"ep:{described}?option.support=none&session.a.b=c&device=cpu&readable=/srv&proof=open").loader
    assert loader is not None
    assert loader.settings["options"] == {"support": "none"}
    assert loader.settings["session"] == {"a.b": "c"}
    assert loader.settings["device"] == "cpu"
    assert "/srv" in loader.readable
    assert loader.opens_only


@needs_onnxruntime
def test_devices_are_tried_in_order(described: Path) -> None:
    text = GOOD + '[[devices]]\nkind = "npu"\nnote = "the first"\n[[devices]]\nkind = "cpu"\nnote = "the second"\n'
    two = described.with_name("two.toml")
    two.write_text(text, encoding="utf-8")
    loader = prepare(f"ep:{two}").loader
    assert loader is not None
    assert loader.notes == ("the second",)


@needs_onnxruntime
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("name=NoSuchProvider&computes=mul", "has no device of a provider 'NoSuchProvider': it offers EpctxExecutionProvider"),
        (f"name={NAME}&computes=mul&device=gpu", "has no device of the kind gpu here: it has cpu"),
        (f"name={NAME}&computes=matmul", r"leaves a tiny model \(matmul\) that it is to compile to the CPU"),
        (f"name={NAME}&computes=mul&option.flaw=nonsense", "does not compile a tiny model .*knows no flaw 'nonsense'"),
        (
            f"name={NAME}&computes=mul&distribution=no-such-wheel",
            "no-such-wheel is not installed .* pip install no-such-wheel",
        ),
        (f"name={NAME}&computes=mul&option.flaw=ep-saves-other-data", "gives another result once it loads what it compiled"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_sentence(options: str, words: str) -> None:
    with pytest.raises(TargetError, match=words) as caught:
        prepare(f"ep:lib={build.ep()}&{options}")
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 3


@needs_onnxruntime
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("int nothing = 0;", "is no library of an execution provider: .*CreateEpFactories"),
        (
            '#include <cstdlib>\nextern "C" void CreateEpFactories() { abort(); }\nextern "C" void ReleaseEpFactory() {}',
            "its process ended with SIGABRT",
        ),
    ],
    ids=["none", "abort"],
)
def test_a_library_that_is_none_of_a_provider(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(TargetError, match=words):
        prepare(f"ep:lib={library(tmp_path, text)}&name=X")


@needs_onnxruntime
def test_a_provider_that_never_comes_back_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "SECONDS", 3.0)
    text = '#include <unistd.h>\nextern "C" void CreateEpFactories() { for (;;) pause(); }\nextern "C" void ReleaseEpFactory() {}'
    with pytest.raises(TargetError, match="did not end within 3 s"):
        prepare(f"ep:lib={library(tmp_path, text)}&name=X")


@needs_onnxruntime
def test_a_provider_that_never_comes_back_ends_with_whoever_waits_for_it(tmp_path: Path) -> None:
    text = '#include <unistd.h>\nextern "C" void CreateEpFactories() { for (;;) pause(); }\nextern "C" void ReleaseEpFactory() {}'
    target = f"ep:lib={library(tmp_path, text)}&name=X"
    program = [sys.executable, "-c", f"from epctx.target import prepare; prepare({target!r})"]
    waiting = subprocess.Popen(program, env={**os.environ, "TMPDIR": str(tmp_path)})  # in which it leaves its directory
    children = Path(f"/proc/{waiting.pid}/task/{waiting.pid}/children")
    made = _until(lambda: [pid for pid in children.read_text(encoding="ascii").split() if _is_at_work(pid, tmp_path)])
    waiting.kill()
    waiting.wait()
    assert made
    assert _until(lambda: not _is_at_work(made[0], tmp_path))


def _is_at_work(pid: str, place: Path) -> bool:
    """Whether a process has the library of this test, and so stands still in it."""
    try:
        return str(place) in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def _until(look: Callable[[], Any], seconds: float = 30.0) -> Any:
    """What is seen once it is something, or after a while."""
    end = time.monotonic() + seconds
    while not (found := look()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = 1\n", r"Expected `str`, got `int` - at `\$.name`"),
        ('summary = "none"\n', "missing required field `name`"),
        ('name = "X"\nlibary = "ep.so"\n', "unknown field `libary`"),
        ('name = "X"\n[[devices]]\nkind = "tpu"\n', "Invalid enum value 'tpu'"),
        ('name = "X"\ndevices = []\n', "devices is empty"),
        ('name = "X"\nfrom_memory = "home"\n', "Invalid enum value 'home'"),
        ("name = \n", "Invalid value"),
        ('name = "\xff"\n', "can't decode byte"),
    ],
)
def test_a_wrong_description_is_a_mistake_in_a_place(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=words) as caught:
        prepare(f"ep:{path}")
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("ep:none-such", "there is no provider 'none-such'; there are bundled, openvino, openvino-builtin, qnn"),
        ("ep:none-such.toml", "No such file"),
        ("ep:", "write ep:lib=PATH&name=NAME"),
        ("ep:lib=/dev/null", "with the name that the provider has"),
        ("ep:lib=/none/such.so&name=X", "there is no library '/none/such.so'"),
        ("ep:qnn?lib=/dev/null", "qnn has a library"),
        ("ep:qnn?devise=cpu", "unknown option 'devise'; did you mean 'device'"),
        ("ep:qnn?device=tpu", "device is one of cpu, gpu, npu, not 'tpu'"),
        ("ep:qnn?proof=none", "proof is one of run, open, best, not 'none'"),
        ("ep:qnn?computes=conv", "computes is one of matmul, mul, not 'conv'"),
    ],
)
def test_a_wrong_name_is_a_mistake(target: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        prepare(target)


def test_an_interpreter_that_is_none() -> None:
    with pytest.raises(TargetError, match="/none/such does not run"):
        prepare("ep:qnn?python=/none/such")


def test_every_description_that_comes_along_can_be_read() -> None:
    for path in ready().values():
        assert read(path).summary


def test_the_description_in_the_documentation_can_be_read(tmp_path: Path) -> None:
    blocks = re.findall(r"```toml\n(.*?)```", (DOCS / "real-loaders.md").read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        (tmp_path / "documented.toml").write_text(block, encoding="utf-8")
        described = read(tmp_path / "documented.toml")
        assert described.options
        assert described.devices[0].kind == "npu"


@needs_onnxruntime
def test_a_package_brings_its_description_along(described: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Entry:
        name = "ours"

        def load(self) -> str:
            return str(described)

    monkeypatch.setattr(provider, "entry_points", lambda group: [Entry()] if group == "epctx.providers" else [])
    loader = prepare("ep:ours").loader
    assert loader is not None
    assert loader.settings["name"] == NAME
