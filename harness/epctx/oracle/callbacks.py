"""Rules on callbacks, as far as plain reads and writes meet them: who is called how often, and what then stays untouched."""

from __future__ import annotations

from epctx.oracle.rule import Broken, Look, Ruling, rule


@rule("cb.no-file-access", "spec", "critical", "Reference Helper: ep_context_data_utils")
def no_file_access(look: Look) -> Ruling:
    """With a callback the payload's file is neither opened nor created, even if it exists.

    The callbacks exist so that no plaintext touches the disk; a file that is read anyway is one that the application never chose.
    """
    for touched in look.seen.touched:
        if touched.what in ("open", "create", "modify"):
            return Broken(
                "no file is opened or created", f"{look.happened}; {touched.what} of {touched.names[0]}", touched.names[0]
            )
    return look.decided()


@rule("cb.accessor-missing", "spec", "critical", "Retrieve callbacks")
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


@rule("cb.embed-bypasses", "spec", "critical", "EPContext storage")
def embed_bypasses(look: Look) -> Ruling:
    """With embed_mode = 1 neither a callback nor a file is used: the bytes are in the model.

    What is embedded is a payload and never a name, whatever it looks like.
    """
    if look.seen.callbacks:
        return Broken("no callback is called", f"{look.happened}, after {len(look.seen.callbacks)} callbacks")
    if look.seen.names or look.seen.touched:
        return Broken("no name is read", f"{look.happened}; it asked for a file")
    return look.decided()


@rule("chunk.single-write", "spec", "high", "OrtWriteNamedBufferFunc")
def single_write(look: Look) -> Ruling:
    """One invocation of the write callback for each name carries the whole payload.

    The signature has no offset and no mark of the last piece; an application that stores each call under its name keeps the last.
    """
    payload = look.call.payload
    size = payload.size if payload else 0
    calls = [c for c in look.seen.callbacks if c.direction == "write"]
    if look.accepted and (len(calls) != 1 or calls[0].size != size):
        return Broken(f"one call with {size} bytes", f"calls with {', '.join(str(c.size) for c in calls) or 'nothing'} bytes")
    return look.decided()
