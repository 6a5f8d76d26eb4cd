"""The rule that no plaintext gets to the disk where the application gave callbacks."""

from __future__ import annotations

from epctx.oracle.rule import HELD, Broken, Look, Ruling, rule


@rule("plain.no-plaintext", "spec", "critical", "Requirements", calls=lambda call: bool(call.secrets))
def no_plaintext(look: Look) -> Ruling:
    """With callbacks no file under the working, model, output and temporary directories holds the payload, at any time.

    The callbacks exist so that a model is plaintext in memory only. A temporary file that is removed at once still shows it to
    other processes, to backups and to whoever holds the disk, and a crash at the wrong moment leaves it there for good.
    """
    seen = look.seen.plaintext
    if not seen:
        return HELD
    more = f" and {len(seen) - 1} more" if len(seen) > 1 else ""
    return Broken("no file holds the payload at any time", f"{look.happened}; the payload was in {seen[0]}{more}", seen[0])
