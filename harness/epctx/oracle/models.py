"""Rules on the EPContext nodes of a model."""

from __future__ import annotations

from epctx.oracle.rule import Look, Ruling, rule


@rule("model.malformed-node", "spec", "high", "Reference Helper: ep_context_data_utils")
def malformed_node(look: Look) -> Ruling:
    """EPContext nodes with attributes missing, doubled or of a wrong type, or an odd embed_mode, give an error or are left alone.

    The attributes come from the same attacker as the name; there is never a crash and never an outside access.
    """
    return look.decided()


@rule("model.attribute-bytes", "spec", "high", "Reference Helper: ep_context_data_utils")
def attribute_bytes(look: Look) -> Ruling:
    """An `ep_cache_context` with NUL, invalid UTF-8, 64 KiB and larger values is an error or literal.

    The attribute is a byte string of any length, and whatever reads it must not assume otherwise.
    """
    return look.decided()
