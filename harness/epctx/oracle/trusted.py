"""Rules for trusted callers: a name that does not come from a model."""

from __future__ import annotations

from epctx.oracle.rule import Look, Ruling, rule


@rule("trusted.any-path", "spec", "medium", "Untrusted name handling")
def any_path(look: Look) -> Ruling:
    """Absolute names and `..` from a trusted caller are accepted as given.

    A caller without a model owns the path; there is no directory to confine it to.
    """
    return look.decided()


@rule("trusted.type-gates", "spec", "high", "Untrusted name handling")
def type_gates(look: Look) -> Ruling:
    """The file type gates, and the refusal of a link as last component on write, hold for trusted callers too.

    A trusted path can still lead to a FIFO that somebody else left there.
    """
    return look.decided()
