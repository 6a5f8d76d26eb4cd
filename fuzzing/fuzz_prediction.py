"""The specification says something about each call, whatever its name is."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["epctx"]):
    from epctx.case_check import validate
    from epctx.fuzz.encoding import decode, encode
    from epctx.spec import predict


def one_input(data: bytes) -> None:
    """Make a case of these bytes, and ask what is expected of it."""
    case = decode(data)
    if case is None:
        return
    validate(case)
    (expected,) = predict(case)
    assert expected.outcome in ("accept", "refuse", "either")
    written = encode(case)
    assert written is not None
    assert decode(written) == case


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
