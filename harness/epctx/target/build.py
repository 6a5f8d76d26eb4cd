"""Building the native parts: the driver, the bundled target, and shims around a vendor's header.

What was built is kept in a cache by content: the sources, the flags and the compiler decide the file's name, so that nothing is
ever stale. Any number of processes may build the same thing at once; each moves its result into place in one step.

The cache is ``$EPCTX_CACHE``, else the user's cache directory.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from epctx.case import Sanitizer
from epctx.errors import BuildError, TargetError, UsageError
from epctx.target.spec import Fuzzer
from epctx.target.toolchain import check_fuzzer, check_sanitizer, find_clang, find_compiler, version_of

NATIVE = Path(__file__).parent.parent / "native"
"""The C++ sources that come with epctx."""

HEADER_NAMESPACE = "ep_context_data_utils"
"""The namespace of the reference helper's functions, unless told otherwise."""

_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-pthread")
_SANITIZING = ("-O1", "-g", "-fno-omit-frame-pointer")
_FUZZING = ("-O1", "-gline-tables-only", "-fno-omit-frame-pointer")
_SHOWN_ERRORS = 3
_BUILDING = "building-"
"""How the directories in which something is built begin."""
_LONGEST = 3600
"""Seconds after which no build goes on any more."""


@dataclass(frozen=True)
class Part:
    """Something to build: a program or a shared library out of ``sources``.

    ``inputs`` are all files whose content decides the result, ``flags`` go to the compiler after the common ones. With
    ``sanitizer`` it is built for that one, so that reports name functions and lines. A part for ``clang`` is built by that, and
    linked with the flags ``link``.
    """

    name: str
    sources: tuple[Path, ...]
    inputs: tuple[Path, ...]
    flags: tuple[str, ...] = ()
    library: bool = True
    sanitizer: Sanitizer | None = None
    clang: bool = False
    link: tuple[str, ...] = ()

    def under(self, sanitizer: Sanitizer | None) -> Part:
        """The same, built for a sanitizer or for none."""
        return dataclasses.replace(self, sanitizer=sanitizer)

    def covered(self, fuzzer: Fuzzer) -> Part:
        """The same library, built for the coverage of libFuzzer: under the address sanitizer, or for a process without that."""
        how = {
            "libfuzzer": ("-fsanitize=fuzzer-no-link,address",),
            # this libFuzzer has no place for what is known of the stack
            "atheris": ("-fsanitize=fuzzer-no-link", "-fno-sanitize-coverage=stack-depth"),
        }[fuzzer]
        own, flags = (NATIVE / "fuzz" / "compared.cc",), (*self.flags, *_FUZZING, *how)
        sources, inputs = (*self.sources, *own), (*self.inputs, *own)
        return dataclasses.replace(self, sources=sources, inputs=inputs, flags=flags, clang=True, link=("-shared", *how))


def driver(sanitizer: Sanitizer | None = None) -> Path:
    """The program that loads a target and answers requests (``native/protocol.h``).

    Raises:
        TargetError: there is no compiler, or none that has the sanitizer.
        BuildError: the compiler failed.
    """
    return build(DRIVER.under(sanitizer))


def bundled() -> Path:
    """The library of the targets ``reference`` and ``weak:NAME``; the option ``weak=NAME`` chooses.

    Raises:
        TargetError: there is no compiler.
        BuildError: the compiler failed.
    """
    return build(BUNDLED)


def ep() -> Path:
    """The bundled execution provider: a library to be registered in ONNX Runtime 1.28 or later.

    Raises:
        TargetError: there is no compiler.
        BuildError: the compiler failed.
    """
    return build(EP)


def header(
    path: str | os.PathLike[str],
    namespace: str = HEADER_NAMESPACE,
    includes: Sequence[str | os.PathLike[str]] = (),
    options: Sequence[str] = (),
    sanitizer: Sanitizer | None = None,
    fuzzer: Fuzzer | None = None,
) -> Path:
    """A library around a C++ header that has the functions of the reference helper.

    Args:
        path: The header.
        namespace: Where its functions are.
        includes: Include directories. ONNX Runtime's own headers are taken from them where they are there; without any, epctx
            lends its own view of those headers.
        options: More arguments for the compiler.
        sanitizer: What it is built for, if anything.
        fuzzer: Whose coverage it is built for, if anybody's.

    Raises:
        UsageError: the header or an include directory does not exist, or the namespace is none.
        TargetError: there is no compiler.
        BuildError: the header does not compile, or lacks a function that is needed; with the compiler's words.
    """
    file = Path(path).resolve()
    if not file.is_file():
        raise UsageError(f"There is no header {os.fspath(path)}.")
    if not re.fullmatch(r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*", namespace):
        raise UsageError(f"{namespace!r} is not the name of a C++ namespace.")
    directories = [Path(directory).resolve() for directory in includes]
    for directory in directories:
        if not directory.is_dir():
            raise UsageError(f"There is no include directory {directory}.")
    # Given directories come first: ONNX Runtime's own headers, where they are there, win over our view of them.
    search = [*directories, file.parent, NATIVE / "ort"]
    flags = [f"-DEPCTX_NAMESPACE={namespace}", f'-DEPCTX_HEADER="{file}"', *(f"-I{d}" for d in search), *options]
    shim = NATIVE / "shim" / "shim.cc"
    found = _included((shim,), _flags_of(Part("shim", (shim,), (), tuple(flags))))
    part = Part(f"header-{file.stem}", (shim,), (shim, file, *found), tuple(flags), sanitizer=sanitizer)
    try:
        return build(part.covered(fuzzer) if fuzzer else part)
    except BuildError as error:
        if not re.search(rf"\bnamespace\s+{namespace.rpartition(':')[2]}\b", file.read_text("utf-8", "replace")):
            hint = f"{path} has no namespace {namespace}; say which it has with ?namespace=NAME."
            raise BuildError(f"{hint}\n\n{error}") from None
        raise


def build(part: Part) -> Path:
    """The built file of a part: from the cache, or made now.

    Raises:
        TargetError: there is no compiler.
        BuildError: the compiler failed.
    """
    compiler = find_clang() if part.clang else find_compiler()
    key = _key(part, compiler)
    result = cache_directory() / f"{part.name}-{key}{'.so' if part.library else ''}"
    if result.exists():
        return result
    if part.sanitizer:
        check_sanitizer(compiler, part.sanitizer)
    if part.clang:
        check_fuzzer(compiler)
    try:
        result.parent.mkdir(parents=True, exist_ok=True)
        _clear(result.parent)
        with tempfile.TemporaryDirectory(dir=result.parent, prefix=_BUILDING) as directory:
            made = _make(part, compiler, Path(directory))
            made.chmod(0o755)
            if _key(part, compiler) != key:
                raise BuildError(f"A source of {part.name} changed while it was built; run again.")
            os.replace(made, result)
    except OSError as error:
        raise TargetError(f"Nothing can be built in {result.parent}: {error}. Set EPCTX_CACHE to another directory.") from error
    return result


def _clear(cache: Path) -> None:
    """Remove what builds left behind that were killed, and are older than any that may go on."""
    for left in cache.glob(f"{_BUILDING}*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _LONGEST:
                shutil.rmtree(left, ignore_errors=True)


def build_all(parts: Iterable[Part]) -> list[Path]:
    """Builds several parts at once, one after the other where there is one processor.

    Raises:
        TargetError: there is no compiler.
        BuildError: the compiler failed.
    """
    with concurrent.futures.ThreadPoolExecutor(_processors()) as pool:
        return list(pool.map(build, parts))


def cache_directory() -> Path:
    """Where built files are kept."""
    return Path(os.environ.get("EPCTX_CACHE") or platformdirs.user_cache_dir("epctx")).absolute()


def _sources(*patterns: str) -> tuple[Path, ...]:
    return tuple(sorted(file for pattern in patterns for file in NATIVE.glob(pattern)))


DRIVER = Part(
    "driver",
    _sources("driver/*.cc"),
    _sources("*.h", "driver/*", "ort/*.h"),
    (f"-I{NATIVE}", f"-I{NATIVE / 'ort'}"),
    library=False,
)
BUNDLED = Part(
    "bundled",
    _sources("weak/*.cc"),
    _sources("*.h", "weak/*", "reference/*.h", "ort/*.h"),
    (f"-I{NATIVE}", f"-I{NATIVE / 'ort'}"),
)
EP = Part(
    "ep",
    _sources("ep/*.cc", "weak/*.cc"),
    _sources("*.h", "ep/*", "weak/*", "reference/*.h", "ort/*.h"),
    (f"-I{NATIVE}", f"-I{NATIVE / 'ort'}"),
)
_CALLING = tuple(file for file in DRIVER.sources if file.name not in ("main.cc", "session.cc"))
"""What of the driver makes calls on a library."""
_CALLING_INPUTS = (*DRIVER.inputs, *_sources("fuzz/*"))
_FUZZ = _sources("fuzz/chance.cc", "fuzz/ground.cc", "fuzz/one.cc", "fuzz/plan.cc")


def _program(name: str, *sources: Path) -> Part:
    """A program of libFuzzer, whose own parts count for no coverage, and that lends its runtime to what it loads."""
    flags = (*DRIVER.flags, *_FUZZING, "-fsanitize=address")
    link = ("-fsanitize=fuzzer,address", "-Wl,--export-dynamic")
    return Part(name, (*_CALLING, *sources), _CALLING_INPUTS, flags, library=False, clang=True, link=link)


FUZZER = _program("fuzzer", *_FUZZ, *_sources("fuzz/libfuzzer.cc"))
PLAIN_FUZZER = _program("plain-fuzzer", *_sources("fuzz/plain.cc"))
CALLER = Part("caller", (*_CALLING, *_FUZZ), _CALLING_INPUTS, DRIVER.flags)


def caller(fuzzer: Fuzzer) -> Part:
    """What calls a target for a fuzzer: its program, or the library for one in Python."""
    return FUZZER if fuzzer == "libfuzzer" else CALLER


def _flags_of(part: Part) -> list[str]:
    sanitizing = [*_SANITIZING, f"-fsanitize={part.sanitizer}"] if part.sanitizer else []
    return [*_FLAGS, *part.flags, *sanitizing]


def _key(part: Part, compiler: tuple[str, ...]) -> str:
    state = hashlib.sha256(repr((version_of(compiler), compiler, _flags_of(part))).encode())
    for file in sorted(set(part.inputs)):
        content = file.read_bytes()
        state.update(f"{file.name} {len(content)}\n".encode() + content)
    return state.hexdigest()[:24]


def _make(part: Part, compiler: tuple[str, ...], directory: Path) -> Path:
    """Compiles a part in an empty directory, its sources side by side, and links it."""
    objects = [directory / f"{source.stem}.o" for source in part.sources]

    def compile_one(source: Path, made: Path) -> None:
        _run([*compiler, *_flags_of(part), "-c", str(source), "-o", str(made)])

    with concurrent.futures.ThreadPoolExecutor(_processors()) as pool:
        list(pool.map(compile_one, part.sources, objects))
    made = directory / "made"
    how = list(part.link) or (["-shared"] if part.library else [])
    if part.sanitizer:
        how.append(f"-fsanitize={part.sanitizer}")  # where its runtime is a part of the driver, a library has it undefined
    elif part.library and not part.link:
        how.append("-Wl,-z,defs")  # what is undefined is told now, not when it is loaded
    _run([*compiler, "-pthread", *how, *map(str, objects), "-o", str(made), "-ldl"])
    return made


def _included(sources: Sequence[Path], flags: Sequence[str]) -> list[Path]:
    """The files that the sources include, system headers apart, so that a change in one of them builds anew."""
    text = _run([*find_compiler(), *flags, "-MM", *map(str, sources)])
    names = re.findall(r"(?:\\.|[^\s\\])+", text.partition(":")[2].replace("\\\n", " "))
    return [Path(name.replace("\\ ", " ")) for name in names]


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise TargetError(f"The C++ compiler {command[0]} does not run: {error}") from error
    if done.returncode != 0:
        raise BuildError(f"{_shortened(done.stderr)}\n\nThe command was:\n{shlex.join(command)}")
    return done.stdout


def _shortened(words: str) -> str:
    """The first errors of a compiler, each with the source line that it shows below it."""
    lines = words.splitlines()
    starts = [n for n, line in enumerate(lines) if re.search(r"\berror:|undefined reference", line)]
    if not starts:
        return "\n".join(lines[-10:]) or "The compiler failed without a word."
    shown: list[str] = []
    for start in starts[:_SHOWN_ERRORS]:
        end = start + 1
        while end < len(lines) and re.match(r"\s*\d*\s*\|", lines[end]):
            end += 1
        shown += lines[start:end]
    if len(starts) > _SHOWN_ERRORS:
        shown.append(f"... and {len(starts) - _SHOWN_ERRORS} more errors")
    return "\n".join(shown)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
