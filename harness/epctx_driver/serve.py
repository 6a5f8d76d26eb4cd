"""Requests in, replies out: what ``epctx/native/driver/main.cc`` does for native targets."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import select
import signal
import socket
import time
from typing import Any, NamedTuple, Protocol

from epctx_driver import protocol
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


def serve(name: str, settings: dict[str, Any]) -> None:
    """Answer requests with a loader of this package until the link closes."""
    link = socket.socket(fileno=LINK)
    try:
        module = importlib.import_module(f"epctx_driver.{name}")
        loader: Loader = module.open_loader(**settings)
    except Exception as error:
        link.sendall(_hello("", "", (), f"{type(error).__name__}: {error}"))
        return
    link.sendall(_hello(loader.met, loader.ort, loader.can, ""))
    answer_all(loader, link)


def answer_all(loader: Loader, link: socket.socket) -> None:
    """Answer the requests that come, until the link closes."""
    data = _receive(link)
    while data:
        if _afresh(data):
            data = _in_child(loader, link, data)
        else:
            link.sendall(_answer(loader, data))
            data = _receive(link)


def _afresh(data: bytes) -> bool:
    return bool(protocol.REQUEST.unpack_from(data)[1] & protocol.AFRESH)


def _in_child(loader: Loader, link: socket.socket, data: bytes) -> bytes:
    """Answer a request, and those that belong to it, in a process that comes from this one, and ends with them; the next request.

    This process makes no call itself, so whatever a call does to its process, the next one finds a loader as it was imported.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        while data:
            link.sendall(_answer(loader, data))
            data = _receive(link)
            if data and _afresh(data):
                break
        with open(writer, "wb") as pipe:
            pipe.write(data)
        os._exit(0)
    os.close(writer)
    following = bytearray()
    with open(reader, "rb", buffering=0) as pipe:
        while True:
            if not select.select([pipe], [], [], AWAKE)[0]:
                continue
            part = pipe.read(1 << 16)
            if not part:
                break
            following += part
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


def _hello(met: str, ort: str, can: tuple[str, ...], error: str) -> bytes:
    said = {"protocol": protocol.PROTOCOL, "target": met, "ort": ort, "can": can, "lent": False, "error": error}
    return message(protocol.HELLO_KIND, field(protocol.HELLO_TEXT, json.dumps(said).encode()))


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


def _answer(loader: Loader, data: bytes) -> bytes:
    op, _, _, _, file_size, _ = protocol.REQUEST.unpack_from(data)
    given = {tag: values[0] for tag, values in protocol.fields(data, protocol.REQUEST.size).items()}
    os.chdir(given[protocol.CWD])
    request = Request(_NAMES[op], given.get(protocol.MODEL_PATH, b""), given.get(protocol.SESSION_MODEL, b""))
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_size if file_size >= 0 else hard, hard))
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
    took = time.perf_counter_ns() - start
    flags, fields = 0, field(protocol.MESSAGE, text.encode("utf-8", "surrogateescape")) if code else b""
    if len(output) > protocol.INLINE_LIMIT:
        done = 0
        while done < len(output):
            done += os.pwrite(BULK, memoryview(output)[done:], done)
        flags |= protocol.OUTPUT_IN_BULK
        fields += field(protocol.OUTPUT, protocol.SIZE.pack(len(output)))
    elif output:
        fields += field(protocol.OUTPUT, output)
    if fault:
        fields += field(protocol.SESSION_FAULT, fault.encode())
    counts = (0,) * 10
    return message(protocol.REPLY_KIND, protocol.REPLY.pack(flags, code, len(output), took, *counts) + fields)


_NAMES = {number: name for name, number in protocol.OPS.items()}
