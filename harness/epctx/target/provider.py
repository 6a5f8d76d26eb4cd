"""Execution providers that nobody here wrote: the descriptions, which are data, and what a target's name makes of them."""

from __future__ import annotations

import sys
import tomllib
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import msgspec
from msgspec.structs import replace

from epctx.case import Struct
from epctx.errors import TargetError, UsageError
from epctx.product import Computes
from epctx.target.launch import Launch, Loader
from epctx.target.loaders import directories
from epctx.target.products import Meeting, meet, products_of
from epctx.target.spec import TargetSpec, parse

ENTRY_POINTS = "epctx.providers"
"""The group of entry points in which descriptions are found: the name is that of ``ep:NAME``, the value the path of the file."""

Kind: TypeAlias = Literal["", "cpu", "gpu", "npu"]
Proof: TypeAlias = Literal["run", "open", "best"]
"""What counts as a name that was accepted: that data was loaded and run, that a file was opened, or the best that can be had."""

FromMemory: TypeAlias = Literal["", "working directory"]

OPTIONS = ("python", "lib", "name", "registration", "device", "computes", "proof", "keep", "distribution", "readable")
PREFIXES = {"option.": "options", "session.": "session", "attribute.": "attributes"}
"""How an option of the target begins that goes into a table of the description."""


class Device(Struct, frozen=True):
    """A device to be met: of that ``kind`` ("": any), where the library is registered as ``registration`` ("": by the provider's
    name). ``note`` says what that can prove, and what it cannot.
    """

    kind: Kind = ""
    registration: str = ""
    proof: Proof = "run"
    note: str = ""


class Description(Struct, frozen=True):
    """An execution provider: what is in its file.

    ``name`` is its own. ``library`` is a path, absolute or from the file's directory, or, with ``distribution``, what has to be
    installed, that of a file of that; without a library it is a part of onnxruntime. ``devices`` are tried in this order.

    ``options`` are the provider's, in which ``{files}`` is the directory of its library; ``session`` those of each session.

    It is given models to compile that ``computes`` says; of the node that it makes, models keep the attributes ``keep``. Where
    nothing can be compiled their node has ``attributes``. ``readable`` are directories that it needs besides its own.

    ``from_memory`` is the directory that names in models from memory are held to; "" if those are to be refused.
    """

    name: str
    summary: str = ""
    library: str = ""
    distribution: str = ""
    devices: tuple[Device, ...] = (Device(),)
    options: dict[str, str] = {}
    session: dict[str, str] = {}
    computes: Computes = "matmul"
    keep: tuple[str, ...] = ("source", "partition_name", "ep_sdk_version", "main_context")
    attributes: dict[str, str | int] = {}
    readable: tuple[str, ...] = ()
    from_memory: FromMemory = ""
    note: str = ""


def provider(spec: TargetSpec) -> Launch:
    """The launch for ``ep:NAME``, ``ep:FILE.toml`` or ``ep:lib=PATH&name=NAME``, with options that change the description.

    Raises:
        UsageError: there is no such provider, or its description or an option is wrong.
        TargetError: the provider cannot be used here, in a sentence.
    """
    if spec.what.startswith("lib="):
        spec = replace(parse(f"{spec.kind}:?{spec.text.partition(':')[2].replace('?', '&')}"), text=spec.text)
    spec.allow(*OPTIONS, *(name for name in spec.options if name.startswith(tuple(PREFIXES))))
    described = _changed(spec, _described(spec))
    python = str(Path(spec.option("python", sys.executable)).absolute())
    readable = (*directories(python), *_beside(described))
    device, meeting = _met(spec, python, described)
    kept, products = products_of(meeting, described.computes, described.keep, described.attributes, device.proof)
    opens_only = not products.products
    memory = f"names in models from memory are held to the {described.from_memory}" if described.from_memory else ""
    notes = [described.note, device.note, memory, products.why]
    loader = Loader(
        "ep",
        "provider",
        "product",
        settings=meeting.settings,
        readable=readable,
        products=str(kept),
        opens_only=opens_only,
        from_memory=described.from_memory,
        notes=tuple(filter(None, notes)),
    )
    return Launch(spec.text, python, sessions=True, loader=loader)


def ready() -> dict[str, Path]:
    """The descriptions that come with epctx and those of installed packages, by name."""
    own = {Path(str(file)).stem: Path(str(file)) for file in files("epctx.target").joinpath("providers").iterdir()}
    found = {entry.name: entry.load() for entry in entry_points(group=ENTRY_POINTS)}
    return dict(sorted({**{name: Path(path) for name, path in found.items()}, **own}.items()))


def read(path: Path) -> Description:
    """The description in a file. UsageError if it is none: where, and what is wrong."""
    try:
        found = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Description)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; name the description of a provider.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{path} does not describe a provider: {error}.") from None
    if not found.devices:
        raise UsageError(f"{path} does not describe a provider: devices is empty; leave it out for any device.")
    if found.library and not found.distribution:
        found = replace(found, library=str((path.absolute().parent / found.library).resolve()))
    return found


def _described(spec: TargetSpec) -> Description:
    if not spec.what:
        if not spec.option("lib") or not spec.option("name"):
            raise UsageError(f"Target {spec.text!r}: write ep:lib=PATH&name=NAME, with the name that the provider has.")
        return Description(spec.option("name"))
    if spec.option("lib"):
        raise UsageError(f"Target {spec.text!r}: {spec.what} has a library; write ep:lib=PATH&name=NAME for another one.")
    if spec.what.endswith(".toml"):
        return read(Path(spec.what))
    known = ready()
    if spec.what not in known:
        raise UsageError(
            f"Target {spec.text!r}: there is no provider {spec.what!r}; there are bundled, {', '.join(known)}, FILE.toml, and "
            "lib=PATH&name=NAME."
        )
    return read(known[spec.what])


def _changed(spec: TargetSpec, described: Description) -> Description:
    """A description with what the options of the target say."""
    if library := spec.option("lib"):
        if not Path(library).is_file():
            raise UsageError(f"Target {spec.text!r}: there is no library {library!r}.")
        described = replace(described, library=str(Path(library).resolve()))
    for prefix, table in PREFIXES.items():
        given = {key.removeprefix(prefix): spec.option(key) for key in spec.options if key.startswith(prefix)}
        described = replace(described, **{table: {**getattr(described, table), **given}})
    kind: Any = _one_of(spec, "device", Kind)
    proof: Any = _one_of(spec, "proof", Proof)
    devices = [d for d in described.devices if not kind or d.kind in ("", kind)] or [replace(described.devices[0], kind=kind)]
    devices = [
        replace(
            d,
            kind=kind or d.kind,
            registration=spec.option("registration") or d.registration or described.name,
            proof=proof or d.proof,
        )
        for d in devices
    ]
    computes: Any = _one_of(spec, "computes", Computes)
    return replace(
        described,
        name=spec.option("name") or described.name,
        devices=tuple(devices),
        computes=computes or described.computes,
        keep=spec.options.get("keep") or described.keep,
        distribution=spec.option("distribution") or described.distribution,
        readable=(*described.readable, *spec.options.get("readable", ())),
    )


def _one_of(spec: TargetSpec, option: str, words: Any) -> str:
    value, known = spec.option(option), [word for word in get_args(words) if word]
    if value and value not in known:
        raise UsageError(f"Target {spec.text!r}: {option} is one of {', '.join(known)}, not {value!r}.")
    return value


def _beside(described: Description) -> list[str]:
    """The directories that a provider needs besides those of the interpreter."""
    own = [str(Path(described.library).parent)] if described.library and not described.distribution else []
    return [str(Path(directory).resolve()) for directory in (*own, *described.readable)]


def _met(spec: TargetSpec, python: str, described: Description) -> tuple[Device, Meeting]:
    """The first of the devices that can be met. TargetError if none can."""
    reasons = []
    for device in described.devices:
        settings = {
            "name": described.name,
            "library": described.library,
            "distribution": described.distribution,
            "registration": device.registration,
            "device": device.kind,
            "options": described.options,
            "session": described.session,
        }
        meeting = meet(python, settings)
        if not meeting.error:
            return device, meeting
        reasons.append(meeting.error)
    raise TargetError(f"The target {spec.text} cannot be used: {'; '.join(dict.fromkeys(reasons))}.")
