"""A command under the lookout, for tests that know what must not get to the disk: ``run_watched``.

run = run_watched([sys.executable, "compile.py"], secrets=[model, engine], places=[directory])
assert not run.plaintext
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from epctx.case import Struct
from epctx.errors import HarnessError, UsageError
from epctx.lookout.doors import guarded_process, why_no_doors
from epctx.lookout.lookout import Lookout

PIECE = 32
"""Bytes of a secret that are looked for together."""

_PIECES = 64
_TELLING = 8
_LAUNCHER = Path(__file__).with_name("launcher.py")

_Path: TypeAlias = str | os.PathLike[str]


class Watched(Struct, frozen=True):
    """How a watched command ended, what it printed (both streams), and where it put plaintext.

    ``plaintext`` holds the absolute paths of the files that held a piece of a secret at any time; those of files that were gone
    when the command had ended say ``(deleted)``.
    """

    code: int
    output: str
    plaintext: tuple[str, ...]


def run_watched(
    command: Sequence[_Path],
    *,
    secrets: Sequence[bytes],
    places: Sequence[_Path] = (),
    cwd: _Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> Watched:
    """Run a command, and look for plaintext in every file that it or a child of it writes, while it runs.

    Each file is looked at before it is closed, overwritten, renamed or removed, wherever it lies; what else changes in the
    directories ``places`` is looked at in the end. Of each secret at most 64 pieces of 32 bytes are looked for, spread evenly
    over it, those without variety left out. The command cannot gain privileges (no_new_privs).

    Raises:
        UsageError: a secret has no piece of 32 bytes that tells it.
        HarnessError: there is no lookout here, or it missed something.
        subprocess.TimeoutExpired: the command took more than ``timeout`` seconds, and was killed.
    """
    marks = tuple(dict.fromkeys(piece for number, secret in enumerate(secrets) for piece in _pieces(number, secret)))
    watched = tuple(os.path.realpath(os.fsencode(place)) for place in places)
    if reason := why_no_doors():
        raise HarnessError(f"There is no lookout here: {reason}.")
    ours, theirs = socket.socketpair()
    with ours, contextlib.ExitStack() as stack:
        with theirs:
            search = os.pathsep.join(filter(None, sys.path))
            words = [search, str(theirs.fileno()), *(os.fspath(word) for word in command)]
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-I", str(_LAUNCHER), *words],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    cwd=cwd,
                    env=env,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            )
        stack.callback(_kill, process)
        try:
            listener = guarded_process(ours)
        except OSError as error:
            raise HarnessError(f"There is no lookout here: {error}.") from error
        lookout = Lookout(listener, marks, watched)
        stack.callback(lookout.close)
        output, _ = process.communicate(timeout=timeout)
        sightings = lookout.end()
    found = tuple(os.fsdecode(sighting.path) + (" (deleted)" if sighting.gone else "") for sighting in sightings)
    return Watched(process.returncode, output.decode("utf-8", "backslashreplace"), found)


def _pieces(number: int, secret: bytes) -> Iterator[bytes]:
    """Pieces of a secret that tell it."""
    step = max(1, (len(secret) - PIECE) // (_PIECES - 1))
    pieces = [secret[at : at + PIECE] for at in range(0, len(secret) - PIECE + 1, step)][:_PIECES]
    telling = [piece for piece in pieces if len(set(piece)) >= _TELLING]
    if not telling:
        raise UsageError(f"Secret {number} has no piece of {PIECE} bytes by which it could be told from other data.")
    yield from telling


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a command and what it left behind."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
