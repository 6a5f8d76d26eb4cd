"""How a target is started."""

from __future__ import annotations

from pathlib import Path

from epctx.case import Platform, Sanitizer, Struct


class Launch(Struct, frozen=True):
    """A target that is ready to run: the driver's program, the library that it loads, and the options that the library is given.

    ``ort`` is the libonnxruntime whose API the target meets ("" for the driver's stand-in), ``platform`` the rules that its
    names follow, ``chunking`` whether it declares that it hands payloads to a write callback in pieces, in order.

    ``sanitizer`` is what the driver is built for, and, if ``instrumented``, the library too.
    """

    target: str
    driver: str
    library: str
    settings: str = ""
    ort: str = ""
    platform: Platform = "posix"
    chunking: bool = False
    sessions: bool = False
    """Whether the library is an execution provider, which is met in real sessions of that ONNX Runtime."""
    sanitizer: Sanitizer | None = None
    instrumented: bool = True

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the driver loads, to be opened for it: in its box a path may not be reachable, a descriptor is."""
        return (self.library, self.ort) if self.ort else (self.library,)

    @property
    def readable(self) -> tuple[str, ...]:
        """Directories that the target may read besides the system's: what lies beside a library may be needed by it."""
        return tuple(str(Path(file).parent) for file in self.files)

    def command(self, first: int, reports: int | None = None) -> list[str]:
        """The driver's command line, with ``files`` at the descriptors from ``first`` on, and where a sanitizer's reports go."""
        words = [self.driver, "--ep" if self.sessions else "--target", f"/proc/self/fd/{first}"]
        if self.ort:
            words += ["--ort", f"/proc/self/fd/{first + 1}"]
        if self.settings:
            words += ["--set", self.settings]
        if reports is not None:
            words += ["--reports", str(reports)]
        return words
