"""Rules on what ONNX Runtime and an execution provider negotiate: which of the application's callbacks the provider uses."""

from __future__ import annotations

from epctx.oracle.rule import Broken, Look, Ruling, rule

QUERY = "ONNX Runtime 1.31, OrtEp::GetEpContextDataCallbackSupport"


def _untouched(look: Look) -> Ruling:
    """The judgement of a refusal that comes before any file is touched."""
    for touched in look.seen.touched:
        return Broken(
            f"{look.expectation}, before any file is touched",
            f"{look.happened}; {touched.what} of {touched.names[0]}",
            touched.names[0],
        )
    return look.decided()


@rule("support.refused", "stable", "critical", QUERY)
def refused(look: Look) -> Ruling:
    """A callback that is registered, and that the EP does not advertise to use, is an error before any file is touched.

    The application registered it so that no plaintext is on the disk. An EP that knows nothing of it would look for a file; one
    that was built for ONNX Runtime 1.30 or earlier is such an EP.
    """
    return _untouched(look)


@rule("support.unknown-flags", "stable", "medium", QUERY)
def unknown_flags(look: Look) -> Ruling:
    """Flags beyond READ and WRITE are refused.

    What they stand for is not known, and so neither is whether the application's callbacks are safe with it.
    """
    return _untouched(look)


@rule("support.not-needed", "stable", "medium", QUERY)
def not_needed(look: Look) -> Ruling:
    """No callback, or embedded data, needs no support.

    Models that load without callbacks go on to do so with every EP.
    """
    return look.decided()


@rule("support.query-error", "stable", "high", QUERY)
def query_error(look: Look) -> Ruling:
    """An error of the query itself is passed on.

    An EP that cannot say what it supports has not said that it supports it.
    """
    return _untouched(look)
