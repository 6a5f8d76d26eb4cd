"""The engine ``libfuzzer``: bytes that are changed by what they reach in the target, natively, under the address sanitizer."""

from __future__ import annotations

from collections.abc import Sequence

from epctx.fuzz.native import NativeEngine
from epctx.fuzz.rounds import Command, options
from epctx.target import Launch

SANITIZER = "detect_leaks=0:symbolize=0:allocator_may_return_null=1:abort_on_error=0:detect_stack_use_after_return=0"
"""Options of the address sanitizer: what it sees ends the process, and is explained when the case is judged."""


class LibFuzzerEngine(NativeEngine):
    """libFuzzer around the target, which clang builds for its coverage and for the address sanitizer."""

    fuzzer = "libfuzzer"
    sanitizer = "address"

    def command(self, launch: Launch) -> Command:
        """How the program is started."""

        def words(flags: Sequence[str]) -> list[str]:
            return [launch.driver, *flags, "-ignore_remaining_args=1", *options(launch)]

        return Command(words, {"ASAN_OPTIONS": SANITIZER}, ())
