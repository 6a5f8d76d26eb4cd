"""Calls that are alike: whatever the rules say of one, they say of all others.

Most calls of a campaign go as they should, in a few ways, and asking every rule about each of them takes longer than the calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from epctx.case import OK, Call, Callback, Case, Expect, raw
from epctx.observation import CallbackSeen, Seen, content_digest
from epctx.oracle.ownership import LARGE
from epctx.oracle.profile import Profile
from epctx.remember import remembered

Likeness: TypeAlias = tuple[object, ...]

MOST = 1 << 16
"""So many likenesses are remembered of a profile."""

_OTHERS = ("size.cap", "contain.mount")
"""Rules that look at the entries of the world when they decide a call."""


@remembered(16)
def held(_profile: Profile) -> set[Likeness]:
    """The likenesses of calls for which all rules are known to hold under a profile."""
    return set()


def keep(profile: Profile, like: Likeness) -> None:
    """Know that all rules hold for such calls."""
    known = held(profile)
    if len(known) < MOST:
        known.add(like)


def likeness(
    case: Case, index: int, expect: Expect, seen: Seen, profile: Profile, root: bytes, earlier: Sequence[Seen] = ()
) -> Likeness | None:
    """All that any rule of the contract looks at in a call, made of values that many have in common: what it is, what is expected
    of it, what was seen, and whether names, texts and bytes are the ones that they should be. None where that is not all.

    It is for single calls by name that changed nothing, touched nothing outside, and said nothing odd.
    """
    call = case.calls[index]
    if profile.scope != "contract" or any(one.changes for one in earlier):
        return None
    if seen.ended != "returned" or seen.leaks or seen.changes or seen.plaintext or seen.reports or seen.moves or seen.unmeasured:
        return None
    if call.op not in ("read", "write") or call.race or call.resize or call.threads or call.support or call.embeds or call.runs:
        return None
    if expect.instead or expect.rule in _OTHERS or case.model.external or (seen.code and not _plain(seen.message)):
        return None
    if call.op == "write" and seen.code == OK and expect.file is not None:  # it should have changed something
        return None
    for touched in seen.touched:
        if touched.what != "open" or touched.place != "inside":
            return None
    output, content, memory = seen.output, expect.content, seen.memory
    if output and output.size >= LARGE:
        return None
    exact = output and content and output.size == content.size and output.digest == content_digest(content)
    if seen.reads and not exact:  # whose bytes these are matters
        return None
    callbacks: Likeness = ()
    if call.read_callback or call.write_callback:
        if len(seen.callbacks) > 1 or _comes_back(call.read_callback) or _comes_back(call.write_callback):
            return None
        callbacks = (*map(_script, (call.read_callback, call.write_callback)), *_invocations(call, seen, root))
    elif seen.callbacks:
        return None
    return (
        call.op,
        call.source,
        call.allocator,
        call.moves,
        call.accessors,
        expect.outcome,
        expect.rule,
        expect.status is None or seen.code == expect.status,
        expect.status is None,
        not content or not content.size,
        seen.code == OK,
        output and (not output.size, output.null, output.adopted),
        exact,
        not seen.touched,
        (memory.live, memory.bad_frees, memory.bad_releases, memory.caller_released),
        (memory.allocated == memory.freed, memory.statuses == memory.statuses_released, not memory.caller_allocated),
        callbacks,
    )


def _plain(text: str) -> bool:
    """Whether there is a text, without characters that nobody sees."""
    return bool(text) and text.isprintable()


def _comes_back(callback: Callback | None) -> bool:
    return callback is not None and callback.reenters is not None


def _script(callback: Callback | None) -> Likeness | None:
    if callback is None:
        return None
    content = callback.content
    return content and not content.size, callback.code == OK, callback.size is not None and not callback.size, not callback.text


def _invocations(call: Call, seen: Seen, root: bytes) -> Likeness:
    """What invoked a call's callbacks, and whether names, payloads and the text of an error are those that were given."""
    name = raw(call.name or "", root).partition(b"\0")[0].hex()
    script = call.write_callback if call.op == "write" else call.read_callback
    said = raw(script.text).partition(b"\0")[0].decode("utf-8", "backslashreplace") if script else ""
    answered = script is not None and (seen.code, seen.message) == (script.code, said)
    return (answered, *[_invocation(call, one, name) for one in seen.callbacks])


def _invocation(call: Call, one: CallbackSeen, name: str) -> Likeness:
    payload = call.payload
    whole = payload is not None and one.size == payload.size and one.digest == content_digest(payload)
    flags = one.state_ok, one.allocator_ok, one.null, one.late, one.met, one.reentered, one.registration
    return one.direction, one.name == name, not one.size, whole, flags
