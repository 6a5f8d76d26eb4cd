"""Cases for loaders of external data: which of them make sense there."""

from __future__ import annotations

from epctx.case import Case


def obstacle(case: Case) -> str:
    """Why a case cannot be run on a loader that is met in Python; else nothing."""
    for call in case.calls:
        if call.read_callback or call.write_callback or call.config:
            return "a loader of external data knows no callbacks"
        if call.op == "load" or call.threads or call.embeds or call.runs or call.support:
            return "a model with external data has no EPContext nodes"
        if not call.name:
            return "x"
    return ""
