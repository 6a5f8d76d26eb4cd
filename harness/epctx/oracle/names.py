"""Rules on names as such: what is refused, what is literal, what is opaque."""

from __future__ import annotations

import re

from epctx.case import raw, shown
from epctx.oracle.callbacks import script
from epctx.oracle.rule import HELD, Broken, Look, Noted, Ruling, rule

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@rule("name.empty", "spec", "high", "Untrusted name handling")
def empty(look: Look) -> Ruling:
    """A NULL or empty name is refused, in both directions, before any callback or file access.

    An empty name joined to the model directory is the directory itself; a NULL one is a crash.
    """
    return look.decided()


@rule("name.fallback-empty", "spec", "medium", "Read with file fallback")
def fallback_empty(look: Look) -> Ruling:
    """Without a write callback, a NULL or empty fallback name is refused.

    The overload with two names writes to the second one; where that is missing there is no file to write to.
    """
    return look.decided()


@rule("name.fallback-unused", "spec", "medium", "Read with file fallback")
def fallback_unused(look: Look) -> Ruling:
    """With a write callback the fallback name is neither used nor checked.

    The application that registered the callback has no file, and so often no name for one.
    """
    return look.decided()


@rule("name.logical-not-a-path", "spec", "medium", "Untrusted name handling")
def logical_not_a_path(look: Look) -> Ruling:
    """Without a callback and with a separate fallback name, the logical name is not validated as a path.

    Logical names are opaque keys of the application; path rules belong where a name is used as a path.
    """
    return look.decided()


@rule("name.no-expansion", "spec", "high", "Untrusted name handling")
def no_expansion(look: Look) -> Ruling:
    """`~`, `$HOME`, `%VAR%`, globs, percent-encoding and URLs are literal.

    Every expansion after the check is a second, unchecked name.
    """
    return look.decided()


@rule("name.too-long", "spec", "high", "Untrusted name handling")
def too_long(look: Look) -> Ruling:
    """A name over the file system's limits gives an error, not an abort.

    std::filesystem throws for such names where a caller forgets the error code, and the exception ends the process.
    """
    return look.decided()


@rule("name.invalid-utf8", "spec", "medium", "Untrusted name handling")
def invalid_utf8(look: Look) -> Ruling:
    """Invalid UTF-8 is refused on Windows, and bytes are literal on POSIX.

    A lossy conversion maps many names to one, so that the name that was checked is not the one that is opened.
    """
    return look.decided()


@rule("name.windows-device", "hardened", "high", "Untrusted name handling")
def windows_device(look: Look) -> Ruling:
    """On Windows, device names, alternate streams, and names with a trailing dot or space neither hang nor escape.

    `CON` reads the console, `f::$DATA` is `f`, and `f.` is `f`: the checked string is not the opened file.
    """
    return look.decided()


@rule(
    "name.opaque-to-callback",
    "spec",
    "critical",
    "Untrusted name handling",
    calls=lambda call: bool(call.name) and (call.read_callback if call.op == "read" else call.write_callback) is not None,
    applies=lambda look: look.expect.outcome == "accept",
)
def opaque_to_callback(look: Look) -> Ruling:
    """With a callback the name is passed byte for byte: slashes, `..`, absolute, spaces, UTF-8, long, control characters.

    The name is the application's key; a helper that normalises or checks it breaks stores that are no file systems at all.
    """
    wanted = raw(look.call.name or "", look.root).partition(b"\0")[0].hex()
    names = [c.name for c in look.seen.callbacks]
    if wanted in names:
        return HELD
    got = ", ".join(shown(bytes.fromhex(n)) for n in names) or "no name"
    return Broken(f"the callback is given {shown(look.call.name)}", f"it was given {got}; {look.happened}")


@rule("name.embedded-nul", "spec", "critical", "Untrusted name handling")
def embedded_nul(look: Look) -> Ruling:
    """A name holding NUL is never cut at the NUL and then opened as the shorter name outside.

    `ep_cache_context` is a protobuf string and can hold any byte. A loader that refuses such a name is right; one that opens
    the cut name inside the model directory is reported, where it was given the whole name.
    """
    broken = look.decided()
    if broken is None and look.accepted and look.call.op == "load":
        return Noted("the name is refused", f"{look.happened}: the name was cut at its NUL", look.allowed)
    return broken


@rule(
    "name.log-safe",
    "hardened",
    "low",
    "Untrusted name handling",
    applies=lambda look: look.refused and bool(_CONTROL.search(raw(look.call.name or "").decode("latin-1"))),
)
def log_safe(look: Look) -> Ruling:
    """Control characters of a name do not reach an error text raw.

    A log line that an attacker can end, colour or overwrite hides the attack that it reports.
    """
    callback = script(look.call)
    said = raw(callback.text).decode("utf-8", "backslashreplace") if callback else ""  # the application's own text is passed on
    if _CONTROL.search(look.seen.message.replace(said, "")):
        return Broken("control characters of the name are escaped in the text", f"the text is {shown(look.seen.message)}")
    return HELD
