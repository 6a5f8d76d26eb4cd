"""Calls on an adapter: what ``epctx/native/driver/calls.cc`` is for targets of native code.

How a kind of target gets here: its launch (``epctx.target.adapters.launch``) names a module of this package, and that has a
function ``open_adapter(**settings)``, which gives an adapter (``epctx_driver.adapter``) or raises ``serve.Unusable`` with a
sentence. All else is here: what the adapter raises becomes a refusal, a skip or a crash, and calls of callbacks are noted.

One that speaks to another process (``epctx_driver.program``) tells of it like this. Where that cannot do what it is asked for, it
raises ``Skip``; where it ended, ``Died``; where what it said is no answer, ``serve.Fault``. It need not keep time: a call that
takes too long is a hang, for which the harness ends this process and what it started.
"""

from __future__ import annotations

import os
import platform
import time
import types
from collections.abc import Mapping
from typing import Any

from epctx_driver import protocol
from epctx_driver.adapter import FEATURES, Buffer, ReadCall, ReadCallback, WriteCall, WriteCallback
from epctx_driver.application import Application, Script, script
from epctx_driver.emulation import Emulation
from epctx_driver.ending import Ending, as_bytes, attempt
from epctx_driver.serve import BULK, Unusable, enter, first
from epctx_driver.threads import Share, Threads

METHODS = ("read", "write")


class Adapted:
    """An adapter that is called as requests say. Unusable if it is none."""

    def __init__(self, adapter: Any, emulation: Emulation | None = None) -> None:
        self._adapter, self._emulation = adapter, emulation
        methods = [method for method in METHODS if callable(getattr(adapter, method, None))]
        if not methods:
            raise Unusable(f"{shown(adapter)} has neither a method read nor a method write")
        self.cannot = _unsupported(adapter)
        self.can = (*methods, *(feature for feature in FEATURES if feature not in self.cannot))
        self.met = str(getattr(adapter, "met", "")) or f"{shown(adapter)} in Python {platform.python_version()}"
        self.met += f" on {emulation.met}" if emulation else ""

    def answer(self, data: bytes) -> bytes:
        """What comes of a request."""
        given = enter(data)
        if self._emulation and protocol.EMULATED_WORLD in given:
            self._emulation.begin(given[protocol.EMULATED_WORLD][0])
        return _Work(self._adapter, data, given, self._emulation).done()


class _Work:
    """One request in work."""

    def __init__(self, adapter: Any, data: bytes, given: Mapping[int, list[bytes]], emulation: Emulation | None) -> None:
        self._emulation, path = emulation, emulation.path if emulation else os.path
        op, self._flags, _, _, _, size = protocol.REQUEST.unpack_from(data)
        self._adapter, self._writes = adapter, op == protocol.OPS["write"]
        self._name = os.fsdecode(first(given, protocol.NAME))
        self._trusted = not self._flags & protocol.GRAPH
        self._model = os.fsdecode(first(given, protocol.MODEL_PATH)) or None
        self._directory = None if self._model is None else path.dirname(self._model) or path.curdir
        self._fallback = None
        if self._flags & protocol.SEPARATE_FALLBACK:
            self._fallback = os.fsdecode(first(given, protocol.FALLBACK))
        self._payload, bulk = first(given, protocol.PAYLOAD), 0
        if self._flags & protocol.PAYLOAD_IN_BULK:
            self._payload, bulk = _from_bulk(size), size
        read, write = (_script(given, tag) for tag in (protocol.READ_CALLBACK, protocol.WRITE_CALLBACK))
        self._application = Application(read, write, self._again, bulk)
        self._callbacks = (self._application.read if read else None, self._application.write if write else None)
        self._threads = first(given, protocol.THREADS)

    def done(self) -> bytes:
        """The reply, once the call was made."""
        start = time.perf_counter_ns()
        if self._threads:
            threads = Threads(self._threads, self._of_share)
            counts = threads.run()
            return Ending(other=counts, flags=threads.flags).reply(time.perf_counter_ns() - start, b"")
        with self._application:
            ending = self._call(self._writes, self._name, self._payload, self._fallback, *self._callbacks)
        took = time.perf_counter_ns() - start
        if self._flags & protocol.LINGERS:
            self._application.linger()
        seen = self._emulation.seen() if self._emulation else b""
        return ending.reply(took, self._application.records() + seen)

    def _call(
        self,
        writes: bool,
        name: str,
        payload: bytes,
        fallback: str | None,
        read_callback: ReadCallback | None,
        write_callback: WriteCallback | None,
    ) -> Ending:
        def call() -> Buffer:
            if not writes:
                return as_bytes(self._adapter.read(ReadCall(*self._of(name), read_callback)))
            self._adapter.write(WriteCall(*self._of(name), payload, fallback, write_callback))
            return b""

        return attempt(call)

    def _of(self, name: str) -> tuple[str, str | None, str | None, bool]:
        return name, self._model, self._directory, self._trusted

    def _again(self, writes: bool, name: str, payload: bytes) -> int:
        return self._call(writes, name, payload, None, *self._callbacks).code

    def _of_share(self, share: Share, read_callback: ReadCallback | None, write_callback: WriteCallback | None) -> Ending:
        return self._call(share.writes, share.name, share.content, None, read_callback, write_callback)


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
