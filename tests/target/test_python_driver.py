"""The driver for loaders that are met in Python: what it makes of what a loader does."""

from __future__ import annotations

import functools
import os
import signal
import socket
import warnings

import pytest

from epctx.case import Call
from epctx.target.driver import Reply, read_reply
from epctx_driver import protocol, serve
from epctx_driver.provider import Provider


class Loader:
    """Ends every read in the same way."""

    can: tuple[str, ...] = ("read",)
    met = "a loader"
    ort = ""

    def __init__(self, ending: bytes | Exception) -> None:
        self.ending = ending

    def read(self, _: serve.Request) -> bytes:
        if isinstance(self.ending, Exception):
            raise self.ending
        return self.ending

    def write(self, _: serve.Request) -> None:
        raise AssertionError


def answer(ending: bytes | Exception) -> Reply:
    fixed = protocol.REQUEST.pack(protocol.OPS["read"], 0, 0, 0, -1, 0)
    data = serve.answer_with(Loader(ending), fixed + protocol.field(protocol.CWD, os.getcwdb()))
    return read_reply(Call("read", "f"), data, -1)


def test_what_is_read_comes_back() -> None:
    reply = answer(b"\1\2\3")
    assert (reply.seen.code, reply.output, reply.fault) == (0, b"\1\2\3", "")


def test_an_exception_is_a_refusal_in_its_words() -> None:
    reply = answer(ValueError("no such name"))
    assert (reply.seen.code, reply.seen.message, reply.fault) == (serve.FAIL, "ValueError: no such name", "")


def test_a_fault_is_never_a_refusal() -> None:
    assert answer(serve.Fault("another provider has the model")).fault == "another provider has the model"


def test_a_session_that_another_provider_has_is_a_fault() -> None:
    class Session:
        def get_providers(self) -> list[str]:
            return ["CPUExecutionProvider"]

    provider = object.__new__(Provider)
    provider.name = "XExecutionProvider"
    with pytest.raises(serve.Fault, match="CPUExecutionProvider has the model"):
        provider.run(Session())


class Counting(Loader):
    """Tells how many calls its process has made, and ends that at the fourth."""

    def __init__(self) -> None:
        self.calls = 0

    def read(self, _: serve.Request) -> bytes:
        self.calls += 1
        if self.calls == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return b"%d" % self.calls


def served(*afresh: bool) -> tuple[list[bytes], int]:
    """What comes of calls, some of which are to be made afresh, and how the driver ended."""
    ours, theirs = socket.socketpair()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # in a runner with threads: the child needs but one
        driver = os.fork()
    if not driver:
        ours.close()
        serve.answer_all(functools.partial(serve.answer_with, Counting()), theirs)
        os._exit(0)
    theirs.close()
    outputs = []
    with ours:
        for each in afresh:
            fixed = protocol.REQUEST.pack(protocol.OPS["read"], protocol.AFRESH if each else 0, 0, 0, -1, 0)
            ours.sendall(protocol.message(protocol.REQUEST_KIND, fixed + protocol.field(protocol.CWD, os.getcwdb())))
            data = ours.recv(1 << 16)
            if not data:
                break
            outputs.append(bytes(read_reply(Call("read", "f"), data, -1).output))
    return outputs, os.waitstatus_to_exitcode(os.waitpid(driver, 0)[1])


def test_a_call_that_is_made_afresh_knows_of_none_before_it() -> None:
    assert served(False, False, False) == ([b"1", b"2", b"3"], 0)
    assert served(True, True, True) == ([b"1", b"1", b"1"], 0)
    assert served(True, False, True, False, False) == ([b"1", b"2", b"1", b"2", b"3"], 0)
    assert served(False, True, True) == ([b"1", b"2", b"2"], 0)


def test_a_driver_ends_as_the_process_ended_that_it_made() -> None:
    assert served(False, False, False, False) == ([b"1", b"2", b"3"], -signal.SIGKILL)
    assert served(True, False, False, False, True) == ([b"1", b"2", b"3"], -signal.SIGKILL)
