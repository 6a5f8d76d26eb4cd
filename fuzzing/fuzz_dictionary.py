"""Dictionaries are read as they were written, or refused in a sentence."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["epctx"]):
    from epctx.case import raw
    from epctx.errors import UsageError
    from epctx.fuzz import dictionary

FILE = Path(tempfile.mkdtemp()) / "tokens.dict"


def one_input(data: bytes) -> None:
    """Read a dictionary of these bytes, and one that is written of its tokens."""
    FILE.write_bytes(data)
    try:
        tokens = dictionary.read(FILE)
    except UsageError:
        return
    FILE.write_text(dictionary.dumps(map(raw, tokens), "a test"), encoding="utf-8")
    assert dictionary.read(FILE) == tokens


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
