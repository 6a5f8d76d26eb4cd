"""How a call of an adapter ended: what it gave or raised, in the terms of a reply."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

from epctx_driver import protocol
from epctx_driver.adapter import Buffer, Died, Skip
from epctx_driver.protocol import field
from epctx_driver.serve import Fault, reply

ACCEPTED = 0


class Ending:
    """With an ``output``, or a refusal of a ``code`` and a ``text``; or in some ``other`` way, which is a field of the reply."""

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
    except Fault as error:
        return Ending(other=field(protocol.SESSION_FAULT, _text(error)))
    except Exception as error:
        return Ending(code=_code_of(error), text=str(error), flags=protocol.OUTPUT_NULL)
    except BaseException as error:  # sys.exit and its like, which end the application
        words = f"{type(error).__name__}: {error}"
        return Ending(other=field(protocol.EXCEPTION, words.encode("utf-8", "backslashreplace")), flags=protocol.THREW)


def as_bytes(output: object) -> Buffer:
    """What a read gave, as bytes. Fault if that is something else."""
    if isinstance(output, bytes | bytearray):
        return output
    if isinstance(output, memoryview):
        return output.cast("B") if output.contiguous else output.tobytes()
    raise Fault(f"its read gave {type(output).__name__}, and not bytes")


def _code_of(error: BaseException) -> int:
    said: Any = getattr(error, "code", None)
    return said if isinstance(said, int) and 0 < said < 1 << 31 else protocol.UNSAID


def _text(error: BaseException) -> bytes:
    return str(error).encode("utf-8", "backslashreplace")
