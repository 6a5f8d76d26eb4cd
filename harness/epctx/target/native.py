"""The kinds of native targets. Each is a function from a target's name, taken apart, to a launch."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from msgspec.structs import replace

from epctx.case import Platform
from epctx.errors import TargetError, UsageError
from epctx.target import build
from epctx.target.launch import Launch
from epctx.target.provider import provider
from epctx.target.spec import Fuzzer, TargetSpec
from epctx.target.toolchain import check_fuzzer, find_clang
from epctx.target.weakness import weaknesses


def reference(spec: TargetSpec) -> Launch:
    """the bundled reference helper; ?platform=windows applies the name rules of Windows, chunking=ordered writes in pieces"""
    spec.allow("platform", "chunking")
    if spec.what:
        raise UsageError(f"Target {spec.text!r}: reference takes no name; write reference or reference?platform=windows.")
    platform, chunking = _platform(spec), spec.chunking()
    settings = (["platform=windows"] if platform == "windows" else []) + (["chunking=ordered"] if chunking else [])
    return _bundled(spec, build.BUNDLED, ",".join(settings), platform, chunking)


def weak(spec: TargetSpec) -> Launch:
    """weak:NAME, the bundled helper with one fault; `epctx list weak` names them"""
    spec.allow("chunking")
    found = {w.name: w for w in weaknesses() if w.of == "helper"}.get(spec.what)
    if found is None:
        raise UsageError(f"There is no weak target {spec.what!r}; see `epctx list weak`.")
    settings = f"weak={found.name}" + (",platform=windows" if found.platform == "windows" else "")
    return _bundled(spec, build.BUNDLED, settings, found.platform, found.chunking or spec.chunking())


def header(spec: TargetSpec) -> Launch:
    """header:PATH, a C++ header with the reference signatures; ?namespace=NS&include=DIR&flag=ARGUMENT, and what lib takes"""
    spec.allow("namespace", "include", "flag", "platform", "chunking")
    if not spec.what:
        raise UsageError(f"Target {spec.text!r} names no header; write header:PATH.")
    library = build.header(
        spec.what,
        spec.option("namespace", build.HEADER_NAMESPACE),
        spec.options.get("include", ()),
        spec.options.get("flag", ()),
        spec.sanitizer,
        _coverage(spec),
    )
    launch = _launch(spec, build.build(_driver(spec)), library, "", _platform(spec), spec.chunking())
    return replace(launch, source=spec.what)


def lib(spec: TargetSpec) -> Launch:
    """lib:PATH, a shared library with the C ABI of epctx_target.h; ?set=OPTIONS is for it, &platform=windows&chunking=ordered"""
    spec.allow("set", "platform", "chunking")
    path = Path(spec.what)
    if not path.is_file():
        raise UsageError(f"Target {spec.text!r}: there is no library {spec.what!r}.")
    launch = _launch(spec, build.build(_driver(spec)), path.resolve(), spec.option("set"), _platform(spec), spec.chunking())
    return replace(launch, instrumented=False, source=spec.what)


def ep(spec: TargetSpec) -> Launch:
    """ep:bundled, an execution provider with the reference helper, in real sessions; ?weak=NAME gives it a weak one; ep:NAME,
    ep:FILE.toml and ep:lib=PATH&name=NAME, one that is installed, as a description says (see docs/real-loaders.md)"""
    if spec.what != "bundled":
        return provider(spec)
    spec.allow("weak")
    weak = spec.option("weak")
    found = {w.name: w for w in weaknesses() if w.platform == "posix"}.get(weak)
    if weak and found is None:
        raise UsageError(f"There is no weak execution provider {weak!r}, nor a weak helper for one; see `epctx list weak`.")
    settings = "" if found is None else f"flaw={weak}" if found.of == "ep" else f"helper=weak={weak}"
    if onnxruntime_library() is None:
        raise TargetError(f"The target {spec.text} runs in sessions of onnxruntime, which is not installed.")
    driver, library = build.build_all([build.DRIVER, build.EP])
    launch = _launch(spec, driver, library, settings, "posix", chunking=False)
    return replace(launch, sessions=True, sanitizer=None, fuzzer=None)


def _bundled(spec: TargetSpec, part: build.Part, settings: str, platform: Platform, chunking: bool) -> Launch:
    coverage = _coverage(spec)
    library = part.covered(coverage) if coverage else part.under(spec.sanitizer)
    driver, built = build.build_all([_driver(spec), library])
    return _launch(spec, driver, built, settings, platform, chunking)


def _driver(spec: TargetSpec) -> build.Part:
    return build.caller(spec.fuzzer) if spec.fuzzer else build.DRIVER.under(spec.sanitizer)


def _coverage(spec: TargetSpec) -> Fuzzer | None:
    """Whose coverage a library is built for: without clang none, where the fuzzer can do without."""
    return None if spec.fuzzer == "atheris" and why_no_coverage() else spec.fuzzer


def why_no_coverage() -> str:
    """Why nothing can be built for the coverage of a fuzzer here, in words; else nothing."""
    try:
        check_fuzzer(find_clang())
    except TargetError as error:
        return str(error)
    return ""


def _launch(spec: TargetSpec, driver: Path, library: Path, settings: str, platform: Platform, chunking: bool) -> Launch:
    ort = str(onnxruntime_library() or "")
    return Launch(
        spec.text,
        str(driver),
        str(library),
        settings,
        ort,
        platform,
        chunking,
        sanitizer=spec.sanitizer,
        fuzzer=spec.fuzzer,
    )


def _platform(spec: TargetSpec) -> Platform:
    value = spec.option("platform", "posix")
    if value not in ("posix", "windows"):
        raise UsageError(f"Target {spec.text!r}: platform is posix or windows, not {value!r}.")
    return "windows" if value == "windows" else "posix"


def onnxruntime_library() -> Path | None:
    """The libonnxruntime of the installed wheel; None where there is none, and the driver's stand-in serves instead."""
    found = importlib.util.find_spec("onnxruntime")
    if found is None or not found.submodule_search_locations:
        return None
    capi = Path(found.submodule_search_locations[0]) / "capi"
    return next(iter(sorted(capi.glob("libonnxruntime.so*"))), None)
