"""What ONNX Runtime asks an execution provider before a callback is used, and what comes of the answer.

It asks where a callback is registered and data of its direction is not in the model, and not elsewhere. A provider uses what it
advertises, and files for the rest.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from epctx.case import NOT_IMPLEMENTED, Call, Case, Expect
from epctx.spec.answers import refuse
from epctx.spec.nodes import names_of


def negotiated(case: Case, call: Call, negotiates: bool, predict: Callable[[Call], Expect]) -> Expect:
    """What is expected of a call that says what its provider advertises.

    ``negotiates`` is whether this ONNX Runtime asks at all, ``predict`` says what is expected of a call on a provider that uses
    every callback.
    """
    direction = "write" if call.op == "write" else "read"
    registered, used = (c.write_callback if direction == "write" else c.read_callback for c in (call, call.as_used))
    found = predict(call.as_used)
    if not negotiates:
        return found
    in_model = call.embeds or (call.op == "load" and not names_of(case.model.nodes))
    asks = registered is not None and not in_model
    if not asks and found.outcome == "accept":
        return msgspec.structs.replace(found, rule="support.not-needed", why=f"nothing is to be asked, and {found.why}")
    if asks and call.support == "error":
        return refuse("support.query-error", "the provider cannot say what it supports, which is the answer", NOT_IMPLEMENTED)
    if asks and call.support == "unknown":
        return refuse("support.unknown-flags", "the provider advertises a flag that nobody knows")
    if asks and used is None:
        return refuse("support.refused", f"a {direction} callback is registered, and the provider does not advertise its use")
    return found
