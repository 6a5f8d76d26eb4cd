"""Rules on callbacks: whose answer counts, what a callback is given, how often it is called, and what then stays untouched."""

from __future__ import annotations

from collections import Counter

from epctx.case import Call, Callback, raw, shown
from epctx.observation import CallbackSeen
from epctx.oracle.rule import HELD, Broken, Look, Ruling, rule
from epctx.spec.nodes import names_of

READ, WRITE = "OrtReadNamedBufferFunc", "OrtWriteNamedBufferFunc"
IO = "Named-Buffer I/O Callbacks"
RETRIEVE = "Retrieve callbacks"
OWNER = "EpContextData — zero-copy owning buffer"


def script(call: Call) -> Callback | None:
    """The callback that answers a call; None where the file does, or where several threads call and have rules of their own."""
    if call.threads is not None:
        return None
    return call.write_callback if call.op == "write" else call.read_callback


def invocations(look: Look) -> list[CallbackSeen]:
    """The invocations of a call's callback, late ones apart, and those that it made itself by coming back to the target."""
    callback = script(look.call)
    again = raw(callback.reenters, look.root).hex() if callback and callback.reenters is not None else None
    direction = "write" if look.call.op == "write" else "read"
    return [c for c in look.seen.callbacks if c.direction == direction and c.name != again and not c.late]


def _answers(look: Look) -> bool:
    """Whether the outcome of a call is what its callback says."""
    return look.expect.rule in ("cb.error-is-final", "cb.alloc-then-fail", "cb.error-with-size")


def _touched(look: Look, expected: str) -> Ruling:
    for touched in look.seen.touched:
        if touched.what in ("open", "create", "modify"):
            return Broken(expected, f"{look.happened}; {touched.what} of {touched.names[0]}", touched.names[0])
    return HELD


def _freed_once(look: Look, expected: str) -> Ruling:
    memory = look.seen.memory
    if memory.live or memory.bad_frees:
        return Broken(expected, f"{look.happened}; {memory.bad_frees} wrong frees, {memory.live} bytes never freed")
    if memory.allocated != memory.freed:  # of buffers without bytes, too
        return Broken(expected, f"{look.happened}; {memory.allocated} buffers allocated, {memory.freed} freed")
    return HELD


@rule(
    "cb.no-file-access",
    "spec",
    "critical",
    "Reference Helper: ep_context_data_utils",
    calls=lambda call: script(call) is not None and call.accessors,
    applies=lambda look: look.returned,
)
def no_file_access(look: Look) -> Ruling:
    """With a callback the payload's file is neither opened nor created, even if it exists.

    The callbacks exist so that no plaintext touches the disk; a file that is read anyway is one that the application never chose.
    """
    return _touched(look, "no file is opened or created")


@rule("cb.error-is-final", "spec", "critical", IO, applies=_answers)
def error_is_final(look: Look) -> Ruling:
    """A failing callback's own code and text come back: no fallback to the disk, no second try, no sidecar file.

    Only the application knows why it fails: a key that is refused must not end in a plaintext file, and its words are for the
    application's own log.
    """
    callback = script(look.call)
    assert callback is not None
    text = raw(callback.text).partition(b"\0")[0].decode("utf-8", "backslashreplace")
    if look.returned and (look.seen.code, look.seen.message) != (callback.code, text):
        return Broken(f"code {callback.code} with the callback's text: {shown(text.encode(), 160)}", look.happened)
    if (broken := _touched(look, "no file is touched")) is not HELD:
        return broken
    times = len(invocations(look))
    if look.returned and times != 1:
        return Broken("the callback is called once", f"{look.happened}; it was called {times} times")
    return HELD


@rule("cb.absent-is-file", "spec", "critical", RETRIEVE)
def absent_is_file(look: Look) -> Ruling:
    """Without a config, or with one that has no callback, files are used as before.

    Most applications register nothing, and an EP that takes up the callbacks must not change anything for them.
    """
    return look.decided()


@rule("cb.directions-independent", "spec", "high", RETRIEVE)
def directions_independent(look: Look) -> Ruling:
    """With a read callback only, writes still go to files; with a write callback only, reads still come from them.

    An application that encrypts what it compiles does so in one process and loads in another: neither registers both.
    """
    broken = look.decided()
    if broken is HELD and look.seen.callbacks:
        return Broken("the callback of the other direction is not called", f"{look.happened}; it was called")
    return broken


@rule("cb.accessor-missing", "spec", "critical", RETRIEVE)
def accessor_missing(look: Look) -> Ruling:
    """A config whose accessor is not available gives an error, and never a file.

    The application has registered callbacks so that no plaintext is on the disk; a runtime that cannot give them changes nothing
    about that.
    """
    for touched in look.seen.touched:
        return Broken(
            "an error, and no file is touched", f"{look.happened}; {touched.what} of {touched.names[0]}", touched.names[0]
        )
    return look.decided()


@rule(
    "cb.embed-bypasses",
    "spec",
    "critical",
    "EPContext storage",
    calls=lambda call: call.op == "load" or call.embeds,
    applies=lambda look: look.accepted and look.expect.outcome == "accept",
)
def embed_bypasses(look: Look) -> Ruling:
    """With embed_mode = 1 neither a callback nor a file is used; with embed_mode = 0 each distinct name is read once.

    What is embedded is a payload and never a name, whatever it looks like. And a payload of hundreds of megabytes that is
    decrypted once for each node that shares it makes loading slow.
    """
    if look.call.embeds:
        if look.seen.callbacks or look.strays:
            return Broken("the compiled data goes into the model alone", f"{look.happened}; it was written, too")
        return HELD
    nodes = names_of(look.case.model.nodes)
    wanted = {raw(named.name, look.root).hex() for named in nodes if not isinstance(named, str)}
    if not wanted and (look.seen.names or look.seen.touched):
        return Broken("no name is read", f"{look.happened}; it asked for a file")
    times = Counter(c.name for c in invocations(look))
    if look.call.read_callback is not None and times != Counter(wanted):
        got = ", ".join(f"{shown(bytes.fromhex(name))} {count} times" for name, count in times.items()) or "none"
        return Broken(f"the callback is called once for each of {len(wanted)} names", f"{look.happened}; it was called for {got}")
    return HELD


@rule("cb.null-buffer", "spec", "high", READ)
def null_buffer(look: Look) -> Ruling:
    """A read callback that answers OK with a NULL buffer and a size above 0 is an error.

    Whoever believes the size reads from address 0.
    """
    return look.decided()


@rule("cb.empty-payload", "spec", "medium", READ)
def empty_payload(look: Look) -> Ruling:
    """OK with NULL and size 0 is an empty success; so is a buffer with size 0, which is freed once.

    A payload of no bytes is legal, and a buffer that is not counted as data is memory all the same.
    """
    broken = look.decided()
    if broken is HELD and look.seen.output is not None and look.seen.output.size:
        return Broken("an empty output", look.happened)
    return broken or _freed_once(look, "an empty output, and the buffer is freed once")


@rule("cb.alloc-then-fail", "spec", "high", OWNER)
def alloc_then_fail(look: Look) -> Ruling:
    """A buffer that a failing callback leaves behind is freed once, by the allocator that made it.

    A callback that decrypts allocates first and finds out about a wrong tag at the end: each wrong file would leak its size.
    """
    return look.decided() or _freed_once(look, "its status, and the buffer is freed once")


@rule("cb.error-with-size", "spec", "medium", READ)
def error_with_size(look: Look) -> Ruling:
    """An error that leaves the size set still gives an empty output.

    Callbacks set the size before they know whether they have the data.
    """
    output = look.seen.output
    if output is not None and output.size:
        return Broken("an empty output", f"{look.happened}, and the output claims {output.size} bytes")
    return look.decided()


@rule("cb.write-null-buffer", "spec", "medium", WRITE)
def write_null_buffer(look: Look) -> Ruling:
    """Writing NULL with a size above 0 is refused before the callback; NULL with size 0 is delivered.

    The callback is the application's: it must not meet a pointer that the EP got wrong.
    """
    if broken := look.decided():
        return broken
    called = [f"{c.size} bytes" for c in invocations(look)]
    if look.expect.outcome == "refuse" and called:
        return Broken("the callback is not called", f"{look.happened}; it was called with {', '.join(called)}")
    if look.accepted and script(look.call) is not None and called != ["0 bytes"]:
        return Broken("one call with 0 bytes", f"{look.happened}; calls with {', '.join(called) or 'nothing'}")
    return HELD


@rule("cb.state-identity", "spec", "high", IO, applies=lambda look: bool(look.seen.callbacks))
def state_identity(look: Look) -> Ruling:
    """The callback gets exactly the state pointer that was registered with it.

    To the application the state is its key store; another pointer is a crash, or another tenant's keys.
    """
    for callback in look.seen.callbacks:
        if not callback.state_ok and not callback.late:  # a late one may be of another call, with a state of that
            return Broken(
                "the state that was registered", f"{shown(bytes.fromhex(callback.name))} was asked for with another pointer"
            )
    return HELD


@rule("cb.synchronous", "spec", "medium", IO, applies=lambda look: bool(look.seen.callbacks))
def synchronous(look: Look) -> Ruling:
    """Callbacks run inside the call, and none after it has returned.

    The application may release its state once the session is gone; a callback that comes later meets freed memory.
    """
    for callback in look.seen.callbacks:
        if callback.late:
            late = 1e3 * (callback.started - look.seen.seconds)
            return Broken(
                "no callback after the call",
                f"{look.happened}; {shown(bytes.fromhex(callback.name))} was asked for {late:.1f} ms after it",
            )
    return HELD
