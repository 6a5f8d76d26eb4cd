"""The good loader with one thing wrong each, and adapters that are made in other ways."""

from __future__ import annotations

import atexit
import dataclasses
import os
import sys
import tempfile
import threading
import time
import unittest
from typing import Any

from careful_loader import Loader

from epctx.adapter import INVALID_ARGUMENT, Buffer, Refused


class ComparesCharacters(Loader):
    """Takes a directory whose name begins like that of the model for the same."""

    def inside(self, call: Any, name: str) -> str:
        base = os.path.realpath(call.directory)
        path = self.resolved(os.path.join(base, name))
        if os.path.isabs(name) or not path.startswith(base):
            raise Refused(INVALID_ARGUMENT, "the name leads out of the directory of the model")
        return path


class ComparesText(Loader):
    """Takes `..` by its text, and then follows every link."""

    def inside(self, call: Any, name: str) -> str:
        path = os.path.normpath(os.path.join(call.directory, name))
        if os.path.isabs(name) or os.path.relpath(path, call.directory).startswith(os.pardir):
            raise Refused(INVALID_ARGUMENT, "the name leads out of the directory of the model")
        return path


class Joins(Loader):
    """Confines nothing."""

    def inside(self, call: Any, name: str) -> str:
        return os.path.join(call.directory or "", name)


class LooksForSlashes(Loader):
    """Takes a slash for the only separator."""

    def inside(self, call: Any, name: str) -> str:
        if os.pardir in name.split("/"):
            raise Refused(INVALID_ARGUMENT, "the name leads out of the directory of the model")
        return os.path.join(call.directory, name)

    def on_windows(self, name: str) -> str:
        return name


class UsesWorkingDirectory(Loader):
    """Takes the working directory for that of a model from memory."""

    def inside(self, call: Any, name: str) -> str:
        return super().inside(call, name) if call.directory else os.path.abspath(name)


class IgnoresCallbacks(Loader):
    """Always goes to the disk."""

    def read(self, call: Any) -> Buffer:
        return super().read(dataclasses.replace(call, callback=None))

    def write(self, call: Any) -> None:
        super().write(dataclasses.replace(call, callback=None))


class FallsBack(Loader):
    """Goes to the disk where the callback fails."""

    def read(self, call: Any) -> Buffer:
        try:
            return super().read(call)
        except Exception:
            return super().read(dataclasses.replace(call, callback=None))


class TranslatesErrors(Loader):
    """Has other words for what a callback says."""

    def read(self, call: Any) -> Buffer:
        try:
            return super().read(call)
        except Exception as error:
            raise RuntimeError("the callback failed") from error


class CallsLate(Loader):
    """Has a thread of its own call the callback."""

    def write(self, call: Any) -> None:
        if not call.callback:
            return super().write(call)
        return threading.Thread(target=self.later, args=(call,), daemon=True).start()

    def later(self, call: Any) -> None:
        time.sleep(0.01)
        call.callback(call.name, call.payload)


class WritesPieces(Loader):
    """Hands a payload over in pieces; declared as ordered chunking that is right."""

    def write(self, call: Any) -> None:
        if not call.callback or not call.name:
            return super().write(call)
        for start in range(0, max(len(call.payload), 1), 64):
            call.callback(call.name, call.payload[start : start + 64])
        return None


class KeepsPlaintext(Loader):
    """Has a copy of what a callback gives in a temporary file, for a moment."""

    def read(self, call: Any) -> Buffer:
        data = super().read(call)
        if call.callback:
            with tempfile.TemporaryFile() as file:
                file.write(data)
        return data


class RemembersName(Loader):
    """Keeps the name of the call where other threads find it, too."""

    name = ""

    def read(self, call: Any) -> Buffer:
        self.name = call.name
        time.sleep(0)
        return super().read(dataclasses.replace(call, name=self.name))


class OpensAnything(Loader):
    """Does not ask what it opens."""

    def opened(self, path: str) -> int:
        return os.open(path, os.O_RDONLY)


class LosesLastByte(Loader):
    """Reads all but one byte."""

    def read(self, call: Any) -> Buffer:
        return super().read(call)[:-1]


class Exits(Loader):
    """Ends the process where a file is missing."""

    def opened(self, path: str) -> int:
        if not os.path.exists(path):
            sys.exit("there is no such file")
        return super().opened(path)


class Aborts(Loader):
    """Ends it so that nothing can be done about it."""

    def opened(self, path: str) -> int:
        if not os.path.exists(path):
            os.abort()
        return super().opened(path)


class EndsBadly(Loader):
    """Does all that it should until nothing is asked of it any more."""

    def __init__(self) -> None:
        atexit.register(os.abort)


class WithoutCodes(Loader):
    """Refuses with exceptions that have no code, which is good enough."""

    def read(self, call: Any) -> Buffer:
        if call.callback:
            return super().read(call)
        try:
            return super().read(call)
        except Refused as error:
            raise ValueError(str(error)) from None


class ReadsOnly:
    """Reads, knows no callbacks, and says so; trusted names it does not take either, which it says when it is asked."""

    met = "a reader, 1.0"
    unsupported = {"callbacks": "they are for the next release"}

    def read(self, call: Any) -> Buffer:
        if call.trusted:
            raise unittest.SkipTest("names from the application are for the next release")
        return Loader().read(call)


class GivesText(Loader):
    """Gives something else than bytes."""

    def read(self, call: Any) -> Any:
        return str(super().read(call))


def made() -> Loader:
    """A function that makes an adapter."""
    return Loader()


instance = Loader()
nothing = object()
unsure = type("Unsure", (Loader,), {"unsupported": {"callback": "a wrong word"}})
