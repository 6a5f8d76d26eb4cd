"""Cases for adapters, objects in Python and programs: which of them make sense there.

What a C interface can say and a call of an adapter cannot is an obstacle, told in a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set

from msgspec import UNSET

from epctx.case import Call, Callback, Case, raw

CANNOT = {
    "read": "the adapter has no read",
    "write": "the adapter has no write",
    "load": "an adapter reads what a name leads to, and walks no nodes of a model",
    "config": "an adapter is handed callbacks, and no config",
}
"""Why a case is skipped whose calls an adapter does not have."""


def _callbacks(call: Call) -> list[Callback]:
    return [callback for callback in (call.read_callback, call.write_callback) if callback is not None]


def _names(call: Call) -> bytes:
    return b"".join(raw(name) for name in call.names)


FEATURES: tuple[tuple[str, Callable[[Call], bool], str], ...] = (
    ("callbacks", lambda call: bool(_callbacks(call)), "the adapter supports no callbacks"),
    ("fallback", lambda call: call.fallback is not UNSET, "the adapter has no separate name for the file"),
    ("trusted", lambda call: call.source == "caller", "the adapter takes names from models only; nobody is trusted"),
    ("threads", lambda call: call.threads is not None, "the adapter takes one call after the other"),
)
"""What an adapter may not support: the feature, the calls that need it, and a reason in words where it gives none."""

OBSTACLES: tuple[tuple[Callable[[Call], bool], str], ...] = (
    (lambda call: not call.names or call.fallback is None, "a name is never NULL for an adapter"),
    (lambda call: call.op == "write" and not call.threads and call.payload is None, "a payload is never NULL for an adapter"),
    (lambda call: call.allocator != "default", "an adapter is given no allocator"),
    (lambda call: call.held or call.moves, "what an adapter gives are bytes, with no output object beside them"),
    (lambda call: call.config or not call.accessors, "an adapter is handed callbacks, and no config"),
    (lambda call: call.embeds or call.runs, "an adapter compiles no model; that is done in sessions (see the target ep:bundled)"),
    (
        lambda call: call.support is not None,
        "nobody asks an adapter which callbacks it uses; that is asked in sessions (see the target ep:bundled)",
    ),
    (lambda call: any(c.null_state for c in _callbacks(call)), "a callback of an adapter has no state beside it"),
    (
        lambda call: any(c.size not in (None, c.content.size if c.content else 0) for c in _callbacks(call)),
        "a callback of an adapter gives bytes, and cannot say another size",
    ),
    (
        lambda call: any(c.content is not None and c.code for c in _callbacks(call)),
        "a callback of an adapter that fails leaves no buffer behind",
    ),
    (
        lambda call: bool(_callbacks(call)) and b"\0" in _names(call),
        "what a callback is given of a name with a NUL is a matter of C strings",
    ),
    (lambda call: call.resize is not None, "what an adapter allocates is not seen, so nothing can be done at that moment"),
    (lambda call: call.race is not None, "nothing is done to the world while an adapter is called"),
)
"""What a call takes for granted that cannot be said to an adapter, and the reason in words."""


def obstacle(case: Case, can: Set[str], cannot: Mapping[str, str]) -> str:
    """Why a case cannot be run on an adapter that has the methods and the features ``can``; else nothing.

    ``cannot`` are the reasons that the adapter itself gives for features that it does not support.
    """
    if case.model.external is not None:
        return "an adapter loads no tensors, and so no external data"
    for call in case.calls:
        if call.op in ("load", "config"):
            return CANNOT[call.op]
        ops = {share.op for share in call.threads.shares} if call.threads else {call.op}
        for op in ops - can:
            return CANNOT[op]
        for feature, needs, words in FEATURES:
            if feature not in can and needs(call):
                return cannot.get(feature) or words
        for meets, words in OBSTACLES:
            if meets(call):
                return words
    return ""
