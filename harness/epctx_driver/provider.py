"""Execution providers in sessions: EPContext models are loaded and run, and, beforehand, tiny models compiled.

A provider is met through its library, which is registered, or as a part of the onnxruntime that is installed.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.metadata
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from epctx_driver.serve import Fault, Request, Unusable

PR_SET_PDEATHSIG = 1
FILES = "{files}"
"""Stands in an option for the directory that the provider's files are in."""
ALONE = {"session.disable_cpu_ep_fallback": "1"}
"""The options of a session that the provider has for itself: ONNX Runtime's own takes no node in its place."""


class Provider:
    """An execution provider with the device that is wanted. Unusable says why there is none.

    ``distribution`` is what has to be installed for it. The ``library`` is a path, or that of a file of the distribution; without
    one it is a part of onnxruntime. ``registration`` is the name that the library is registered under, ``name`` the provider's
    own. ``device`` is the kind of device ("cpu", "gpu", "npu", "" for any); ``options`` are the provider's, ``session`` those of
    each session.
    """

    def __init__(
        self,
        name: str,
        library: str,
        distribution: str,
        registration: str,
        device: str,
        options: dict[str, str],
        session: dict[str, str],
    ) -> None:
        self.name, self._library, self._session = name, library, session
        self.release = _installed(distribution)
        try:
            import onnxruntime
        except ImportError:
            raise Unusable(_missing("onnxruntime")) from None
        self._ort = onnxruntime
        with contextlib.suppress(Exception):
            onnxruntime.disable_telemetry_events()
        onnxruntime.set_default_logger_severity(4)
        path = _located(library, distribution) if library else Path(onnxruntime.__file__).parent / "capi" / "onnxruntime"
        self._options = {key: value.replace(FILES, str(path.parent)) for key, value in options.items()}
        self._device: Any = None
        if library:
            self._device = self._registered(path, registration, device)
        elif name not in onnxruntime.get_available_providers():
            known = ", ".join(onnxruntime.get_available_providers())
            raise Unusable(f"onnxruntime {self.ort} has no provider {name!r}: it has {known}")

    @property
    def ort(self) -> str:
        """The version of onnxruntime."""
        return str(self._ort.__version__)

    @property
    def met(self) -> str:
        """Which provider it is, with its release and its device, in words."""
        release = f" of {self.release}" if self.release else ""
        return f"{self.name}{release} in sessions of ONNX Runtime {self.ort}"

    def session(self, model: str | bytes, extra: dict[str, str] | None = None) -> Any:
        """A session that the provider has for itself. Raises whatever onnxruntime raises."""
        options = self._ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        for key, value in {**ALONE, **self._session, **(extra or {})}.items():
            options.add_session_config_entry(key, value)
        if self._device is None:
            return self._ort.InferenceSession(model, options, [(self.name, self._options)], enable_fallback=0)
        options.add_provider_for_devices([self._device], self._options)
        return self._ort.InferenceSession(model, options, enable_fallback=0)

    def run(self, session: Any) -> bytes:
        """The outputs of a session for inputs of ones, one after the other. Fault if another provider has the model."""
        first = session.get_providers()[0]
        if first != self.name:
            raise Fault(f"the session was made without the provider: {first} has the model")
        import numpy

        inputs = {
            value.name: numpy.ones([d if isinstance(d, int) else 1 for d in value.shape], numpy.float32)
            for value in session.get_inputs()
        }
        return b"".join(numpy.ascontiguousarray(output).tobytes() for output in session.run(None, inputs))

    def _registered(self, path: Path, registration: str, device: str) -> Any:
        if not hasattr(self._ort, "register_execution_provider_library"):
            raise Unusable(f"onnxruntime {self.ort} registers no libraries of providers; install a later one")
        try:
            self._ort.register_execution_provider_library(registration, str(path))
        except Exception as error:
            raise Unusable(f"{path} is no library of an execution provider: {one_line(error)}") from None
        offered = self._ort.get_ep_devices()
        own = [d for d in offered if d.ep_name == self.name]
        if not own:
            others = sorted({d.ep_name for d in offered if d.ep_metadata.get("library_path") == str(path)})
            instead = f"it offers {', '.join(others)}" if others else "it offers none on this machine"
            raise Unusable(f"{path}, registered as {registration}, has no device of a provider {self.name!r}: {instead}")
        fitting = [d for d in own if device in ("", d.device.type.name.lower())]
        if not fitting:
            kinds = sorted({d.device.type.name.lower() for d in own})
            raise Unusable(f"{self.name} has no device of the kind {device} here: it has {', '.join(kinds)}")
        return fitting[0]


def one_line(error: BaseException, limit: int = 300) -> str:
    """What an exception says, on one line; of a long text its end, which tells more than where it was thrown."""
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return text if len(text) <= limit else f"…{text[-limit:]}"


def _installed(distribution: str) -> str:
    """The name and version of a distribution, "" if none is asked for. Unusable if it is not installed."""
    if not distribution:
        return ""
    try:
        return f"{distribution} {importlib.metadata.version(distribution)}"
    except importlib.metadata.PackageNotFoundError:
        raise Unusable(_missing(distribution)) from None


def _missing(distribution: str) -> str:
    return f"{distribution} is not installed for this interpreter: run {sys.executable} -m pip install {distribution}"


def _located(library: str, distribution: str) -> Path:
    """The path of the provider's library. Unusable if there is no such file."""
    path = Path(library)
    if not path.is_absolute():
        path = Path(os.path.abspath(str(importlib.metadata.distribution(distribution).locate_file(library))))
    if not path.is_file():
        raise Unusable(f"there is no library {path}")
    return path


# --- judged -----------------------------------------------------------------------------------------------------------------


def open_loader(**settings: Any) -> ProviderLoader:
    """The loader of EPContext models with a provider that is set up like this."""
    return ProviderLoader(Provider(**settings))


class ProviderLoader:
    """Makes sessions of EPContext models and runs them."""

    can = ("read", "load")

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self.met, self.ort = provider.met, provider.ort

    def read(self, request: Request) -> bytes:
        """What the provider computes from the data that the model names."""
        return self._provider.run(self._provider.session(request.model or os.fsdecode(request.path)))

    def write(self, request: Request) -> None:
        """Not among what it can do: what a provider compiles gets its name from the application."""
        raise NotImplementedError


# --- beforehand -------------------------------------------------------------------------------------------------------------


def make(directory: str, **settings: Any) -> None:
    """Compile ``source-N.onnx`` of a directory to ``context-N.onnx`` there, load and run each, and say in ``said.json`` how.

    That is the last ``stage`` that was begun ("start", "compile", "load", "done"), what is ``met``, the ``results`` in hex,
    whether they are the ``same`` as before, and the ``error`` that ended it.
    """
    _end_with_parent()
    place = Path(directory)
    said: dict[str, Any] = {"stage": "start", "results": [], "error": ""}

    def say(**news: Any) -> None:
        said.update(news)
        (place / "saying.json").write_text(json.dumps(said), encoding="utf-8")
        os.replace(place / "saying.json", place / "said.json")

    say()
    try:
        provider = Provider(**settings)
        say(met=provider.met, stage="compile")
        contexts, first = [], []
        for source in sorted(place.glob("source-*.onnx")):
            contexts.append(source.with_name(source.name.replace("source", "context")))
            compiling = {"ep.context_enable": "1", "ep.context_embed_mode": "0", "ep.context_file_path": str(contexts[-1])}
            first.append(provider.run(provider.session(str(source), compiling)))
        say(stage="load")
        results = [provider.run(provider.session(str(context))) for context in contexts]
        say(stage="done", results=[result.hex() for result in results], same=results == first)
    except Exception as error:
        say(error=one_line(error))


def _end_with_parent() -> None:
    """Have the kernel end this process when the one that waits for it was killed: a provider may never come back by itself."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
