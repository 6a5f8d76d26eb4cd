"""What an execution provider compiles beforehand, in the interpreter for which it is installed, and where that is kept.

It is kept like what is built, by what decides it: the provider, its release, its options, and the models that it is given.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from epctx.case import Struct
from epctx.errors import TargetError
from epctx.product import Computes, NoTemplate, Product, Products, source_model, template_in, template_of
from epctx.target.build import cache_directory
from epctx.target.launch import PYTHON_DRIVER

COUNT = 10
"""Products of a provider: the files of hardly any world have more contents than that."""
SECONDS = 120.0
"""How long a provider may take to compile them all."""


class Meeting(Struct, frozen=True):
    """A provider that was met with these settings: which it is, in words, or the ``error`` that came in the way."""

    python: str
    settings: dict[str, Any]
    met: str = ""
    error: str = ""


class Said(msgspec.Struct):
    """What ``epctx_driver.provider`` says of its work."""

    stage: str
    results: list[str] = []
    error: str = ""
    met: str = ""
    same: bool = True


def meet(python: str, settings: dict[str, Any]) -> Meeting:
    """Look whether a provider is there, with the device that is wanted."""
    with _workshop() as place:
        said = _work(python, settings, place)
    return Meeting(python, settings, said.met, said.error)


def products_of(
    meeting: Meeting, computes: Computes, keep: Sequence[str], attributes: dict[str, Any], proof: str
) -> tuple[Path, Products]:
    """What the provider makes of the models that it is given, and the file in which that is kept; made now if it is not there.

    ``proof`` "run" wants products; "open" does with a template; "best" takes what can be had. TargetError if that is not had.
    """
    sources = [source_model(computes, number) for number in range(COUNT)]
    kept = cache_directory() / f"products-{_key(meeting, sources, keep, attributes, proof)}.msgpack"
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        return kept, read(str(kept))
    if proof == "open":
        made = Products(template_of(computes, attributes))
    else:
        made = _made(meeting, computes, sources, keep)
        if made.why and proof == "run":
            raise TargetError(f"The target is not usable: {made.why}.")
        if not made.template:
            made = Products(template_of(computes, attributes), why=made.why)
    _keep(kept, made)
    return kept, made


@functools.lru_cache(maxsize=4)
def read(path: str) -> Products:
    """The products that are kept in a file."""
    return msgspec.msgpack.decode(Path(path).read_bytes(), type=Products)


def _made(meeting: Meeting, computes: Computes, sources: Sequence[bytes], keep: Sequence[str]) -> Products:
    """Have the sources compiled, loaded and run. Without products, ``why`` says what came in the way."""
    name = meeting.settings["name"]
    with _workshop() as place:
        for number, source in enumerate(sources):
            (place / f"source-{number}.onnx").write_bytes(source)
        said = _work(meeting.python, meeting.settings, place)
        if said.stage == "compile" and "fallback to CPU EP" in said.error:
            return Products(b"", why=f"{name} leaves a tiny model ({computes}) that it is to compile to the CPU")
        if said.stage in ("start", "compile"):
            return Products(b"", why=f"{name} does not compile a tiny model ({computes}): {said.error}")
        try:
            template, blobs = _compiled(place, len(sources), keep)
        except (NoTemplate, OSError) as error:
            return Products(b"", why=f"{name} compiles to no data in a file of its own: {error}")
    if said.error:
        return Products(template, why=f"{name} cannot load here what it compiled itself: {said.error}")
    if not said.same:
        return Products(template, why=f"{name} gives another result once it loads what it compiled")
    results = [bytes.fromhex(result) for result in said.results]
    if len(set(results)) < len(sources):
        return Products(template, why=f"{name} gives the same result for models that differ, so no run tells what was loaded")
    return Products(template, tuple(map(Product, blobs, results)))


def _compiled(place: Path, count: int, keep: Sequence[str]) -> tuple[bytes, list[bytes]]:
    """The template in what was compiled in a directory, and each blob."""
    found = [template_in((place / f"context-{number}.onnx").read_bytes(), keep) for number in range(count)]
    return found[0][0], [(place / name).read_bytes() for _, name in found]


@contextlib.contextmanager
def _workshop() -> Any:
    with tempfile.TemporaryDirectory(prefix="epctx-provider-", ignore_cleanup_errors=True) as directory:
        yield Path(directory)


def _work(python: str, settings: dict[str, Any], place: Path) -> Said:
    """Run ``epctx_driver.provider`` in a directory of its own, and in that alone."""
    command = [python, "-I", "-B", str(PYTHON_DRIVER), "provider", json.dumps(settings), str(place)]
    home = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME"), str(place))
    try:
        process = subprocess.Popen(
            command,
            cwd=place,
            env={"PATH": os.defpath, "LANG": "C.UTF-8", **home},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise TargetError(f"The interpreter {python} does not run: {error.strerror}") from error
    try:
        code: int | None = process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    try:
        said = msgspec.json.decode((place / "said.json").read_bytes(), type=Said)
    except (OSError, msgspec.MsgspecError):
        said = Said("start")
    if code is None:
        said.error = f"it did not end within {SECONDS:g} s"
    elif code:
        said.error = f"its process ended with {signal.Signals(-code).name if code < 0 else f'status {code}'}"
    return said


def _key(meeting: Meeting, sources: Sequence[bytes], keep: Sequence[str], attributes: dict[str, Any], proof: str) -> str:
    state = hashlib.sha256()
    for part in (meeting.python, meeting.met, meeting.settings, tuple(keep), attributes, proof):
        state.update(repr(part).encode("utf-8", "surrogateescape"))
    library = Path(meeting.settings["library"])
    for data in (*sources, (PYTHON_DRIVER / "provider.py").read_bytes(), library.read_bytes() if library.is_file() else b""):
        state.update(b"%d\n" % len(data) + data)
    return state.hexdigest()[:24]


def _keep(path: Path, made: Products) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix="making-", delete=False) as file:
            file.write(msgspec.msgpack.encode(made))
        os.replace(file.name, path)
    except OSError as error:
        raise TargetError(f"Nothing can be kept in {path.parent}: {error}. Set EPCTX_CACHE to another directory.") from error
