"""Rules on file types, sizes and contents."""

from __future__ import annotations

from epctx.case import File, content_of, stream
from epctx.observation import content_digest, digest
from epctx.oracle.rule import HELD, Broken, Look, Ruling, path_text, rule


@rule("type.read-regular", "spec", "high", "Untrusted name handling")
def read_regular(look: Look) -> Ruling:
    """A FIFO, socket or device as read target is refused at once.

    It passes containment, and a plain open blocks on it or never ends.
    """
    return look.decided()


@rule("type.read-directory", "spec", "medium", "Untrusted name handling")
def read_directory(look: Look) -> Ruling:
    """`.`, `sub/`, `sub/..` and every other directory as read target is refused.

    Streams open directories without an error on POSIX; what follows is an exception, a size of 2^63-1, or an empty success.
    """
    return look.decided()


@rule("type.read-missing", "spec", "medium", "Untrusted name handling")
def read_missing(look: Look) -> Ruling:
    """A missing or unreadable file gives an error.

    An empty success in its place makes an EP deserialise nothing.
    """
    return look.decided()


@rule("type.write-regular", "spec", "high", "Untrusted name handling")
def write_regular(look: Look) -> Ruling:
    """An existing FIFO, socket, device or directory as write target is refused and left as it was.

    Writing to a FIFO blocks, and writing to a device does whatever that device does.
    """
    return look.decided()


@rule("type.write-symlink-leaf", "spec", "critical", "Untrusted name handling")
def write_symlink_leaf(look: Look) -> Ruling:
    """On write a dangling link, and for trusted callers any link, at the end is refused; its target is never created or changed.

    A dangling link survives canonicalisation and looks like a new file, yet the open creates the file wherever it points.
    A link from a model that resolves inside is contain.accept-inner-link.
    """
    return look.decided()


@rule("type.write-parent-missing", "spec", "low", "Untrusted name handling")
def write_parent_missing(look: Look) -> Ruling:
    """A missing or unwritable parent gives an error, and no directory is made.

    Directories made on the word of a model are changes that nobody asked for.
    """
    return look.decided()


@rule("size.empty-file", "spec", "medium", "Untrusted name handling")
def empty_file(look: Look) -> Ruling:
    """An empty file is an empty success.

    A payload of no bytes is legal; it is not a missing one.
    """
    return look.decided()


@rule("type.write-replaces", "spec", "medium", "Untrusted name handling")
def write_replaces(look: Look) -> Ruling:
    """An existing regular file is replaced exactly, with no tail of the old bytes.

    A shorter payload over a longer one must not leave the end of the old kernel behind the new one.
    """
    broken = look.decided()
    if broken is None and not look.exact:
        return Broken(f"{look.allowed} holds the payload and nothing else", "it holds other bytes", look.allowed)
    return broken


@rule(
    "size.exact",
    "spec",
    "high",
    "Read with file fallback",
    calls=lambda call: call.race is None and call.resize is None,
    applies=lambda look: look.accepted and look.expect.content is not None,
)
def exact(look: Look) -> Ruling:
    """Bytes and size are exact, NUL bytes and every size around the edges of buffers included.

    A kernel that lost its last byte may still load.
    """
    if "type.write-replaces" in look.profile.departures and _added_to(look):
        return HELD  # it does not mean to replace what was there
    if look.exact or look.expect.outcome == "refuse" or (look.seen.reads and look.allowed not in look.seen.reads):
        return HELD  # another file's content is for the rule that decides
    content = look.expect.content
    size = content.size if content else 0
    got = (
        look.seen.output.size
        if look.seen.output
        else next((c.after.size for c in look.seen.changes if c.path == look.allowed), 0)
    )
    return Broken(f"the {size} bytes of {look.allowed}", f"{got} bytes" + (", other ones" if got == size else ""), look.allowed)


def _added_to(look: Look) -> bool:
    """Whether a file was there before it was written, in this call or in one before it."""
    return look.left(look.allowed) is not None or any(change.before.kind == "file" for change in look.seen.changes)


@rule("size.short-write-reported", "spec", "high", "Untrusted name handling")
def short_write_reported(look: Look) -> Ruling:
    """A write reports OK only if every byte is in the file: file size limit, full file system, small payloads too.

    A stream keeps small payloads in its buffer; the error comes with the flush, which a destructor swallows.
    """
    if not look.returned:
        return Broken(look.expectation, look.happened, look.allowed)
    if look.accepted:
        size = next((c.after.size for c in look.seen.changes if c.after.kind == "file"), 0)
        return Broken(look.expectation, f"{look.happened}, with {size} bytes in the file", look.allowed)
    return HELD


@rule("size.file-changes", "hardened", "high", "Untrusted name handling", calls=lambda call: call.resize is not None)
def file_changes(look: Look) -> Ruling:
    """A file that shrinks or grows while it is read gives an error or a consistent snapshot, never uninitialised bytes.

    Bytes of the heap behind the end of a short read are a leak, and an EP will execute them.
    """
    resize, output = look.call.resize, look.seen.output
    if not look.returned:
        return Broken("an error or a consistent snapshot", look.happened, look.allowed)
    if not look.accepted or resize is None or output is None:
        return HELD
    left, declared = look.left(path_text(resize.path)), (e for e in look.case.world.entries if isinstance(e, File))
    before = next(content_of(e) for e in declared if e.path == resize.path)
    if left is not None and not look.held(path_text(resize.path), before):
        if look.expect.content is None or left.digest != content_digest(look.expect.content):
            return HELD  # of what an earlier call left there only the digest is known
        before = look.expect.content
    after = digest(stream(before.key, before.size)[: resize.size].ljust(resize.size, b"\0"))
    if output.digest in (content_digest(before), after):
        return HELD
    if look.expect.content is not None and output.digest == content_digest(look.expect.content):
        return HELD  # it is another file that is read
    return Broken(f"an error, or the {before.size} bytes of before, or the {resize.size} of after", look.happened, look.allowed)


@rule("size.cap", "hardened", "high", "Reference Helper: ep_context_data_utils")
def cap(look: Look) -> Ruling:
    """A huge (sparse) file is refused before its size is allocated.

    A terabyte of nothing costs an attacker one inode, and a loader without a cap the process.
    """
    size = max((content_of(e).size for e in look.case.world.entries if isinstance(e, File)), default=0)
    if look.seen.memory.largest >= size > 0:
        return Broken(
            "refused before anything of that size is allocated", f"it asked for {look.seen.memory.largest} bytes", look.allowed
        )
    return look.decided()


@rule(
    "write.atomic",
    "hardened",
    "medium",
    "Untrusted name handling",
    calls=lambda call: call.op == "write" and call.race is None,
    applies=lambda look: look.refused,
)
def atomic(look: Look) -> Ruling:
    """A failed write leaves the old file whole, and nothing beside it; readers never see a torn file.

    Truncating in place destroys a good context before it is known whether the new one fits.
    """
    for change in look.seen.changes:
        if change.place == "inside":
            what = "left" if change.before.kind == "absent" else "changed"
            return Broken("a failed write changes nothing", f"{look.happened}, and it {what} {change.path}", change.path)
    return HELD
