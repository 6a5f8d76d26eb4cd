"""Case files are untrusted: any bytes are a case that may be built, or are refused in a sentence."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["epctx"]):
    from epctx.case_check import validate
    from epctx.case_file import dumps, loads
    from epctx.errors import EpctxError


def one_input(data: bytes) -> None:
    """Read a case file of these bytes, and what is written of it."""
    try:
        case = loads(data)
    except EpctxError:
        return
    validate(case)
    assert loads(dumps(case)) == case


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
