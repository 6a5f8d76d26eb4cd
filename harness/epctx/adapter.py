"""What adapters in Python are handed, and what they may raise: for their authors (``docs/adapters.md``).

Importing this costs nothing but the standard library.
"""

from __future__ import annotations

from epctx_driver.adapter import (
    FAIL,
    FEATURES,
    INVALID_ARGUMENT,
    NOT_IMPLEMENTED,
    Adapter,
    Buffer,
    Call,
    Died,
    ReadCall,
    ReadCallback,
    Reader,
    Refused,
    Skip,
    WriteCall,
    WriteCallback,
    Writer,
)

__all__ = [
    "FAIL",
    "FEATURES",
    "INVALID_ARGUMENT",
    "NOT_IMPLEMENTED",
    "Adapter",
    "Buffer",
    "Call",
    "Died",
    "ReadCall",
    "ReadCallback",
    "Reader",
    "Refused",
    "Skip",
    "WriteCall",
    "WriteCallback",
    "Writer",
]
