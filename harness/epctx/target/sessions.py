"""Cases in real sessions: which of them make sense there, and the requests for their calls.

In a session every name is that of a model, which ONNX Runtime reads itself, and what an execution provider does with memory is
not seen. What a case takes for granted beyond that is an obstacle, told in a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import UnsetType

from epctx.case import Call, Callback, Case, raw
from epctx.target import wire
from epctx_driver import protocol

OPTION_ROOM = 4096
"""ONNX Runtime takes no longer value of an option (bytes)."""

_ATTRIBUTES = frozenset(
    (
        *("ep_cache_context", "source", "partition_name", "ep_sdk_version", "hardware_architecture", "notes"),
        *("onnx_model_filename", "embed_mode", "main_context", "max_size"),
    )
)
"""Those of the EPContext operator."""


def obstacle(case: Case) -> str:
    """Why a case cannot be run in sessions; else nothing."""
    for node in case.model.nodes:
        if (node.domain, node.op_type) != ("com.microsoft", "EPContext"):
            return "ONNX Runtime itself refuses a model with an operator that nobody implements"
        if any(attribute.name not in _ATTRIBUTES for attribute in node.attributes):
            return "ONNX Runtime itself refuses an EPContext node with an attribute that the operator does not have"
    return next((words for call in case.calls for meets, words in OBSTACLES if meets(call)), "")


def _named(call: Call) -> bool:
    return call.op in ("read", "write")


def _callbacks(call: Call) -> list[Callback]:
    return [callback for callback in (call.read_callback, call.write_callback) if callback is not None]


def _overstates(callback: Callback) -> bool:
    return callback.size is not None and callback.size > (callback.content.size if callback.content else 0)


def _text(value: object) -> bytes:
    return raw(value) if isinstance(value, str | tuple) else b""


OBSTACLES: tuple[tuple[Callable[[Call], bool], str], ...] = (
    (
        lambda call: call.threads is not None and any(not _callbacks(call.of(share)) for share in call.threads.shares),
        "one path holds one model, so sessions that are made at once have theirs in memory, and no directory",
    ),
    (lambda call: _named(call) and call.source == "caller", "in a session every name is that of a model; nobody is trusted"),
    (lambda call: _named(call) and not call.names, "a model has no name that is NULL"),
    (lambda call: call.op == "write" and b"\0" in _text(call.name), "what follows a NUL is not in the name of a node"),
    (
        lambda call: call.op == "write" and not call.threads and call.payload is None,
        "what an execution provider compiles is never at NULL",
    ),
    (lambda call: call.fallback is None, "an option of an execution provider is never NULL"),
    (lambda call: b"\0" in _text(call.fallback), "what follows a NUL is not in an option of an execution provider"),
    (lambda call: len(_text(call.fallback)) > OPTION_ROOM, "ONNX Runtime takes no option of that length"),
    (lambda call: call.allocator != "default", "an execution provider is given no allocator"),
    (lambda call: call.held or call.moves, "an execution provider has its outputs for itself"),
    (lambda call: not call.accessors, "the functions of a real ONNX Runtime cannot be taken away"),
    (lambda call: call.resize is not None or call.race is not None, "nothing is done to the world while a session is made"),
    (
        lambda call: call.threads is None and any(c.waits > 1 or c.reenters is not None for c in _callbacks(call)),
        "a session by itself has no other one to wait for, or to come back to",
    ),
    (lambda call: any(map(_overstates, _callbacks(call))), "an execution provider would look at what is not there"),
)
"""What a call takes for granted that no session has, and the reason in words."""


def request(
    call: Call,
    model_path: bytes,
    models: Sequence[bytes],
    cwd: bytes,
    root: bytes,
    file_size: int | None,
    *,
    afresh: bool = False,
) -> bytes:
    """The request for one call. ``model_path`` is what the runtime is given, "" for the one of ``models`` itself; ``cwd`` a real
    path. Threads have a model for each share, in memory. A driver in Python makes a call ``afresh``, and those after it, in a
    process that has made none.
    """
    parts = [protocol.field(protocol.CWD, cwd)]
    if call.threads or not model_path:
        parts += [protocol.field(protocol.SESSION_MODEL, model) for model in models]
    else:
        parts.append(protocol.field(protocol.MODEL_PATH, model_path))
    if call.threads:
        parts.append(wire.threads(call, [raw(share.name, root) for share in call.threads.shares]))
    if call.support is not None:
        parts.append(protocol.field(protocol.SESSION_OPTION, b"support=" + call.support.encode()))
    if call.op == "write" or (call.threads and any(share.op == "write" for share in call.threads.shares)):
        parts.append(protocol.field(protocol.SESSION_OPTION, b"name=node"))
    if call.op == "write" and not isinstance(call.fallback, UnsetType) and call.fallback is not None:
        parts.append(protocol.field(protocol.SESSION_OPTION, b"fallback=" + raw(call.fallback, root)))
    if call.read_callback and not call.threads:
        parts.append(protocol.field(protocol.READ_CALLBACK, wire.script(call.read_callback, root)))
    if call.write_callback and not call.threads:
        parts.append(protocol.field(protocol.WRITE_CALLBACK, wire.script(call.write_callback, root)))
    flags = (
        (protocol.LINGERS if call.lingers else 0) | (protocol.EMBEDS if call.embeds else 0) | (protocol.RUNS if call.runs else 0)
    )
    flags |= protocol.AFRESH if afresh else 0
    fixed = protocol.REQUEST.pack(protocol.OPS[call.op], flags, 0, 0, -1 if file_size is None else file_size, 0)
    return protocol.message(protocol.REQUEST_KIND, fixed + b"".join(parts))
