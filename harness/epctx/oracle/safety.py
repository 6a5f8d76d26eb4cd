"""The safety invariants: what must hold for every call, whatever its name, its world and its outcome."""

from __future__ import annotations

from epctx.case import Call, HardLink, Mount
from epctx.oracle.rule import HELD, Broken, Look, Ruling, path_text, report_words, rule

HANDLING = "Untrusted name handling"


def _untrusted(call: Call) -> bool:
    """Whether a name comes from a model. Where a race leads out, contain.race says it, and the document's own checks do not."""
    return call.source == "model" and call.race is None


def _unmounted(look: Look) -> bool:
    """Whether no mount leads out, which contain.mount would say."""
    return look.expect.rule != "contain.mount" or not any(
        isinstance(e, Mount) and e.of is not None for e in look.case.world.entries
    )


def _once_linked(look: Look) -> set[str]:
    """Files whose bytes the allowed one has as well: it was made as a hard link, and an earlier call may have replaced the other
    name, which is another file since."""
    links = [e for e in look.case.world.entries if isinstance(e, HardLink)] if look.earlier else []
    return {path_text(link.to) for link in links if path_text(link.path) == look.allowed}


@rule("safe.no-outside-read", "spec", "critical", HANDLING, calls=_untrusted, applies=_unmounted)
def no_outside_read(look: Look) -> Ruling:
    """No byte of a file outside the model directory reaches the output or an error text, and no such file is opened.

    Whoever can choose `ep_cache_context` could otherwise read any file of the process: keys, other users' models, tokens. A
    file that is opened and only then refused counts too: opening alone can block, trigger a device, or reveal that it exists.
    """
    for path in look.seen.leaks:
        if path not in look.allowed_names and path not in _once_linked(look):
            return Broken("no byte from outside the model directory", f"{look.happened}; it holds bytes of {path}", path)
    # what the call itself created holds nothing that it did not have before
    made = {name for touched in look.seen.touched if touched.what == "create" for name in touched.names}
    for touched in look.seen.touched:
        if touched.what == "open" and touched.place != "inside" and not (look.allowed_names | made).intersection(touched.names):
            return Broken(
                "no file outside the model directory is opened", f"{look.happened}; opened {touched.names[0]}", touched.names[0]
            )
    return HELD


@rule("safe.no-outside-write", "spec", "critical", HANDLING, calls=_untrusted, applies=_unmounted)
def no_outside_write(look: Look) -> Ruling:
    """Nothing outside the model directory is created, changed, truncated, removed or renamed.

    A write that escapes turns a model into code execution: a plugin, a shell profile or a library in the right place is enough.
    """
    for change in look.seen.changes:
        if change.place != "inside" and change.path not in look.allowed_names:
            kind = "created" if change.before.kind == "absent" else "removed" if change.after.kind == "absent" else "changed"
            return Broken("nothing outside the model directory changes", f"{look.happened}; {kind} {change.path}", change.path)
    for touched in look.seen.touched:
        if touched.what != "open" and touched.place != "inside" and not look.allowed_names.intersection(touched.names):
            return Broken(
                "nothing outside the model directory changes",
                f"{look.happened}; {touched.what} of {touched.names[0]}",
                touched.names[0],
            )
    return HELD


# what hangs in a race or a callback is judged by the rules on those
@rule(
    "safe.no-hang",
    "spec",
    "high",
    HANDLING,
    calls=lambda call: call.race is None,
    applies=lambda look: look.expect.rule not in ("thread.not-serialised", "thread.reentrant"),
)
def no_hang(look: Look) -> Ruling:
    """The call returns within its time limit.

    A FIFO in the model directory, or a link to a device, stops a loader that opens before it looks: a cheap denial of service.
    """
    if look.seen.ended == "hang":
        return Broken(f"the call returns within {look.case.limits.seconds:g} s", look.happened, look.allowed)
    return HELD


@rule("safe.no-crash", "spec", "high", "Backward Compatibility", calls=lambda call: True)
def no_crash(look: Look) -> Ruling:
    """No signal, abort, sanitizer report, or C++ exception across the C boundary.

    An exception that crosses a C boundary is undefined behaviour, and usually ends the application that loaded the model.
    """
    found = [report for report in look.seen.reports if report.sanitizer != "thread"]
    if look.seen.ended in ("crash", "exception"):
        happened = look.happened + (f"; {report_words(found)}" if found else "")
        return Broken("the call returns a status", happened, look.allowed)
    if found:
        return Broken(f"no report of the {found[0].sanitizer} sanitizer", report_words(found), look.allowed)
    return HELD


def _own_words(call: Call) -> bool:
    """Whether an error needs a text: a callback's is passed on as it is, also where it has none."""
    scripts = (call.read_callback, call.write_callback)
    return not any(s and s.code and not s.text for s in scripts)


@rule(
    "safe.error-has-text",
    "spec",
    "low",
    "Named-Buffer I/O Callbacks",
    calls=_own_words,
    applies=lambda look: look.refused,
)
def error_has_text(look: Look) -> Ruling:
    """An error carries a code other than OK and a non-empty message.

    Without a text nobody who meets the refusal can tell a hostile model from a missing file.
    """
    return HELD if look.seen.message else Broken("an error with a text", f"code {look.seen.code} with an empty text")


@rule(
    "out.empty-on-error",
    "spec",
    "medium",
    "EpContextData — zero-copy owning buffer",
    applies=lambda look: look.refused and look.seen.output is not None,
)
def empty_on_error(look: Look) -> Ruling:
    """After any error the output is empty, also when it held data before the call.

    Bytes left from an earlier read would be taken for the content of the name that was just refused.
    """
    output = look.seen.output
    if output is not None and (output.size or not output.null):
        return Broken("an empty output", f"{look.happened}, and the output still holds {output.size} bytes")
    return HELD


@rule("own.no-leak", "spec", "medium", "EpContextData — zero-copy owning buffer", applies=lambda look: look.returned)
def no_leak(look: Look) -> Ruling:
    """Every allocation and every status is released exactly once, by the allocator that made it.

    A session that is opened again and again with a hostile model must not eat the memory of its process.
    """
    memory = look.seen.memory
    if memory.live:
        return Broken("nothing allocated remains", f"{look.happened}, and {memory.live} bytes were never freed")
    if memory.bad_frees:
        return Broken(
            "each allocation is freed once by its own allocator", f"{look.happened}, with {memory.bad_frees} wrong frees"
        )
    if memory.statuses != memory.statuses_released or memory.bad_releases:
        return Broken(
            "each status is released once",
            f"{memory.statuses} statuses made, {memory.statuses_released} released, {memory.bad_releases} released wrongly",
        )
    return HELD
