"""Requests in, replies out: what ``epctx/native/driver/main.cc`` does for native targets."""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import resource
import select
import signal
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from epctx_driver import protocol
from epctx_driver.adapter import Buffer
from epctx_driver.protocol import field, message

LINK, BULK = 3, 4
"""The descriptors of the socket to the harness and of the memory that is shared with it."""
FAIL = 1
"""The member of OrtErrorCode that stands for every exception: loaders have none in common."""


AWAKE = 0.05
"""Seconds after which a process that waits for another one shows that it is not itself asleep on something."""


class Request(NamedTuple):
    """A call on the model at ``path``, or on one in memory (``path`` is then "").

    It is a ``read`` or a ``write`` of one name, or the ``load`` of a model whose node may be malformed.
    """

    op: str
    path: bytes
    model: bytes


class Unusable(Exception):
    """What is to be called cannot be used: why, in words that need no traceback."""


class Fault(Exception):
    """Why nothing can be said about the loader, in words: never a refusal."""


class Loader(Protocol):
    """A loader under test. Any exception but Fault is a refusal; what it reads is given back, for a write nothing."""

    can: tuple[str, ...]
    """Of read, load and write."""
    met: str
    """What it is, with its version, in words."""
    ort: str
    """The version of ONNX Runtime that takes part, "" for none."""

    def read(self, request: Request) -> bytes:
        """Load the model; the bytes that its name led to."""

    def write(self, request: Request) -> None:
        """Save the model, with its data where its name leads."""


Answer = Callable[[bytes], bytes]
"""Makes the reply to a request, whose fixed part and fields it is given."""


def serve(name: str, settings: dict[str, Any]) -> None:
    """Answer requests with what a module of this package opens, a loader or an adapter, until the link closes."""
    link = socket.socket(fileno=LINK)
    try:
        module = importlib.import_module(f"epctx_driver.{name}")
        hello, answer = _adapter(module, settings) if hasattr(module, "open_adapter") else _loader(module, settings)
    except Exception as error:
        link.sendall(hello_message("", "", (), error=str(error) if isinstance(error, Unusable) else one_line(error)))
        return
    link.sendall(hello)
    answer_all(answer, link)


def _loader(module: Any, settings: dict[str, Any]) -> tuple[bytes, Answer]:
    loader: Loader = module.open_loader(**settings)
    return hello_message(loader.met, loader.ort, loader.can), functools.partial(answer_with, loader)


def _adapter(module: Any, settings: dict[str, Any]) -> tuple[bytes, Answer]:
    from epctx_driver import calls, emulation  # loaders can do without

    platform = settings.pop("platform", "")
    opened = module.open_adapter(**settings)
    adapter = calls.Adapted(opened, emulation.Emulation(platform) if platform else None)
    return hello_message(adapter.met, "", adapter.can, cannot=adapter.cannot), adapter.answer


def answer_all(answer: Answer, link: socket.socket) -> None:
    """Answer the requests that come, until the link closes."""
    data = _receive(link)
    while data:
        if _afresh(data):
            data = _in_child(answer, link, data)
        else:
            link.sendall(answer(data))
            data = _receive(link)


def _afresh(data: bytes) -> bool:
    return bool(protocol.REQUEST.unpack_from(data)[1] & protocol.AFRESH)


def _in_child(answer: Answer, link: socket.socket, data: bytes) -> bytes:
    """Answer a request, and those that belong to it, in a process that comes from this one, and ends with them; the next request.

    This process makes no call itself, so whatever a call does to its process, the next one finds a loader as it was imported.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        while data:
            link.sendall(answer(data))
            data = _receive(link)
            if data and _afresh(data):
                break
        while data:  # by descriptors: a call may have put something else in the place of open
            data = data[os.write(writer, data) :]
        os._exit(0)
    os.close(writer)
    following = bytearray()
    while True:
        if not select.select([reader], [], [], AWAKE)[0]:
            continue
        part = os.read(reader, 1 << 16)
        if not part:
            break
        following += part
    os.close(reader)
    _, status = os.waitpid(child, 0)
    if status:
        _end_as(os.waitstatus_to_exitcode(status))
    return bytes(following)


def _end_as(code: int) -> None:
    """End this process as another one ended: with a status, or, if negative, by a signal."""
    if code < 0:
        with contextlib.suppress(OSError):  # some signals cannot be handled
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(abs(code))


def hello_message(met: str, ort: str, can: Iterable[str], *, cannot: Mapping[str, str] = {}, error: str = "") -> bytes:
    """The first words to the harness: what is met, and what it ``can``; what it ``cannot``, with reasons of its own."""
    said = {"protocol": protocol.PROTOCOL, "target": met, "ort": ort, "can": [*can], "lent": False, "error": error}
    said["cannot"] = {**cannot}
    return message(protocol.HELLO_KIND, field(protocol.HELLO_TEXT, json.dumps(said).encode()))


def one_line(error: BaseException) -> str:
    """An exception with its class, on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def _receive(link: socket.socket) -> bytes:
    """A request's fixed part and fields; b"" when the link is closed."""
    head = _exactly(link, protocol.HEADER.size)
    return _exactly(link, protocol.HEADER.unpack(head)[0] - protocol.HEADER.size) if head else b""


def _exactly(link: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = link.recv(size - len(data))
        if not part:
            return b""
        data += part
    return bytes(data)


def answer_with(loader: Loader, data: bytes) -> bytes:
    """What comes of a request for a loader."""
    op = protocol.REQUEST.unpack_from(data)[0]
    given = enter(data)
    request = Request(NAMES[op], first(given, protocol.MODEL_PATH), first(given, protocol.SESSION_MODEL))
    output, code, text, fault, start = b"", 0, "", "", time.perf_counter_ns()
    try:
        if request.op == "write":
            loader.write(request)
        else:
            output = loader.read(request)
    except Fault as error:
        fault = str(error)
    except Exception as error:
        code, text = FAIL, f"{type(error).__name__}: {error}"
    more = field(protocol.SESSION_FAULT, fault.encode()) if fault else b""
    return reply(code, text, output, time.perf_counter_ns() - start, more)


def enter(data: bytes) -> dict[int, list[bytes]]:
    """The fields of a request, by tag, once this process is where it asks for, with the limit on files that it sets."""
    given, file_size = protocol.fields(data, protocol.REQUEST.size), protocol.REQUEST.unpack_from(data)[4]
    os.chdir(given[protocol.CWD][0])
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_size if file_size >= 0 else hard, hard))
    return given


def first(given: Mapping[int, Sequence[bytes]], tag: int) -> bytes:
    """The first field with a tag; empty if there is none."""
    return given[tag][0] if tag in given else b""


def reply(code: int, text: str, output: Buffer, nanoseconds: int, more: bytes = b"", flags: int = 0) -> bytes:
    """A reply: how a call ended, with what output, and ``more`` fields."""
    size, fields = len(output), field(protocol.MESSAGE, text.encode("utf-8", "surrogateescape")) if code else b""
    if size > protocol.INLINE_LIMIT:
        put_bulk(output, 0)
        flags |= protocol.OUTPUT_IN_BULK
        fields += field(protocol.OUTPUT, protocol.SIZE.pack(size))
    elif size:
        fields += field(protocol.OUTPUT, bytes(output))
    counts = (0,) * 10
    return message(protocol.REPLY_KIND, protocol.REPLY.pack(flags, code, size, nanoseconds, *counts) + fields + more)


def put_bulk(data: Buffer, offset: int) -> None:
    """Write to the memory that is shared with the harness."""
    done = 0
    while done < len(data):
        done += os.pwrite(BULK, memoryview(data)[done:], offset + done)


NAMES = {number: name for name, number in protocol.OPS.items()}
