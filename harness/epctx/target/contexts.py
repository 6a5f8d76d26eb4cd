"""Cases for execution providers that nobody here wrote: which of them make sense there."""

from __future__ import annotations

from epctx.case import Case


def obstacle(case: Case) -> str:
    """Why a case cannot be run on such a provider; else nothing."""
    for call in case.calls:
        if call.op == "load" and len(case.model.nodes) != 1:
            return "a provider that compiled one node has no data for several"
        if call.op == "write":
            return "what a provider compiles gets its name from the application, not from the model"
        if call.read_callback or call.write_callback or call.config or call.support is not None:
            return "whether a provider uses callbacks is not asked here: each case is about its files"
    return ""
