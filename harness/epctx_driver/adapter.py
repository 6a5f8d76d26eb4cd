"""What an adapter is: an object with ``read`` and ``write``, which epctx calls as an execution provider would call its helper.

Adapter authors import it as ``epctx.adapter``. Nothing obliges them to: whatever has these methods is an adapter, and these
classes only give their names to what it is handed and to what it may raise.

Names are ``str`` as the functions of ``os`` take and give them: UTF-8, in which bytes that are none are lone surrogates
(``os.fsencode`` gives the bytes). They come from whoever made the model, and may hold anything, a NUL too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

FAIL, INVALID_ARGUMENT, NOT_IMPLEMENTED = 1, 2, 9
"""The members of OrtErrorCode that the specification names."""

Buffer: TypeAlias = bytes | bytearray | memoryview
ReadCallback: TypeAlias = Callable[[str], bytes]
"""Gives the content for a name, in place of a file. What it raises is the answer: it goes to the caller as it is."""
WriteCallback: TypeAlias = Callable[[str, Buffer], None]
"""Takes the content for a name, in place of a file. What it raises is the answer, too."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a read and a write have in common.

    Of a name from a model ``model`` is the path of that, as the runtime was given it: absolute, relative, or bare; None for a
    model from memory. To the directory of that, ``directory``, the name is to be confined; without one no name leads anywhere. A
    ``trusted`` name comes from the application itself: it has neither, and is not confined.
    """

    name: str
    model: str | None
    directory: str | None
    trusted: bool


@dataclass(frozen=True, slots=True)
class ReadCall(Call):
    """Read the content for a name: from the ``callback`` if there is one, else from a file."""

    callback: ReadCallback | None = None


@dataclass(frozen=True, slots=True)
class WriteCall(Call):
    """Write ``payload`` for a name: to the ``callback`` if there is one, else to a file.

    Where ``fallback`` is given, that is the name of the file, and ``name`` is for a callback alone.
    """

    payload: bytes = b""
    fallback: str | None = None
    callback: WriteCallback | None = None


class Reader(Protocol):
    """Reads. Any exception is a refusal, and its text the error text; an ``int`` attribute ``code`` is its OrtErrorCode."""

    def read(self, call: ReadCall, /) -> Buffer:
        """The content for ``call.name``."""


class Writer(Protocol):
    """Writes. Exceptions are refusals, as of a reader."""

    def write(self, call: WriteCall, /) -> None:
        """Write ``call.payload`` for ``call.name``, whole or not at all."""


class Adapter(Reader, Writer, Protocol):
    """Both. Beside these an adapter may have two attributes that say more about it:

    ``met`` is what it is, with its version, in words. ``unsupported`` maps what it cannot do to the reason, out of FEATURES: the
    cases that need that are skipped.
    """


FEATURES: Mapping[str, str] = {
    "callbacks": "calls that have a callback",
    "fallback": "writes with a separate name for the file",
    "trusted": "names that come from the application",
    "threads": "several calls at once",
}
"""What an adapter may declare that it does not support."""


class Refused(Exception):
    """A refusal with the OrtErrorCode that the specification names for it. Another class will do if it has such a ``code``.

    Where exceptions have no code, that they refuse is judged, and the rule ``status.code`` is left out.
    """

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Skip(Exception):
    """The adapter cannot do what it is asked for: the case is skipped, with this reason. ``unittest.SkipTest`` will do, too."""


class Died(Exception):
    """What the adapter stands for ended, in words: as bad as a crash of its own.

    For adapters that speak to another process.
    """
