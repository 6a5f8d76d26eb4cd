"""Rules on threads: what must hold when several of them call a loader at once, or when a callback calls it again."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from epctx.case import Content
from epctx.observation import content_digest
from epctx.oracle.rule import HELD, Broken, Look, Ruling, path_text, report_words, rule
from epctx.spec import predict

CALLBACKS = "Named-Buffer I/O Callbacks"


@rule("thread.no-cross-talk", "spec", "high", CALLBACKS, calls=lambda call: call.threads is not None)
def no_cross_talk(look: Look) -> Ruling:
    """N threads over M names: every reader gets its own bytes, every callback its own state and name.

    Calls are not serialised. A buffer that two of them share hands one model's weights, or one tenant's key, to the other.
    """
    seen = look.seen.threads
    if seen is None or look.expect.outcome != "accept":
        return HELD
    if seen.wrong or seen.failed or seen.crossed:
        counts = {"with wrong bytes": seen.wrong, "with a wrong status": seen.failed, "callbacks crossed": seen.crossed}
        told = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
        return Broken(f"each of {seen.calls} calls as if it were alone", f"{told}; {seen.evidence}")
    for path, content in () if seen.alone else _written(look):
        after = [change.after for change in look.seen.changes if change.path == path]
        if (after and after[-1].digest != content_digest(content)) or (not after and not look.held(path, content)):
            return Broken("each file holds what was written to it", f"{path} holds something else", path)
    return HELD


def _written(look: Look) -> Iterator[tuple[str, Content]]:
    """World path and content of each file that the threads write; there may be more shares than calls."""
    threads = look.call.threads
    for share in threads.shares[: threads.count * threads.rounds] if threads else ():
        if share.op == "write" and look.call.write_callback is None and share.content is not None:
            alone = msgspec.structs.replace(look.case, calls=(look.call.of(share),), expect=())
            (found,) = predict(alone, look.profile.platform)
            if found.file is not None:
                yield path_text(found.file), share.content


@rule(
    "thread.no-data-race",
    "spec",
    "high",
    CALLBACKS,
    applies=lambda look: look.call.threads is not None or bool(look.seen.reports),
)
def no_data_race(look: Look) -> Ruling:
    """No report from a thread sanitizer.

    A race that does no harm today is undefined behaviour, and harm under the next compiler. Only `--sanitize thread` sees it.
    """
    found = [report for report in look.seen.reports if report.sanitizer == "thread"]
    return Broken("no report of the thread sanitizer", report_words(found)) if found else HELD


@rule("thread.not-serialised", "hardened", "low", CALLBACKS)
def not_serialised(look: Look) -> Ruling:
    """Two callbacks can be in flight at once: a barrier inside the callback is passed.

    A loader that holds a lock while the application decrypts makes one session wait for the other's key server.
    """
    seen = look.seen.threads
    wanted = max(c.waits for c in (look.call.read_callback, look.call.write_callback) if c is not None)
    if seen is not None and seen.most_in_flight < wanted:
        return Broken(f"{wanted} callbacks at work at once", f"{seen.most_in_flight} at most, though each waited for the others")
    return look.decided()


@rule("thread.reentrant", "hardened", "medium", CALLBACKS)
def reentrant(look: Look) -> Ruling:
    """A callback that opens another session or reads another name does not deadlock.

    An application that fetches a key for one model from another one calls into the same loader, from within its callback.
    """
    return look.decided()
