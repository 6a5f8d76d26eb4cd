"""Rules on how a payload is handed to a write callback: in one piece, or in pieces where the target declares that it does so."""

from __future__ import annotations

from epctx.case import OK, Call, Content, raw, shown, stream
from epctx.observation import CallbackSeen, content_digest, digest
from epctx.oracle.callbacks import WRITE, invocations, script
from epctx.oracle.rule import HELD, Broken, Look, Noted, Ruling, rule

NOTHING = Content("", 0)


def _delivers(call: Call) -> bool:
    """Whether a call hands its payload to a write callback that takes it."""
    callback = script(call)
    return callback is not None and callback.code == OK and call.op == "write"


def _delivered(look: Look) -> bool:
    """Whether it did so."""
    return look.accepted and look.expect.outcome == "accept"


def _sizes(pieces: list[CallbackSeen]) -> str:
    return ", ".join(str(c.size) for c in pieces) or "nothing"


@rule(
    "chunk.single-write",
    "spec",
    "high",
    WRITE,
    calls=_delivers,
    applies=lambda look: _delivered(look) and not look.profile.chunking,
)
def single_write(look: Look) -> Ruling:
    """One invocation of the write callback for each name carries the whole payload, unless the target declares chunking.

    The signature has no offset and no mark of the last piece; an application that stores each call under its name keeps the last.
    """
    payload = look.call.payload or NOTHING
    pieces = invocations(look)
    if [c.size for c in pieces] != [payload.size]:
        return Broken(f"one call with {payload.size} bytes", f"calls with {_sizes(pieces)} bytes")
    if pieces[0].digest != content_digest(payload):
        return Broken("the bytes of the payload", "other bytes")
    return HELD


@rule("chunk.declared", "spec", "high", WRITE, calls=_delivers, applies=lambda look: _delivered(look) and look.profile.chunking)
def declared(look: Look) -> Ruling:
    """Where a target declares chunking, the pieces of a name in call order are its payload, and nothing follows the last one.

    An application that appends what it is given has no other way to put a payload together. A last piece may be empty.
    """
    payload = look.call.payload or NOTHING
    whole, wanted = stream(payload.key, payload.size), raw(look.call.name or "", look.root).partition(b"\0")[0].hex()
    callback = script(look.call)
    again = raw(callback.reenters, look.root).hex() if callback and callback.reenters is not None else None
    names = [wanted] if again is None else [wanted, again]
    mine = [c for c in look.seen.callbacks if c.direction == "write" and not c.late]
    for strange in [c for c in mine if c.name not in names]:
        return Broken(
            f"pieces of {shown(look.call.name)} alone",
            f"a piece of {strange.size} bytes for {shown(bytes.fromhex(strange.name))}",
        )
    for name in names:
        pieces = [c for c in mine if c.name == name]
        if name == again:  # each piece of the payload was written under this name by a write of its own, with an end of its own
            pieces = [c for c in pieces if c.size]
        if broken := _put_together(pieces, whole):
            return broken
    return HELD


def _put_together(pieces: list[CallbackSeen], whole: bytes) -> Ruling:
    """Hold pieces against the payload that they must add up to."""
    offset = 0
    for number, piece in enumerate(pieces, 1):
        part = whole[offset : offset + piece.size]
        if number > 1 and offset == len(whole) and (piece.size or number < len(pieces)):
            return Broken("nothing follows the last piece", f"pieces of {_sizes(pieces)} bytes for {len(whole)} in all")
        if len(part) != piece.size or digest(part) != piece.digest:
            return Broken(
                f"piece {number} holds the bytes from {offset} on", f"it holds others; pieces of {_sizes(pieces)} bytes in all"
            )
        offset += piece.size
    if offset != len(whole) or not pieces:
        return Broken(f"pieces of {len(whole)} bytes together", f"pieces of {_sizes(pieces)} bytes")
    return HELD


@rule(
    "chunk.no-order-between-names",
    "spec",
    "low",
    WRITE,
    applies=lambda look: look.accepted and len(look.seen.callbacks) > 1 and len(_names(look)) > 1,
    informational=True,
)
def no_order_between_names(look: Look) -> Ruling:
    """Nobody needs an order between names: several of them may be written in any, one after the other or in turns.

    The graph is cut into parts by the runtime, and which part is compiled first is nobody's promise.
    """
    names = _names(look)
    return Noted("names in any order", "the order was " + ", ".join(shown(bytes.fromhex(name)) for name in names))


def _names(look: Look) -> list[str]:
    """The names that were written through a callback, in the order in which each came first."""
    return list(dict.fromkeys(c.name for c in look.seen.callbacks if c.direction == "write"))
