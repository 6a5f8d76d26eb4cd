"""How a target is started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import epctx_driver
from epctx.case import Platform, Sanitizer, Struct
from epctx.external import TensorPlace
from epctx.target.spec import Fuzzer

PYTHON_DRIVER = Path(epctx_driver.__file__).parent
"""The driver for loaders that are met in Python: a directory that an interpreter runs."""

PROVIDER_SECONDS = 10.0
"""How long a provider may take for a call, whatever the case says."""


class Loader(Struct, frozen=True):
    """A loader that is met in Python: its name, the module of ``epctx_driver`` that calls it, and what that is told.

    The name is that of the profiles that hold what it publishes about itself (``epctx.oracle.loaders``).
    ``models`` is how a name gets into the models that it loads: as the place of a tensor's ``external`` data, or in an EPContext
    node of a ``product`` that the loader itself made. ``tensor`` says where such a tensor is. ``readable`` are the directories of
    its environment.

    ``products`` is the file in which products are kept (``epctx.target.products``). Of a loader that ``opens_only``, good data
    cannot be loaded and run here, so a name counts as accepted once its file was opened. ``notes`` say what is special about it.
    """

    name: str
    module: str
    models: Literal["external", "product"]
    tensor: TensorPlace = "initializer"
    settings: dict[str, Any] = {}
    readable: tuple[str, ...] = ()
    products: str = ""
    opens_only: bool = False
    notes: tuple[str, ...] = ()
    from_memory: Literal["", "working directory"] = ""
    """The directory that a model from memory has; "" if there is none but what its user says."""


class Adapter(Struct, frozen=True):
    """A target that is called through an object in Python (``epctx.adapter``): the module of ``epctx_driver`` that opens it, and
    what that is told. ``readable`` are the directories of its environment.

    One that is ``emulated`` is called on a file system that its driver emulates, of the launch's platform.

    Where it stands for a ``program``, that is a process of its own: it cannot be forked, it is told when it is to end, its
    address space is not what counts of its memory, and what goes to it and comes from it has to fit into lines.
    """

    module: str
    settings: dict[str, Any] = {}
    readable: tuple[str, ...] = ()
    program: bool = False
    emulated: bool = False


class Launch(Struct, frozen=True):
    """A target that is ready to run: the driver's program, the library that it loads, and the options that the library is given.

    ``ort`` is the libonnxruntime whose API the target meets ("" for the driver's stand-in), ``platform`` the rules that its
    names follow, ``chunking`` whether it declares that it hands payloads to a write callback in pieces, in order.

    ``sanitizer`` is what the driver is built for, and, if ``instrumented``, the library too.

    For a ``fuzzer`` the driver is its program, or, for one in Python, the library through which it calls the target.

    With a ``loader`` or an ``adapter`` the driver is a Python interpreter, in whose environment that is installed, and there is
    no library.
    """

    target: str
    driver: str
    library: str = ""
    settings: str = ""
    ort: str = ""
    platform: Platform = "posix"
    chunking: bool = False
    sessions: bool = False
    """Whether a call is what an application does, with a model in a file, rather than a call of a helper: the library is an
    execution provider that is met in sessions of that ONNX Runtime, or there is a loader."""
    loader: Loader | None = None
    adapter: Adapter | None = None
    sanitizer: Sanitizer | None = None
    instrumented: bool = True
    fuzzer: Fuzzer | None = None
    source: str = ""
    """The file in which it is written, or else the one that it is, for reports that point into code; "" if unknown."""
    granted: float = 0.0
    """Seconds that the user grants each call, whatever its case allows."""

    @property
    def patience(self) -> float:
        """Seconds that a call may take at least, whatever its case allows: a provider is large, and slow at first."""
        return max(self.granted, PROVIDER_SECONDS if self.loader and self.loader.models == "product" else 0.0)

    @property
    def forks(self) -> bool:
        """Whether its driver can make calls in processes that come from it, each as good as a driver of its own: what is as it
        was imported, which is not to be said of a provider."""
        return bool(self.adapter and not self.adapter.program) or bool(self.loader and self.loader.models == "external")

    @property
    def program(self) -> bool:
        """Whether it is a program of its own, which the driver has started."""
        return self.adapter is not None and self.adapter.program

    @property
    def measured(self) -> bool:
        """Whether what it does with memory is seen: a library has what it allocates counted, and the process for itself."""
        return not self.sessions and self.adapter is None

    @property
    def emulated(self) -> bool:
        """Whether its worlds are not on a disk, but in its driver."""
        return self.adapter is not None and self.adapter.emulated

    @property
    def notes(self) -> tuple[str, ...]:
        """What is special about it, and what a verdict on it does not show."""
        if self.emulated:
            return (f"only what an emulated file system of {self.platform} shows: no devices, no other program, no real disk",)
        return self.loader.notes if self.loader else ()

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the driver loads, to be opened for it: in its box a path may not be reachable, a descriptor is."""
        return tuple(filter(None, (self.library, self.ort)))

    @property
    def readable(self) -> tuple[str, ...]:
        """Directories that the target may read besides the system's: what lies beside a library may be needed by it."""
        beside = tuple(str(Path(file).parent) for file in self.files)
        python = self.loader or self.adapter
        return (*beside, str(PYTHON_DRIVER), *python.readable) if python else beside

    def command(self, first: int, reports: int | None = None) -> list[str]:
        """The driver's command line, with ``files`` at the descriptors from ``first`` on, and where a sanitizer's reports go."""
        python = self.loader or self.adapter
        if python:
            # isolated from the user's settings; nothing is written beside sources
            return [self.driver, "-I", "-B", str(PYTHON_DRIVER), python.module, json.dumps(python.settings)]
        words = [self.driver, "--ep" if self.sessions else "--target", f"/proc/self/fd/{first}"]
        if self.ort:
            words += ["--ort", f"/proc/self/fd/{first + 1}"]
        if self.settings:
            words += ["--set", self.settings]
        if reports is not None:
            words += ["--reports", str(reports)]
        return words
