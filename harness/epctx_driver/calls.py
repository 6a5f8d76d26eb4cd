"""Calls on an adapter: what ``epctx/native/driver/calls.cc`` is for targets of native code.

How a kind of target gets here: its launch (``epctx.target.adapters.launch``) names a module of this package, and that has a
function ``open_adapter(**settings)``, which gives an adapter (``epctx_driver.adapter``) or raises ``serve.Unusable`` with a
sentence. All else is here: what the adapter raises becomes a refusal, a skip or a crash, and calls of callbacks are noted.

One that speaks to another process tells of it like this. Where that cannot do what it is asked for, it raises ``Skip``; where it
ended, or said what is no answer, ``Died``, with words that say which. While it waits for an answer it has to wake up every
``serve.AWAKE`` seconds, or it is taken to be asleep on a FIFO of the world. It need not keep time: a call that takes too long is
a hang, for which the harness ends this process, and, in namespaces, all that it started; elsewhere PR_SET_PDEATHSIG has to do so.
"""

from __future__ import annotations

import os
import platform
import time
import types
import unittest
from collections.abc import Callable, Mapping
from typing import Any

from epctx_driver import protocol
from epctx_driver.adapter import FEATURES, Buffer, Died, ReadCall, Skip, WriteCall
from epctx_driver.application import ACCEPTED, Application, Script, code_of, script
from epctx_driver.protocol import field
from epctx_driver.serve import BULK, Unusable, enter, first, reply

METHODS = ("read", "write")


class Adapted:
    """An adapter that is called as requests say. Unusable if it is none."""

    def __init__(self, adapter: Any) -> None:
        self._adapter = adapter
        methods = [method for method in METHODS if callable(getattr(adapter, method, None))]
        if not methods:
            raise Unusable(f"{shown(adapter)} has neither a method read nor a method write")
        self.cannot = _unsupported(adapter)
        self.can = (*methods, *(feature for feature in FEATURES if feature not in self.cannot))
        self.met = str(getattr(adapter, "met", "")) or f"{shown(adapter)} in Python {platform.python_version()}"

    def answer(self, data: bytes) -> bytes:
        """What comes of a request."""
        given = enter(data)
        return _Work(self._adapter, data, given).done()


class _Work:
    """One request in work."""

    def __init__(self, adapter: Any, data: bytes, given: Mapping[int, list[bytes]]) -> None:
        op, self._flags, _, _, _, size = protocol.REQUEST.unpack_from(data)
        self._adapter, self._writes = adapter, op == protocol.OPS["write"]
        self._name = os.fsdecode(first(given, protocol.NAME))
        self._trusted = not self._flags & protocol.GRAPH
        self._model = os.fsdecode(first(given, protocol.MODEL_PATH)) or None
        self._fallback = None
        if self._flags & protocol.SEPARATE_FALLBACK:
            self._fallback = os.fsdecode(first(given, protocol.FALLBACK))
        self._payload, bulk = first(given, protocol.PAYLOAD), 0
        if self._flags & protocol.PAYLOAD_IN_BULK:
            self._payload, bulk = _from_bulk(size), size
        read, write = (_script(given, tag) for tag in (protocol.READ_CALLBACK, protocol.WRITE_CALLBACK))
        self._application = Application(read, write, self._again, bulk)
        self._read_callback = self._application.read if read else None
        self._write_callback = self._application.write if write else None

    def done(self) -> bytes:
        """The reply, once the call was made."""
        start = time.perf_counter_ns()
        with self._application:
            ending = attempt(lambda: self._call(self._writes, self._name, self._payload, self._fallback))
        took = time.perf_counter_ns() - start
        if self._flags & protocol.LINGERS:
            self._application.linger()
        return ending.reply(took, self._application.records())

    def _call(self, writes: bool, name: str, payload: bytes, fallback: str | None) -> Buffer:
        if not writes:
            return as_bytes(self._adapter.read(ReadCall(name, self._model, self._trusted, self._read_callback)))
        call = WriteCall(name, self._model, self._trusted, payload, fallback, self._write_callback)
        self._adapter.write(call)
        return b""

    def _again(self, writes: bool, name: str, payload: bytes) -> int:
        return attempt(lambda: self._call(writes, name, payload, None)).code


class Ending:
    """How a call ended: with an ``output``, or a refusal of a ``code`` and a ``text``; or, in a field, in some other way."""

    def __init__(self, output: Buffer = b"", code: int = ACCEPTED, text: str = "", other: bytes = b"", flags: int = 0) -> None:
        self.output, self.code, self.text, self.other, self.flags = output, code, text, other, flags

    def reply(self, nanoseconds: int, more: bytes) -> bytes:
        """The reply that says so, with ``more`` fields."""
        return reply(self.code, self.text, self.output, nanoseconds, self.other + more, self.flags)


def attempt(call: Callable[[], Buffer]) -> Ending:
    """Make a call of an adapter, and say how it ended."""
    try:
        return Ending(call())
    except (Skip, unittest.SkipTest) as error:
        return Ending(other=field(protocol.SKIPPED, _text(error)))
    except Died as error:
        return Ending(other=field(protocol.DIED, _text(error)))
    except NoBytes as error:
        return Ending(other=field(protocol.SESSION_FAULT, _text(error)))
    except Exception as error:
        return Ending(code=code_of(error), text=str(error), flags=protocol.OUTPUT_NULL)
    except BaseException as error:  # sys.exit and its like, which end the application
        words = f"{type(error).__name__}: {error}"
        return Ending(other=field(protocol.EXCEPTION, words.encode("utf-8", "backslashreplace")), flags=protocol.THREW)


class NoBytes(Exception):
    """A read gave something else than bytes, so that nothing can be said about the adapter."""


def as_bytes(output: object) -> Buffer:
    """What a read gave, as bytes. NoBytes if that is something else."""
    if isinstance(output, bytes | bytearray):
        return output
    if isinstance(output, memoryview):
        return output.cast("B") if output.contiguous else output.tobytes()
    raise NoBytes(f"its read gave {type(output).__name__}, and not bytes")


def shown(adapter: object) -> str:
    """An adapter, in words."""
    if isinstance(adapter, types.ModuleType):
        return f"the module {adapter.__name__}"
    return f"{type(adapter).__module__}.{type(adapter).__qualname__}"


def _unsupported(adapter: object) -> dict[str, str]:
    """What an adapter says that it does not support. Unusable where that is not said as it should be."""
    said = getattr(adapter, "unsupported", {})
    if not isinstance(said, Mapping) or not all(isinstance(reason, str) for reason in said.values()):
        raise Unusable(f"{shown(adapter)}.unsupported is no mapping from features to reasons")
    strange = [str(feature) for feature in said if feature not in FEATURES]
    if strange:
        raise Unusable(f"{shown(adapter)}.unsupported names {strange[0]!r}; the features are {', '.join(FEATURES)}")
    return dict(said)


def _script(given: Mapping[int, list[bytes]], tag: int) -> Script | None:
    return script(given[tag][0]) if tag in given else None


def _from_bulk(size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        data += os.pread(BULK, size - len(data), len(data))
    return bytes(data)


def _text(error: BaseException) -> bytes:
    return str(error).encode("utf-8", "backslashreplace")
