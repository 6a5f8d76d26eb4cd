"""Rules on containment: a name that comes from a model stays in the model's directory."""

from __future__ import annotations

from epctx.oracle.rule import HELD, Broken, Look, Noted, Ruling, rule


@rule("contain.absolute", "spec", "critical", "Untrusted name handling")
def absolute(look: Look) -> Ruling:
    """An absolute or rooted name is refused; on Windows also drive-relative, root-relative, UNC and device names.

    Joining an absolute path to a base gives the absolute path: the base is simply gone.
    """
    return look.decided()


@rule("contain.parent", "spec", "critical", "Untrusted name handling")
def parent(look: Look) -> Ruling:
    """A name whose resolved path leaves the model directory is refused.

    `..` is the oldest way out, and it hides well behind directories that exist, that do not, and that are links.
    """
    return look.decided()


@rule("contain.sibling-prefix", "spec", "critical", "Untrusted name handling")
def sibling_prefix(look: Look) -> Ruling:
    """`../model_evil/x` beside the base `model` is refused: components are compared, not characters.

    A comparison of strings takes every directory whose name begins like the model's for the model's own.
    """
    return look.decided()


@rule("contain.symlink-file", "spec", "critical", "Untrusted name handling")
def symlink_file(look: Look) -> Ruling:
    """A symbolic link inside that resolves outside is refused, on read and on write.

    Archives and model hubs can carry links; a check of the name alone never sees where they lead.
    """
    return look.decided()


@rule("contain.symlink-dir", "spec", "critical", "Untrusted name handling")
def symlink_dir(look: Look) -> Ruling:
    """The same through a directory link, a chain of links, or a link followed by `..`.

    After a link, `..` means the parent of its target: a lexical walk and the kernel then disagree about where a name leads.
    """
    return look.decided()


@rule("contain.symlink-loop", "spec", "medium", "Untrusted name handling")
def symlink_loop(look: Look) -> Ruling:
    """Link loops are refused.

    A resolver of one's own that follows links without counting never ends.
    """
    return look.decided()


@rule("contain.no-model-path", "spec", "critical", "Untrusted name handling")
def no_model_path(look: Look) -> Ruling:
    """A model loaded from bytes has no directory: the file fallback is refused, and never uses the working directory.

    The working directory belongs to the application and holds files that no model was meant to name. A callback still works.
    """
    return look.decided()


@rule("contain.dangling-dir", "spec", "high", "Untrusted name handling")
def dangling_dir(look: Look) -> Ruling:
    """A dangling directory link in the middle of a name never leads to a file outside.

    Canonicalising what does not exist leaves the rest of the name unchecked; the target may exist a moment later.
    """
    return look.decided()


@rule("contain.accept-inside", "spec", "medium", "Untrusted name handling")
def accept_inside(look: Look) -> Ruling:
    """A benign name is accepted with the right bytes: `f`, `./f`, `a/../f`, leading dots, or one that leaves and re-enters.

    A loader that refuses everything is safe and useless; EPs in the field write such names.
    """
    return look.decided()


@rule("contain.accept-inner-link", "spec", "medium", "Untrusted name handling")
def accept_inner_link(look: Look) -> Ruling:
    """A link that resolves inside is followed; a write goes to its target and leaves the link a link.

    Content stores and version switches link within a model's directory.
    """
    return look.decided()


@rule("contain.model-path-forms", "spec", "medium", "Untrusted name handling")
def model_path_forms(look: Look) -> Ruling:
    """A bare, relative, doubled-slash, `..`-holding or linked model path behaves as the absolute one, for old and for new files.

    Applications hand over the path as they got it; a loader that works only with one form fails on its users' machines.
    """
    return look.decided()


@rule("contain.mount", "hardened", "medium", "Untrusted name handling")
def mount(look: Look) -> Ruling:
    """A bind mount or a /proc magic link inside the directory does not lead outside.

    Canonical paths do not show mounts: the path is inside, the file is not.
    """
    return look.decided()


@rule("contain.hard-link", "policy", "high", "Untrusted name handling")
def hard_link(look: Look) -> Ruling:
    """A hard link to an outside file is inside by every path rule; the profile says whether it is accepted or refused.

    Whoever could make the link could open the file; but an unpacker with more rights may have made it for somebody else.
    """
    return by_policy(look, "contain.hard-link")


@rule("contain.model-link-cache", "policy", "medium", "Untrusted name handling")
def model_link_cache(look: Look) -> Ruling:
    """A model file that is a link into a cache, with its data beside the real file, is served or refused as the profile says.

    The layout of Hugging Face's cache: some loaders also trust the real directory of a linked model.
    """
    return by_policy(look, "contain.model-link-cache")


def by_policy(look: Look, rule_id: str) -> Ruling:
    """What a policy rule says: broken against the profile's stance, else a note of what the target does."""
    broken = look.decided()
    if broken is not None:
        return broken
    stance = look.profile.stance(rule_id)
    if stance == "report":
        return Noted("left to the profile", look.happened, look.allowed)
    if look.accepted != (stance == "accept"):
        return Broken(
            f"{stance}ed by the profile" if stance == "accept" else "refused by the profile", look.happened, look.allowed
        )
    return HELD


@rule(
    "contain.race",
    "hardened",
    "high",
    "Untrusted name handling",
    calls=lambda call: call.race is not None,
    applies=lambda look: look.seen.race is not None,
)
def race(look: Look) -> Ruling:
    """While names are swapped for links during the call, no outside byte is read and no outside file written.

    The document calls its own check advisory: the path can change between the check and the open. A race-free variant looks at
    the opened handle. The evidence is a measured rate; none is wanted.
    """
    seen = look.seen.race
    if seen is not None and seen.outside:
        rate = 100 * seen.outside / max(1, seen.rounds)
        return Broken("no round leaves the model directory", f"{seen.outside} of {seen.rounds} rounds did ({rate:.1f} %)")
    if seen is not None and seen.torn:
        return Broken("each round gives the file or an error", f"{seen.torn} of {seen.rounds} rounds gave other bytes")
    escaped = [c.path for c in look.seen.changes if c.place != "inside"]
    if escaped:
        return Broken("no round changes a file outside", f"changed {escaped[0]}", escaped[0])
    return HELD
