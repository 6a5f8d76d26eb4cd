"""Environments: made once, complete or not there, by whichever installer is at hand."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest
from tests.fakes.installer import FakeUv, install_fake_uv

from epctx.errors import HarnessError
from epctx.faults import Environment
from epctx.target import environment

TINY = Environment("tiny 1.0", ("epctx-tiny==1.0",))
OTHER = Environment("tiny 2.0", ("epctx-tiny==2.0",))


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("EPCTX_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def uv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeUv:
    return install_fake_uv(monkeypatch, tmp_path)


def test_one_that_is_there_is_used_again(uv: FakeUv) -> None:
    first, again = environment.make(TINY), environment.make(TINY)
    assert first.python == again.python
    assert Path(first.python).exists()
    assert first.seconds > 0
    assert again.seconds == 0
    assert uv.installed == ["epctx-tiny==1.0"]


def test_fresh_makes_it_anew(uv: FakeUv) -> None:
    first = environment.make(TINY)
    left = Path(first.python).parent.parent / "left"
    left.touch()
    assert environment.make(TINY, fresh=True).seconds > 0
    assert not left.exists()
    assert uv.installed == ["epctx-tiny==1.0"] * 2


def test_one_is_named_by_what_it_holds(uv: FakeUv) -> None:
    renamed = Environment("other name", TINY.requirements)
    made = [environment.make(e).python for e in (TINY, OTHER, Environment(TINY.name, (*TINY.requirements, "numpy<2")))]
    assert len(set(made)) == 3
    assert "tiny-1.0-py" in made[0]
    assert environment.make(renamed).python not in made  # its name is for people, and must not lie to them


def test_an_interrupted_installation_is_not_taken_for_a_complete_one(uv: FakeUv) -> None:
    missing = Environment("missing 1", ("missing==1",))
    for _ in range(2):
        with pytest.raises(HarnessError):
            environment.make(missing)
    assert uv.installed == ["missing==1"] * 2  # the directory of the first was there, and its mark was not


def test_one_whose_interpreter_is_gone_is_made_anew(uv: FakeUv) -> None:
    python = Path(environment.make(TINY).python)
    python.unlink()
    python.symlink_to("/nowhere/python")
    assert environment.make(TINY).seconds > 0
    assert python.resolve().exists()


def test_several_that_ask_at_once_get_one(uv: FakeUv) -> None:
    slow = Environment("slow 1", ("slow==1",))
    words = [sys.executable, "-c", f"from epctx.target import environment as e; from epctx.faults import *; e.make({slow!r})"]
    processes = [subprocess.Popen(words, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}) for _ in range(2)]
    threads = [threading.Thread(target=environment.make, args=(slow,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.wait(60) for process in processes] == [0, 0]
    assert uv.installed == ["slow==1"]


def test_what_cannot_be_installed_is_one_sentence_with_the_installer_s_words(uv: FakeUv, cache: Path) -> None:
    with pytest.raises(HarnessError) as caught:
        environment.make_all([TINY, Environment("missing 1", ("missing==1",)), OTHER])
    text = str(caught.value)
    assert text.startswith(
        "The environment for missing 1 cannot be made: No solution found when resolving dependencies: "
        "Because there is no version of missing==1 and you require missing==1, we can conclude that your "
        "requirements are unsatisfiable (all that was said is in "
    )
    assert "\n" not in text
    (log,) = (cache / "environments").glob("missing-1-*.log")
    assert str(log) in text
    assert "requirements are unsatisfiable" in log.read_text()


def test_all_are_made_and_told(uv: FakeUv) -> None:
    told: list[str] = []
    made = environment.make_all([TINY, OTHER], progress=lambda one, _: told.append(one.name))
    assert [Path(one.python).exists() for one in made] == [True, True]
    assert "tiny-1.0" in made[0].python
    assert "tiny-2.0" in made[1].python
    assert sorted(told) == ["tiny 1.0", "tiny 2.0"]


def test_a_cache_that_cannot_be_written_is_said(uv: FakeUv, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("EPCTX_CACHE", str(tmp_path / "file"))
    with pytest.raises(HarnessError, match=r"cannot be made in .*file/environments: .*Set EPCTX_CACHE to another directory"):
        environment.make(TINY)


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (Environment("a 1", ("a==1",)), ""),
        (Environment("a 1", ("a==1",), python="3.99"), ""),
        (
            Environment("a 1", ("a==1",), python="3.9"),
            f"a 1 has wheels for Python 3.9 and earlier, not for 3.{sys.version_info[1]}",
        ),
        (Environment("a 1", ("a==1",), machines=(platform.machine(), "pdp11")), ""),
        (Environment("a 1", ("a==1",), machines=("pdp11",)), f"a 1 has no wheels for {platform.machine()}"),
    ],
)
def test_what_is_known_to_have_no_wheel_here(one: Environment, words: str) -> None:
    assert environment.obstacle(one) == words


def test_without_uv_pip_installs_wheels_and_only_those(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("pip", reason="there is no pip beside epctx")
    wheel(tmp_path / "wheels", "epctx_tiny", "1.0")
    (tmp_path / "wheels" / "epctx-tiny-2.0.tar.gz").write_bytes(b"a source distribution, which must not be touched")
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    python = environment.make(TINY).python
    said = subprocess.run(
        [python, "-I", "-c", "import epctx_tiny; print(epctx_tiny.SAYS)"], capture_output=True, text=True, check=True
    )
    assert said.stdout == "1.0\n"
    with pytest.raises(HarnessError, match=r"made: Could not find .* epctx-tiny==2.0 \(from versions: 1.0\) \(all"):
        environment.make(OTHER)


def test_without_any_installer_a_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(HarnessError, match="There is neither uv nor pip to install releases with; put one beside epctx"):
        environment.make(TINY)


def wheel(directory: Path, name: str, version: str) -> None:
    """The smallest wheel: a module that says its version."""
    directory.mkdir(parents=True)
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(directory / f"{name}-{version}-py3-none-any.whl", "w") as file:
        file.writestr(f"{name}.py", f"SAYS = {version!r}\n")
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
