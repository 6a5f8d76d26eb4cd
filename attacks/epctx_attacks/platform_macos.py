"""Names that mean something else on macOS: case, normal forms, forks, ignorable characters. Elsewhere they are literal."""

from __future__ import annotations

from epctx.attack import OPS, Draft, Family, Op, access, read, scene
from epctx.case import File, Link, Model

family = Family("platform-macos", "Case, Unicode normal forms, named forks and ignorable characters of macOS, literal elsewhere.")

NFC, NFD = "gr\u00f6\u00dfe.bin", "gro\u0308\u00dfe.bin"
"""One name, composed and decomposed."""


@family.benign("contain.accept-inside", op=OPS, form={"nfc": NFC, "nfd": NFD})
def normal_forms_tell_apart(op: Op, form: str) -> Draft:
    """Of two files whose names differ in the normal form only, a {op} takes the one that was named ({form})."""
    return scene(File(f"model/{NFC}"), File(f"model/{NFD}"), calls=access(op, form))


@family.hostile(
    "type.read-missing",
    names={
        "nfc": (NFC, NFD),
        "nfd": (NFD, NFC),
        "hangul": ("\ud55c.bin", "\u1112\u1161\u11ab.bin"),
        "compatibility": ("\ufb01le.bin", "file.bin"),
    },
)
def normal_form_is_kept(names: tuple[str, str]) -> Draft:
    """A name is missing if it exists in another normal form only ({names})."""
    asked, there = names
    return scene(File(f"model/{there}"), calls=read(asked))


@family.benign(
    "contain.accept-inside",
    op=OPS,
    name={"upper": "GOOD.BIN", "sharp-s": "STRASSE.bin", "dotted-i": "\u0130.bin", "sigma": "\u03c2.bin"},
)
def case_folding_tells_apart(op: Op, name: str) -> Draft:
    """Of files whose names are equal once case is folded, a {op} takes the one that was named ({name})."""
    others = (File("model/stra\u00dfe.bin"), File("model/i\u0307.bin"), File("model/\u03c3.bin"))
    return scene(*others, File(f"model/{name}"), calls=access(op, name))


@family.hostile(
    "type.read-missing", name={"upper": "GOOD.BIN", "sharp-s": "STRASSE.bin", "sigma": "\u03c2.bin", "directory": "Sub/inner.bin"}
)
def case_folding_finds_nothing(name: str) -> Draft:
    """A name is missing if it exists in another case only ({name})."""
    return scene(File("model/stra\u00dfe.bin"), File("model/\u03c3.bin"), calls=read(name))


@family.hostile("contain.sibling-prefix", "contain.parent", op=OPS, directory={"upper": "MODEL", "title": "Model"})
def case_folding_is_no_containment(op: Op, directory: str) -> Draft:
    """A {op} that leaves and enters a directory of the model directory's name in another case is refused ({directory})."""
    return scene(File(f"{directory}/good.bin"), calls=access(op, f"../{directory}/good.bin"))


@family.hostile(
    "type.read-missing",
    name={"resource": "good.bin/..namedfork/rsrc", "data": "good.bin/..namedfork/data", "short": "good.bin/rsrc"},
)
def named_fork(name: str) -> Draft:
    """A file has no children that are its forks ({name})."""
    return scene(calls=read(name))


@family.benign(
    "contain.accept-inside",
    op=OPS,
    name={"resource": "d/..namedfork/rsrc", "first": "..namedfork/rsrc", "double": "._good.bin", "store": ".DS_Store"},
)
def named_fork_is_literal(op: Op, name: str) -> Draft:
    """A {op} of a file that is called like a fork is accepted ({name})."""
    return scene(File(f"model/{name}"), calls=access(op, name))


IGNORABLE = {
    "non-joiner": "\u200c",
    "joiner": "\u200d",
    "left-to-right": "\u200e",
    "nominal": "\u206f",
    "byte-order-mark": "\ufeff",
}
"""The axis of characters that HFS+ leaves out when it compares names."""


@family.hostile(
    "type.read-missing",
    "safe.no-outside-read",
    character=IGNORABLE,
    place={"between": ".{}./outside/secret.bin", "before": "{}../outside/secret.bin", "after": "..{}/outside/secret.bin"},
)
def ignorable_hides_parent(character: str, place: str) -> Draft:
    """An ignorable character ({character}) {place} the dots makes another, missing directory of them."""
    return scene(calls=read(place.format(character)))


@family.benign("contain.accept-inside", op=OPS, character=IGNORABLE)
def ignorable_tells_apart(op: Op, character: str) -> Draft:
    """Of two files whose names differ in an ignorable character ({character}) only, a {op} takes the one that was named."""
    return scene(File(f"model/go{character}od.bin"), calls=access(op, f"go{character}od.bin"))


PRIVATE = (Link("tmp", "private/tmp"), File("private/tmp/model/good.bin"), File("private/tmp/outside/secret.bin"))
"""A directory that is reached through a link at the top, as /tmp is on macOS."""


@family.benign(
    "contain.model-path-forms",
    op=OPS,
    given={"link": "{root}/tmp/model/model.onnx", "real": "{root}/private/tmp/model/model.onnx"},
    name={"plain": "good.bin", "reentry": "../model/good.bin"},
)
def private_tmp(op: Op, given: str, name: str) -> Draft:
    """A {op} is accepted in a directory below a linked one, under the path of either ({given}, {name})."""
    return scene(*PRIVATE, calls=access(op, name), model=Model(path="private/tmp/model/model.onnx", given=given))


@family.hostile(
    "contain.parent", op=OPS, given={"link": "{root}/tmp/model/model.onnx", "real": "{root}/private/tmp/model/model.onnx"}
)
def private_tmp_outside(op: Op, given: str) -> Draft:
    """A {op} out of a directory below a linked one is refused under the path of either ({given})."""
    return scene(
        *PRIVATE, calls=access(op, "../outside/secret.bin"), model=Model(path="private/tmp/model/model.onnx", given=given)
    )


@family.benign("contain.accept-inner-link", op=OPS)
def firmlink(op: Op) -> Draft:
    """A {op} through an absolute link by the other path of the model directory, as a firmlink gives one, is accepted."""
    entries = (*PRIVATE, Link("private/tmp/model/link", "{root}/tmp/model/good.bin"))
    return scene(
        *entries,
        calls=access(op, "link"),
        model=Model(path="private/tmp/model/model.onnx", given="{root}/private/tmp/model/model.onnx"),
    )
