"""The engine ``atheris``: names that are changed by the grammar and by what they reach in the target, under libFuzzer in Python.

Where clang is, the target is built for coverage; else atheris goes by nothing but what it makes up.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence

from epctx.errors import TargetError, UsageError
from epctx.fuzz import atheris_child
from epctx.fuzz.native import NativeEngine
from epctx.fuzz.rounds import Command, Round, options
from epctx.target import Launch
from epctx.target.loaders import directories


class AtherisEngine(NativeEngine):
    """atheris, with a mutator that knows the grammar."""

    fuzzer = "atheris"

    def ready(self) -> None:
        """Have atheris, and build what is needed for the target. UsageError if it is not installed."""
        if importlib.util.find_spec("atheris") is None:
            raise UsageError(
                "The engine atheris needs atheris; install it with `pip install 'epctx[fuzz]'`, on a Python that it has a wheel "
                "for, or choose the engine libfuzzer."
            )
        super().ready()

    def command(self, launch: Launch) -> Command:
        """How the process is started: a Python that loads what calls the target."""
        # not a directory that holds the environment, such as the project that has it: bound over it, it would hide it
        path = [entry for entry in sys.path if os.path.isdir(entry) and not _holds(entry, sys.prefix)]

        def words(flags: Sequence[str]) -> list[str]:
            words = [sys.executable, "-I", "-B", atheris_child.__file__, *flags, atheris_child.REST, *options(launch)]
            return [*words, "--caller", launch.driver, "--path", os.pathsep.join(path)]

        readable = (*directories(sys.executable), *path, os.path.dirname(launch.driver))
        return Command(words, {"OPENBLAS_NUM_THREADS": "1"}, tuple(dict.fromkeys(readable)))

    def check(self, came: Round) -> None:
        """See that the mutator was called. TargetError if not: all else would be in vain."""
        if not came.ended and not came.mutated:
            raise TargetError(
                "atheris does not call the mutator that knows the grammar, which happens where one of its sanitizer libraries is "
                f"preloaded; start without LD_PRELOAD, or choose another engine. It printed: {came.printed[-300:].strip()}"
            )


def _holds(directory: str, other: str) -> bool:
    """Whether a directory is above another."""
    return os.path.realpath(other).startswith(os.path.join(os.path.realpath(directory), ""))
