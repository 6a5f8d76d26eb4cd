"""What the engine ``atheris`` runs in the box: libFuzzer in Python, around a library that calls the target.

python atheris_child.py FLAGS_OF_LIBFUZZER CORPUS... -- --plan DESCRIPTOR --report DESCRIPTOR --target FILE [--ort FILE]
                        [--set TEXT] --caller LIBRARY --path DIRECTORIES
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Callable

REST = "--"
"""Behind it are the words that are not for libFuzzer."""
MUTATED = 32
"""Where in the report the calls of the mutator are counted."""


def main(flags: list[str], given: dict[str, str]) -> None:
    """Fuzz; returns only if that cannot be started."""
    # The target's coverage is that of the libFuzzer in atheris, which therefore has to be there for all that is loaded later; and
    # that finds a mutator only if it is there before it.
    before = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)
    import atheris
    import atheris.custom_mutator
    import atheris.core_with_libfuzzer  # isort: skip

    sys.setdlopenflags(before)
    caller = ctypes.CDLL(given["--caller"], ctypes.RTLD_GLOBAL)  # its chance is that of the target
    caller.epctx_fuzz_start.restype = ctypes.c_char_p
    target, ort, settings = (given[name].encode() if name in given else None for name in ("--target", "--ort", "--set"))
    wrong = caller.epctx_fuzz_start(target, ort, settings or b"", int(given["--plan"]), int(given["--report"]))
    if wrong is not None:
        print(f"epctx: {wrong.decode()}", file=sys.stderr)
        sys.exit(3)
    call = caller.epctx_fuzz_one
    call.argtypes = [ctypes.c_char_p, ctypes.c_size_t]

    def one(data: bytes) -> None:
        call(data, len(data))

    mutator = _counted(int(given["--report"]), _changer(atheris.core_with_libfuzzer.__file__))
    atheris.Setup([sys.argv[0], *flags], one, custom_mutator=mutator, internal_libfuzzer=True)
    atheris.Fuzz()


def _changer(library: str) -> Callable[[bytes, int], bytes]:
    """The changes that libFuzzer itself makes, of bytes that may become so many; those of atheris only know one way to start."""
    function = ctypes.CDLL(library).LLVMFuzzerMutate
    function.restype = ctypes.c_size_t
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t]

    def change(data: bytes, longest: int) -> bytes:
        room = ctypes.create_string_buffer(data[:longest], longest)
        size: int = function(room, min(len(data), longest), longest)
        return room.raw[:size]

    return change


def _counted(report: int, change: Callable[[bytes, int], bytes]) -> Callable[[bytes, int, int], bytes]:
    """The mutator, which counts its calls in the report."""
    from epctx.fuzz.mutator import Mutator

    mutator, shared, calls = Mutator(change), mmap.mmap(report, mmap.PAGESIZE), 0

    def mutate(data: bytes, longest: int, seed: int) -> bytes:
        nonlocal calls
        calls += 1
        shared[MUTATED : MUTATED + 8] = calls.to_bytes(8, "little")
        return mutator.mutate(data, longest, seed)

    return mutate


if __name__ == "__main__":
    at = sys.argv.index(REST)
    words = dict(zip(sys.argv[at + 1 :: 2], sys.argv[at + 2 :: 2], strict=True))
    sys.path[:] = words["--path"].split(os.pathsep)
    main(sys.argv[1:at], words)
