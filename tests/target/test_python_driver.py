"""The driver for loaders that are met in Python: what it makes of what a loader does."""

from __future__ import annotations

import os

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
    data = serve._answer(Loader(ending), fixed + protocol.field(protocol.CWD, os.getcwdb()))
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
