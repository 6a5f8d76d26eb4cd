"""Finding a compiler, building, and the cache of what was built."""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from epctx.errors import BuildError, TargetError, UsageError
from epctx.target import build, toolchain

EXPORTED = 'extern "C" __attribute__((visibility("default")))'
HEADERS = Path(__file__).parent / "fakes" / "headers"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EPCTX_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def part(tmp_path: Path) -> build.Part:
    source = tmp_path / "one.cc"
    source.write_text(f"{EXPORTED} int one() {{ return 1; }}\n")
    return build.Part("one", (source,), (source,))


def can(library: Path, ability: str) -> bool:
    return bool(ctypes.CDLL(str(library)).epctx_target_can(ability.encode()))


def test_what_is_built_for_a_sanitizer_is_kept_apart(cache: Path, part: build.Part) -> None:
    try:
        toolchain.check_sanitizer(toolchain.find_compiler(), "undefined")
    except TargetError as error:
        pytest.skip(str(error))
    plain, checked = build.build(part), build.build(part.under("undefined"))
    assert plain != checked
    assert {plain, checked} == set(cache.iterdir())
    assert build.build(part.under(None)) == plain


def test_a_sanitizer_that_the_compiler_does_not_know_is_told() -> None:
    with pytest.raises(TargetError, match=r"cannot build for the nonsense sanitizer \(.*nonsense"):
        toolchain.check_sanitizer(toolchain.find_compiler(), "nonsense")


def test_cxx_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", f"{sys.executable} -I")
    assert toolchain.find_compiler() == (sys.executable, "-I")


def test_cxx_that_does_not_exist_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    with pytest.raises(TargetError, match="'no-such-compiler'"):
        toolchain.find_compiler()


def test_without_any_compiler_the_three_ways_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(TargetError, match=r"\$CXX.*g\+\+ or clang\+\+.*epctx\[zig\]"):
        toolchain.find_compiler()


def test_ziglang_is_the_last_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name == "ziglang" or None)
    assert toolchain.find_compiler() == (sys.executable, "-m", "ziglang", "c++")


def test_what_is_built_is_kept(cache: Path, part: build.Part) -> None:
    made = build.build(part)
    before = made.stat()
    assert ctypes.CDLL(str(made)).one() == 1
    assert build.build(part) == made
    assert made.stat() == before
    assert os.listdir(cache) == [made.name]
    assert stat.S_IMODE(before.st_mode) == 0o755


def test_other_content_flags_or_compiler_build_anew(cache: Path, part: build.Part, monkeypatch: pytest.MonkeyPatch) -> None:
    first = build.build(part)
    flagged = build.build(build.Part(part.name, part.sources, part.inputs, ("-DX",)))
    part.sources[0].write_text(f"{EXPORTED} int one() {{ return 11; }}\n")
    changed = build.build(part)
    assert ctypes.CDLL(str(changed)).one() == 11
    monkeypatch.setattr(build, "version_of", lambda _: "another version")
    assert len({first, flagged, changed, build.build(part)}) == 4


def test_many_may_build_the_same_at_once(cache: Path, part: build.Part) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = set(pool.map(build.build, [part] * 4))
    assert [path.name for path in made] == os.listdir(cache)


def test_a_cache_that_cannot_be_written_is_told(monkeypatch: pytest.MonkeyPatch, part: build.Part, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("EPCTX_CACHE", str(tmp_path / "file"))
    with pytest.raises(TargetError, match="EPCTX_CACHE"):
        build.build(part)


def test_a_header_of_the_documents_signatures_builds(cache: Path) -> None:
    made = build.header(HEADERS / "plain.h")
    assert [a for a in ("write", "fallback", "moves") if can(made, a)] == ["write", "moves"]
    assert build.header(HEADERS / "plain.h") == made


def test_a_header_with_every_function_in_its_own_namespace_builds(cache: Path) -> None:
    made = build.header(HEADERS / "full.h", "vendor::io")
    assert all(can(made, a) for a in ("write", "fallback", "moves"))


def test_an_include_directory_wins_over_our_view(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "plugin_ep_utils.h").write_text("#error taken from the include directory\n")
    with pytest.raises(BuildError, match="taken from the include directory"):
        build.header(HEADERS / "plain.h", includes=[tmp_path])


def test_a_change_in_what_a_header_includes_builds_anew(cache: Path, tmp_path: Path) -> None:
    outer, inner = tmp_path / "outer.h", tmp_path / "inner.h"
    outer.write_text('#include "inner.h"\n')
    inner.write_text((HEADERS / "plain.h").read_text())
    first = build.header(outer)
    inner.write_text((HEADERS / "plain.h").read_text() + "// changed\n")
    assert build.header(outer) != first


def test_a_compile_error_is_shown_with_line_and_command(cache: Path) -> None:
    with pytest.raises(BuildError) as caught:
        build.header(HEADERS / "broken.h")
    message = str(caught.value)
    assert "broken.h:10:" in message
    assert "return nowhere_;" in message
    assert "-DEPCTX_NAMESPACE=ep_context_data_utils" in message
    assert len(message.splitlines()) < 20
    assert os.listdir(cache) == []


def test_a_header_without_the_read_is_told_what_it_lacks(cache: Path) -> None:
    with pytest.raises(BuildError, match="the header must have OrtStatus\\* ReadEpContextData"):
        build.header(HEADERS / "no_read.h")


@pytest.mark.parametrize(
    ("path", "namespace", "includes", "words"),
    [
        ("missing.h", "a", [], "no header"),
        ("plain.h", "a b", [], "not the name of a C\\+\\+ namespace"),
        ("plain.h", "a", ["missing"], "no include directory"),
    ],
)
def test_bad_arguments_are_told(path: str, namespace: str, includes: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        build.header(HEADERS / path, namespace, includes)
