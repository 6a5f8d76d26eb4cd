"""Finding a C++ compiler."""

from __future__ import annotations

import functools
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from epctx.case import Sanitizer
from epctx.errors import TargetError


def find_compiler() -> tuple[str, ...]:
    """The command of a C++17 compiler: ``$CXX``, else g++, clang++, or the one of the ``ziglang`` package.

    Raises:
        TargetError: there is none.
    """
    if os.environ.get("CXX", "").strip():
        try:
            command = shlex.split(os.environ["CXX"])
        except ValueError as error:
            raise TargetError(f"$CXX is no command: {os.environ['CXX']!r}: {error}.") from None
        program = shutil.which(command[0])
        if program is None:
            raise TargetError(f"$CXX names {command[0]!r}, which is not a program that can be run.")
        return (program, *command[1:])
    for name in ("g++", "clang++"):
        if program := shutil.which(name):
            return (program,)
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "c++")
    raise TargetError(
        "No C++ compiler was found: set $CXX to one, or install g++ or clang++, or install epctx[zig], which brings its own."
    )


def find_clang() -> tuple[str, ...]:
    """The command of a clang that builds for libFuzzer: ``$CXX`` if that is one, else clang++.

    Raises:
        TargetError: there is none.
    """
    named = shlex.split(os.environ.get("CXX", ""))[:1]
    for name in (*(name for name in named if "clang" in os.path.basename(name)), "clang++"):
        if program := shutil.which(name):
            return (program,)
    raise TargetError(
        "The coverage of libFuzzer is built by clang, which was not found: install it with its runtime (on Debian and Ubuntu "
        "`apt install clang`), or set $CXX to one."
    )


@functools.cache
def check_fuzzer(clang: tuple[str, ...]) -> None:
    """See that a clang has libFuzzer and the address sanitizer.

    Raises:
        TargetError: their runtime is not installed.
    """
    source = 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n'
    if said := _complaint(clang, "fuzzer,address", source):
        raise TargetError(
            f"{shlex.join(clang)} cannot build for libFuzzer ({said}): install its runtime (on Debian and Ubuntu "
            "`apt install clang`), or set $CXX to a clang that has it."
        )


@functools.cache
def version_of(compiler: tuple[str, ...]) -> str:
    """What the compiler says of itself.

    Raises:
        TargetError: it does not run.
    """
    try:
        done = subprocess.run([*compiler, "--version"], capture_output=True, text=True, errors="replace", check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise TargetError(f"The C++ compiler {shlex.join(compiler)} does not run: {error}") from error
    return done.stdout.strip()


@functools.cache
def check_sanitizer(compiler: tuple[str, ...], sanitizer: Sanitizer) -> None:
    """See that the compiler can build for a sanitizer.

    Raises:
        TargetError: it knows no such sanitizer, or its runtime is not installed.
    """
    if said := _complaint(compiler, sanitizer, "int main() {}\n"):
        raise TargetError(
            f"The C++ compiler {shlex.join(compiler)} cannot build for the {sanitizer} sanitizer ({said}): install its runtime, "
            "or set $CXX to a compiler that has it."
        )


def _complaint(compiler: tuple[str, ...], sanitize: str, text: str) -> str:
    """What a compiler says first when it cannot build a program for what it is told; nothing if it can."""
    with tempfile.TemporaryDirectory(prefix="epctx-") as directory:
        source = Path(directory, "main.cc")
        source.write_text(text)
        command = [*compiler, f"-fsanitize={sanitize}", str(source), "-o", str(source.with_suffix(""))]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode == 0:
        return ""
    return next((line.strip() for line in done.stderr.splitlines() if line.strip()), "nothing")
