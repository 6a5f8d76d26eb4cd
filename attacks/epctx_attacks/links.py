"""Symbolic links, hard links, mounts and magic links: those that lead out of the model directory, and those that do not."""

from __future__ import annotations

from epctx.attack import BRISK, OPS, STANDARD, Draft, Family, Op, Source, access, read, scene, write
from epctx.case import Content, Dir, Fifo, File, HardLink, Link, Model, Mount

family = Family("links", "Symbolic and hard links, mounts and magic links that lead outside, and links that stay inside.")

# --- the last component is a link -------------------------------------------------------------------------------------------

OUTSIDE_TEXTS = {
    "relative": "../outside/{}",
    "absolute": "{root}/outside/{}",
    "dot": "./.././outside/{}",
    "slashes": "..//outside//{}",
    "middle": "sub/../../outside/{}",
    "in-and-out": "../model/../outside/{}",
    "twice": "../outside/../outside/{}",
    "beyond": "../../../../../../../../../../../../..{root}/outside/{}",
    "absolute-dots": "{root}/model/../outside/{}",
}
"""The axis of link texts: ways to name something outside from the model directory. ``{}`` is what."""


def text_for(template: str, target: str) -> str:
    """A link text with its target put in. ``{root}`` stays as it is."""
    return template.replace("{}", target)


@family.hostile("contain.symlink-file", "safe.no-outside-{op}", op=OPS, text=OUTSIDE_TEXTS)
def final_outside(op: Op, text: str) -> Draft:
    """A {op} through a link to a file outside is refused (link text: {text})."""
    return scene(Link("model/link", text_for(text, "secret.bin")), calls=access(op, "link"))


@family.hostile("contain.symlink-file", "safe.no-outside-{op}", op=OPS, depth={"1": 1, "2": 2, "3": 3})
def final_outside_deep(op: Op, depth: int) -> Draft:
    """A {op} through a link to a file outside is refused {depth} directories down, where it needs more `..`."""
    text = "../" * (depth + 1) + "outside/secret.bin"
    return scene(Link("model/" + "d/" * depth + "link", text), calls=access(op, "d/" * depth + "link"))


@family.hostile(
    "contain.symlink-file",
    "contain.sibling-prefix",
    op=OPS,
    text={"relative": "../model_evil/twin.bin", "absolute": "{root}/model_evil/twin.bin"},
)
def final_to_sibling(op: Op, text: str) -> Draft:
    """A {op} through a link to a sibling with the model directory's prefix is refused ({text})."""
    return scene(Link("model/link", text), calls=access(op, "link"))


@family.hostile(
    "contain.symlink-file",
    op=OPS,
    name={"dot": "./link", "around": "sub/../link", "reentry": "../model/link", "missing": "none/../link"},
)
def final_outside_by_spelling(op: Op, name: str) -> Draft:
    """A {op} through a link to a file outside is refused under each spelling of the link's own name ({name})."""
    return scene(Link("model/link", "../outside/secret.bin"), calls=access(op, name))


@family.hostile("contain.symlink-file", op=OPS, given={"bare": "model.onnx", "relative": "../model/model.onnx"})
def final_outside_by_storage(op: Op, given: str) -> Draft:
    """A {op} through a link to a file outside is refused when the model path is {given}."""
    cwd = "outside" if given.startswith("..") else "model"
    return scene(Link("model/link", "../outside/secret.bin"), calls=access(op, "link"), model=Model(given=given), cwd=cwd)


@family.hostile(
    "contain.symlink-file",
    "safe.no-outside-write",
    target={"empty": File("outside/t", Content("empty", 0)), "large": File("outside/t", Content("large", 100_000))},
)
def final_outside_is_not_truncated(target: File) -> Draft:
    """A write through a link changes nothing outside, not even by opening the file to write it ({target})."""
    return scene(target, Link("model/link", "../outside/t"), calls=write("link"))


@family.hostile("contain.symlink-file", op=OPS, to={"directory": "../outside", "parent": "..", "fifo": "../outside/fifo"})
def final_outside_to_other_type(op: Op, to: str) -> Draft:
    """A {op} through a link to something outside that is not a file ({to}) is refused without waiting for it."""
    return scene(Fifo("outside/fifo"), Link("model/link", to), calls=access(op, "link"), limits=BRISK)


@family.hostile("contain.symlink-file", "out.empty-on-error")
def final_outside_clears_output() -> Draft:
    """An output that held data is empty after a link to a file outside was refused."""
    return scene(Link("model/link", "../outside/secret.bin"), calls=read("link", held=True))


# --- a directory on the way is a link ---------------------------------------------------------------------------------------


@family.hostile(
    "contain.symlink-dir",
    "safe.no-outside-{op}",
    op=OPS,
    text={word: OUTSIDE_TEXTS[word] for word in ("relative", "absolute", "middle", "in-and-out", "beyond")},
    target={"file": "secret.bin", "absent": "new.bin"},
)
def directory_outside(op: Op, text: str, target: str) -> Draft | None:
    """A {op} through a link to a directory outside is refused (link text: {text}, outside: {target})."""
    if op == "read" and target == "new.bin":
        return None
    return scene(Link("model/link", text_for(text, "").rstrip("/")), calls=access(op, f"link/{target}"))


@family.hostile(
    "contain.symlink-dir",
    "safe.no-outside-{op}",
    op=OPS,
    link={
        "parent": ("..", "link/outside/secret.bin"),
        "parent-slash": ("../", "link/outside/secret.bin"),
        "parent-dot": ("../.", "link/outside/secret.bin"),
        "outside-slash": ("../outside/", "link/secret.bin"),
        "outside-dot": ("../outside/.", "link/secret.bin"),
        "outside-dots": ("../outside/deep/..", "link/secret.bin"),
        "grandparent": ("../../", "sub/link/outside/secret.bin"),
        "root": ("../" * 9 + "..{root}", "link/outside/secret.bin"),
        "self-then-out": (".", "link/../outside/secret.bin"),
        "sub-then-out": ("sub", "link/../../outside/secret.bin"),
        "base-then-out": ("{root}/model", "link/../outside/secret.bin"),
    },
)
def directory_by_text(op: Op, link: tuple[str, str]) -> Draft:
    """A {op} through a directory link is refused, whatever kind of text takes it out ({link})."""
    to, name = link
    return scene(Dir("outside/deep"), Link(f"model/{name.partition('link')[0]}link", to), calls=access(op, name))


@family.hostile("contain.symlink-dir", "safe.no-outside-{op}", op=OPS, depth={"1": 1, "2": 2, "3": 3})
def directory_outside_deep(op: Op, depth: int) -> Draft:
    """A {op} through a directory link is refused {depth} directories below and above it."""
    down = "d/" * depth
    link = Link(f"model/{down}link", "../" * (depth + 1) + "outside")
    return scene(File(f"outside/{down}secret.bin"), link, calls=access(op, f"{down}link/{down}secret.bin"))


@family.hostile("contain.symlink-dir", "safe.no-outside-{op}", op=OPS, decoy=("inside", "absent"))
def directory_then_parent(op: Op, decoy: str) -> Draft:
    """A {op} of `link/../f` is judged where the system goes, not where the text does (file of that name inside: {decoy})."""
    decoys = (File("model/f.bin"),) if decoy == "inside" else ()
    return scene(
        *decoys,
        File("outside/f.bin"),
        Dir("outside/deep"),
        Link("model/link", "../outside/deep"),
        calls=access(op, "link/../f.bin"),
    )


@family.hostile("contain.symlink-dir", "safe.no-outside-write", decoy=("inside", "absent"))
def directory_then_parent_new_file(decoy: str) -> Draft:
    """A write of `link/../f` creates nothing where the link leads (directory of that name inside: {decoy})."""
    decoys = (File("model/f.bin"),) if decoy == "inside" else ()
    return scene(*decoys, Dir("outside/deep"), Link("model/link", "../outside/deep"), calls=write("link/../f.bin"))


@family.benign("contain.accept-inner-link", op=OPS)
def directory_then_parent_inside(op: Op) -> Draft:
    """A {op} of `link/../f` reaches the file beside the link's target, not the one beside the link."""
    entries = (File("model/f.bin"), File("model/a/f.bin"), Dir("model/a/b"), Link("model/link", "a/b"))
    return scene(*entries, calls=access(op, "link/../f.bin"))


@family.hostile(
    "contain.symlink-dir",
    op=OPS,
    given={"bare": "model.onnx", "relative": "../model/model.onnx", "linked": "{root}/shelf/model.onnx"},
)
def directory_outside_by_storage(op: Op, given: str) -> Draft:
    """A {op} through a link to a directory outside is refused when the model path is {given}."""
    cwd = "outside" if given.startswith("..") else "model"
    entries = (Link("shelf", "model"), Link("model/link", "../outside"))
    return scene(*entries, calls=access(op, "link/secret.bin"), model=Model(given=given), cwd=cwd)


# --- chains -----------------------------------------------------------------------------------------------------------------


def chain(hops: int, last: str) -> tuple[Link, ...]:
    """Links hop1 .. hopN inside, each to the next and the last one to ``last``."""
    return tuple(Link(f"model/hop{n}", f"hop{n + 1}" if n < hops else last) for n in range(1, hops + 1))


@family.hostile(
    "contain.symlink-dir", "safe.no-outside-{op}", op=OPS, hops={"2": 2, "5": 5, "30": 30}, kind=("file", "directory")
)
def chain_outside(op: Op, hops: int, kind: str) -> Draft:
    """A {op} through {hops} links in a row is refused if the last of them leads outside ({kind})."""
    if kind == "file":
        return scene(*chain(hops, "../outside/secret.bin"), calls=access(op, "hop1"))
    return scene(*chain(hops, "../outside"), calls=access(op, "hop1/secret.bin"))


@family.hostile("contain.symlink-dir", op=OPS)
def chain_of_directories(op: Op) -> Draft:
    """A {op} through two directory links is refused if only both together lead outside."""
    entries = (Dir("model/a/b"), Link("model/down", "a/b"), Link("model/a/b/up", "../../.."))
    return scene(*entries, calls=access(op, "down/up/outside/secret.bin"))


@family.hostile("contain.symlink-file", op=OPS)
def chain_through_outside_and_on(op: Op) -> Draft:
    """A {op} through a link to a link outside is refused if the second one leads on to yet another place outside."""
    return scene(Link("outside/next", "../model_evil/twin.bin"), Link("model/link", "../outside/next"), calls=access(op, "link"))


@family.benign("contain.accept-inner-link", op=OPS, hops={"1": 1, "2": 2, "5": 5, "30": 30}, kind=("file", "directory"))
def chain_inside(op: Op, hops: int, kind: str) -> Draft:
    """A {op} through {hops} links in a row is accepted if they stay inside ({kind})."""
    if kind == "file":
        return scene(*chain(hops, "good.bin"), calls=access(op, "hop1"))
    return scene(*chain(hops, "sub"), calls=access(op, "hop1/inner.bin"))


@family.benign("contain.accept-inner-link", op=OPS)
def chain_at_the_limit(op: Op) -> Draft:
    """A {op} through 40 links, as many as the system follows, is accepted."""
    return scene(*chain(40, "good.bin"), calls=access(op, "hop1"))


@family.hostile("contain.symlink-loop", op=OPS, hops={"41": 41, "60": 60}, last=("good.bin", "escape"))
def chain_beyond_the_limit(op: Op, hops: int, last: str) -> Draft:
    """A {op} through {hops} links, more than the system follows, is refused ({last})."""
    return scene(*chain(hops, "good.bin" if last == "good.bin" else "../outside/secret.bin"), calls=access(op, "hop1"))


@family.hostile("contain.symlink-loop", "safe.no-hang", op=OPS, hops={"1": 1, "2": 2, "6": 6}, place=("final", "directory"))
def loop(op: Op, hops: int, place: str) -> Draft:
    """A {op} through {hops} links that go round in a circle is refused and returns ({place})."""
    return scene(*chain(hops, "hop1"), calls=access(op, "hop1" if place == "final" else "hop1/f.bin"), limits=BRISK)


@family.hostile("contain.symlink-loop", op=OPS)
def loop_by_detour(op: Op) -> Draft:
    """A {op} through a link that leads through itself is refused."""
    return scene(Link("model/loop", "sub/../loop/f.bin"), calls=access(op, "loop"), limits=BRISK)


# --- links that stay inside -------------------------------------------------------------------------------------------------

INSIDE_LINKS = {
    "relative": ("link", Link("model/link", "good.bin")),
    "absolute": ("link", Link("model/link", "{root}/model/good.bin")),
    "dot": ("link", Link("model/link", "./good.bin")),
    "down": ("link", Link("model/link", "sub/inner.bin")),
    "up": ("sub/link", Link("model/sub/link", "../good.bin")),
    "middle": ("link", Link("model/link", "sub/../good.bin")),
    "out-and-in": ("link", Link("model/link", "../model/good.bin")),
    "out-and-in-absolute": ("link", Link("model/link", "{root}/outside/../model/good.bin")),
    "directory": ("link/inner.bin", Link("model/link", "sub")),
    "directory-slash": ("link/inner.bin", Link("model/link", "sub/")),
    "directory-dot": ("link/inner.bin", Link("model/link", "sub/.")),
    "directory-dots": ("link/inner.bin", Link("model/link", "sub/../sub")),
    "directory-absolute": ("link/inner.bin", Link("model/link", "{root}/model/sub")),
    "self": ("link/good.bin", Link("model/link", ".")),
    "self-often": ("link/link/link/good.bin", Link("model/link", ".")),
    "base-absolute": ("link/good.bin", Link("model/link", "{root}/model")),
    "base-from-below": ("sub/link/good.bin", Link("model/sub/link", "..")),
    "parent-and-back": ("link/model/good.bin", Link("model/link", "..")),
    "outside-and-back": ("link/../model/good.bin", Link("model/link", "../outside")),
}


@family.benign("contain.accept-inner-link", op=OPS, link=INSIDE_LINKS)
def inside(op: Op, link: tuple[str, Link]) -> Draft:
    """A {op} through a link that resolves inside is accepted, and the link stays a link ({link})."""
    name, entry = link
    return scene(entry, calls=access(op, name))


@family.benign(
    "contain.accept-inner-link",
    op=OPS,
    name={"dot": "./link", "around": "sub/../link", "reentry": "../model/link", "missing": "none/../link"},
)
def inside_by_spelling(op: Op, name: str) -> Draft | None:
    """A {op} through a link to a file inside is accepted under each spelling of the link's own name ({name})."""
    if (op, name) == ("write", "none/../link"):
        return None  # may be refused: weakly_canonical alone leaves that link unresolved, and a link is not written
    return scene(Link("model/link", "sub/inner.bin"), calls=access(op, name))


@family.benign("contain.accept-inner-link", op=OPS, depth={"1": 1, "2": 2, "3": 3}, kind=("file", "directory"))
def inside_deep(op: Op, depth: int, kind: str) -> Draft:
    """A {op} through a link {depth} directories down, which climbs as far as the model directory, is accepted ({kind})."""
    down, up = "d/" * depth, "../" * depth
    if kind == "file":
        return scene(Link(f"model/{down}link", f"{up}good.bin"), calls=access(op, f"{down}link"))
    return scene(Link(f"model/{down}link", f"{up}sub"), calls=access(op, f"{down}link/inner.bin"))


@family.benign(
    "contain.accept-inner-link",
    "contain.model-path-forms",
    op=OPS,
    given={
        "bare": "model.onnx",
        "relative": "../model/model.onnx",
        "linked": "{root}/shelf/model.onnx",
        "dot-dot": "{root}/outside/../model/model.onnx",
    },
    link={"file": ("good.bin", "link"), "directory": ("sub", "link/inner.bin"), "absolute": ("{root}/model/good.bin", "link")},
)
def inside_by_storage(op: Op, given: str, link: tuple[str, str]) -> Draft:
    """A {op} through a link that stays inside ({link}) is accepted when the model path is {given}."""
    cwd = "outside" if given.startswith("..") else "model"
    to, name = link
    return scene(Link("shelf", "model"), Link("model/link", to), calls=access(op, name), model=Model(given=given), cwd=cwd)


@family.benign(
    "contain.accept-inner-link",
    op=OPS,
    text={"sibling": "model_evil/twin.bin", "outside": "outside/secret.bin", "root-like": "sub/../outside/secret.bin"},
)
def inside_looks_like_outside(op: Op, text: str) -> Draft:
    """A {op} through a link is accepted if its text names a file inside whose path also exists outside ({text})."""
    inner = (File("model/model_evil/twin.bin"), File("model/outside/secret.bin"))
    return scene(*inner, Link("model/link", text), calls=access(op, "link"))


@family.benign("contain.accept-inner-link", op=OPS)
def inside_through_link_outside(op: Op) -> Draft:
    """A {op} through a link to a link outside, which leads back in, ends at a file inside."""
    return scene(Link("outside/back", "../model/good.bin"), Link("model/link", "../outside/back"), calls=access(op, "link"))


@family.benign(
    "contain.accept-inner-link", text={"relative": "sub", "absolute": "{root}/model/sub", "out-and-in": "../model/sub"}
)
def inside_new_file(text: str) -> Draft:
    """A new file is created through a directory link that stays inside ({text})."""
    return scene(Link("model/link", text), calls=write("link/new.bin"))


@family.benign("contain.accept-inside", op=OPS)
def unrelated_links(op: Op) -> Draft:
    """A {op} is accepted beside links that lead outside but that the name does not pass."""
    links = (Link("model/out", "../outside"), Link("model/sub/out", "../../outside"), Link("model/loop", "loop"))
    return scene(*links, calls=access(op, "sub/inner.bin"))


# --- dangling links ---------------------------------------------------------------------------------------------------------

DANGLING = {
    "outside": "../outside/new.bin",
    "outside-absolute": "{root}/outside/new.bin",
    "sibling": "../model_evil/new.bin",
    "outside-missing-parent": "../outside/none/new.bin",
    "inside": "new.bin",
    "inside-nested": "sub/new.bin",
    "inside-absolute": "{root}/model/new.bin",
    "inside-missing-parent": "none/new.bin",
    "through-file": "good.bin/new.bin",
}


@family.hostile("type.write-symlink-leaf", "safe.no-outside-write", text=DANGLING, source=("model", "caller"))
def dangling_leaf_write(text: str, source: str) -> Draft:
    """A write by the {source} through a dangling link creates nothing, neither where it points nor in its place ({text})."""
    caller: Source = "caller" if source == "caller" else "model"
    return scene(Link("model/link", text), calls=write("link", source=caller), cwd="model")


@family.hostile("type.write-symlink-leaf", hops={"2": 2, "5": 5}, last={"outside": "../outside/new.bin", "inside": "new.bin"})
def dangling_chain_write(hops: int, last: str) -> Draft:
    """A write through {hops} links in a row whose end is missing creates nothing ({last})."""
    return scene(*chain(hops, last), calls=write("hop1"))


@family.hostile(
    "type.write-symlink-leaf", name={"dot": "./link", "around": "sub/../link", "reentry": "../model/link", "by-link": "here/link"}
)
def dangling_leaf_write_by_spelling(name: str) -> Draft:
    """A write through a dangling link creates nothing under any spelling of the link's own name ({name})."""
    return scene(Link("model/here", "."), Link("model/link", "../outside/new.bin"), calls=write(name))


@family.hostile("type.write-symlink-leaf", given={"bare": "model.onnx", "relative": "../model/model.onnx"})
def dangling_leaf_write_by_storage(given: str) -> Draft:
    """A write through a dangling link creates nothing when the model path is {given}."""
    cwd = "outside" if given.startswith("..") else "model"
    return scene(Link("model/link", "../outside/new.bin"), calls=write("link"), model=Model(given=given), cwd=cwd)


@family.hostile(
    "type.read-missing",
    "contain.symlink-file",
    text={word: DANGLING[word] for word in ("outside", "inside", "through-file")},
    hops={"1": 1, "3": 3},
)
def dangling_leaf_read(text: str, hops: int) -> Draft:
    """A read through {hops} dangling links ends with an error, not with an exception or an empty success ({text})."""
    return scene(*chain(hops, text), calls=read("hop1"))


@family.hostile(
    "contain.dangling-dir",
    "safe.no-outside-{op}",
    op=OPS,
    text={"outside": "../outside/none", "absolute": "{root}/outside/none", "inside": "none", "through-file": "good.bin/none"},
)
def dangling_directory(op: Op, text: str) -> Draft:
    """A {op} through a dangling directory link makes no directory and no file ({text})."""
    return scene(Link("model/link", text), calls=access(op, "link/new.bin"))


@family.hostile("contain.dangling-dir", "contain.parent", op=OPS)
def dangling_directory_then_out(op: Op) -> Draft:
    """A {op} that enters a dangling link to outside and climbs from there stays refused."""
    return scene(Link("model/link", "../outside/none"), calls=access(op, "link/../../outside/secret.bin"))


# --- trailing slashes -------------------------------------------------------------------------------------------------------


@family.hostile("contain.symlink-dir", op=OPS, tail={"slash": "/", "dot": "/.", "slashes": "//"})
def trailing_slash_outside(op: Op, tail: str) -> Draft:
    """A {op} of a link to a directory outside is refused also with a tail that makes the system follow it ({tail})."""
    return scene(Link("model/link", "../outside"), calls=access(op, f"link{tail}"))


@family.hostile("contain.symlink-file", op=OPS, tail={"slash": "/", "dot": "/."})
def trailing_slash_file_outside(op: Op, tail: str) -> Draft:
    """A {op} of a link to a file outside is refused also with a tail that some normalise away ({tail})."""
    return scene(Link("model/link", "../outside/secret.bin"), calls=access(op, f"link{tail}"))


@family.hostile("type.read-missing", tail={"slash": "/", "dot": "/."})
def trailing_slash_file_inside(tail: str) -> Draft:
    """A link to a file inside is not a directory either ({tail})."""
    return scene(Link("model/link", "good.bin"), calls=read(f"link{tail}"))


@family.hostile("type.read-directory", tail={"none": "", "slash": "/", "dot": "/."})
def link_to_directory_inside(tail: str) -> Draft:
    """A link to a directory inside is a directory, not a file to read ({tail})."""
    return scene(Link("model/link", "sub"), calls=read(f"link{tail}"))


@family.hostile("type.write-regular", tail={"none": "", "slash": "/", "dot": "/."})
def link_to_directory_inside_write(tail: str) -> Draft:
    """A link to a directory inside is not replaced by a file ({tail})."""
    return scene(Link("model/link", "sub"), calls=write(f"link{tail}"))


@family.hostile("type.read-regular", "safe.no-hang", op=OPS)
def link_to_fifo_inside(op: Op) -> Draft:
    """A {op} through a link to a FIFO inside is refused at once."""
    return scene(Fifo("model/fifo"), Link("model/link", "fifo"), calls=access(op, "link"), limits=BRISK)


# --- hard links -------------------------------------------------------------------------------------------------------------


@family.hostile("contain.hard-link", op=OPS, place={"flat": "hard.bin", "nested": "sub/hard.bin"})
def hard_outside(op: Op, place: str) -> Draft:
    """A {op} of a hard link to a file outside is what the profile says it is ({place})."""
    return scene(HardLink(f"model/{place}", "outside/secret.bin"), calls=access(op, place))


@family.hostile("contain.hard-link", op=OPS)
def hard_outside_through_link(op: Op) -> Draft:
    """A {op} through a symbolic link to a hard link of a file outside is what the profile says it is."""
    return scene(HardLink("model/hard.bin", "outside/secret.bin"), Link("model/link", "hard.bin"), calls=access(op, "link"))


@family.hostile("contain.symlink-file", op=OPS)
def hard_link_of_link_outside(op: Op) -> Draft:
    """A {op} of a hard link to a symbolic link that leads outside is refused like the link itself."""
    return scene(
        Link("outside/link", "{root}/outside/secret.bin"), HardLink("model/hard", "outside/link"), calls=access(op, "hard")
    )


@family.benign("contain.accept-inside", op=OPS, name={"first": "good.bin", "second": "hard.bin", "third": "sub/hard.bin"})
def hard_inside(op: Op, name: str) -> Draft:
    """A {op} of a file with several names, all of them inside, is accepted ({name})."""
    return scene(
        HardLink("model/hard.bin", "model/good.bin"), HardLink("model/sub/hard.bin", "model/good.bin"), calls=access(op, name)
    )


# --- links around the model -------------------------------------------------------------------------------------------------


@family.benign(
    "contain.model-path-forms",
    op=OPS,
    text={"relative": "model", "absolute": "{root}/model", "slash": "model/", "chain": "hop"},
    name={"plain": "good.bin", "nested": "sub/inner.bin"},
)
def base_is_a_link(op: Op, text: str, name: str) -> Draft:
    """A {op} of {name} is accepted in a model directory that is itself a link ({text})."""
    return scene(Link("hop", "model"), Link("shelf", text), calls=access(op, name), model=Model(given="{root}/shelf/model.onnx"))


@family.benign("contain.model-path-forms")
def base_is_a_link_new_file() -> Draft:
    """A new file is created in a model directory that is itself a link."""
    return scene(Link("shelf", "model"), calls=write("new.bin"), model=Model(given="{root}/shelf/model.onnx"))


@family.hostile(
    "contain.parent", "contain.model-path-forms", op=OPS, name={"beside-real": "../outside/secret.bin", "beside-link": "../f.bin"}
)
def base_is_a_link_out(op: Op, name: str) -> Draft:
    """A {op} out of a model directory that is itself a link is refused, beside the link and beside the directory ({name})."""
    entries = (Link("a/shelf", "../model"), File("a/f.bin"), File("f.bin"))
    return scene(*entries, calls=access(op, name), model=Model(given="{root}/a/shelf/model.onnx"))


@family.benign("contain.model-path-forms", op=OPS)
def ancestor_is_a_link(op: Op) -> Draft:
    """A {op} is accepted if a directory above the model directory is a link."""
    return scene(Link("up", "{root}"), calls=access(op, "sub/inner.bin"), model=Model(given="{root}/up/model/model.onnx"))


CACHE = (File("cache/blobs/0a1b"), File("cache/blobs/data.bin"), Link("cache/snapshot/model.onnx", "../blobs/0a1b"))
"""A content store: the model in the snapshot is a link to a blob."""


@family.benign("contain.model-link-cache", op=OPS)
def model_is_a_link_data_beside_link(op: Op) -> Draft:
    """A {op} of data that lies beside a model file which is a link is accepted: the link's directory is the model directory."""
    model = Model(path="cache/blobs/0a1b", given="{root}/cache/snapshot/model.onnx")
    return scene(*CACHE[1:], File("cache/snapshot/data.bin"), calls=access(op, "data.bin"), model=model)


@family.hostile("contain.model-link-cache")
def model_is_a_link_data_beside_target() -> Draft:
    """A read of data that lies only beside the real file of a linked model is what the profile says it is."""
    model = Model(path="cache/blobs/0a1b", given="{root}/cache/snapshot/model.onnx")
    return scene(*CACHE[1:], calls=read("data.bin"), model=model)


@family.hostile("contain.model-link-cache", "contain.symlink-file", op=OPS)
def data_is_a_link_into_cache(op: Op) -> Draft:
    """A {op} of data that is a link into the content store, as the model is, is what the profile says it is."""
    model = Model(path="cache/blobs/0a1b", given="{root}/cache/snapshot/model.onnx")
    return scene(*CACHE[1:], Link("cache/snapshot/data.bin", "../blobs/data.bin"), calls=access(op, "data.bin"), model=model)


# --- magic links and mounts -------------------------------------------------------------------------------------------------


@family.hostile(
    "contain.mount",
    "contain.symlink-dir",
    op=OPS,
    link={
        "cwd": ("/proc/self/cwd", "link/secret.bin"),
        "root": ("/proc/self/root{root}/outside", "link/secret.bin"),
        "cwd-parent": ("/proc/self/cwd/..", "link/outside/secret.bin"),
    },
)
def magic_link(op: Op, link: tuple[str, str]) -> Draft:
    """A {op} through a magic link of the process is refused ({link})."""
    to, name = link
    return scene(Link("model/link", to), calls=access(op, name), cwd="outside")


@family.hostile(
    "contain.mount",
    "type.read-regular",
    op=OPS,
    to={
        "proc-fd": "/proc/self/fd/0",
        "dev-fd": "/dev/fd/0",
        "stdin": "/dev/stdin",
        "stdout": "/dev/stdout",
        "null": "/dev/null",
        "zero": "/dev/zero",
    },
)
def device_link(op: Op, to: str) -> Draft:
    """A {op} through a link to an open descriptor or a device is refused, and nothing waits for it ({to})."""
    return scene(Link("model/link", to), calls=access(op, "link"), limits=BRISK)


@family.hostile(
    "contain.mount",
    op=OPS,
    name={"proc": "../../../../../../../../../proc/self/cwd/secret.bin", "dev": "../../../../../../../../../dev/stdin"},
)
def magic_name(op: Op, name: str) -> Draft:
    """A {op} that climbs to a magic link by its name is refused ({name})."""
    return scene(calls=access(op, name), cwd="outside")


@family.hostile("contain.mount", op=OPS, place=("directory", "file"))
def bind_mount(op: Op, place: str) -> Draft:
    """A {op} of something outside that is mounted inside ({place}) is refused by a careful loader."""
    if place == "directory":
        return scene(Mount("model/mounted", of="outside"), calls=access(op, "mounted/secret.bin"))
    return scene(Mount("model/mounted", of="outside/secret.bin"), calls=access(op, "mounted"))


# --- trusted callers --------------------------------------------------------------------------------------------------------


@family.benign(
    "trusted.any-path",
    link={"file": ("../outside/secret.bin", "link"), "directory": ("../outside", "link/secret.bin"), "chain": ("next", "link")},
)
def trusted_read(link: tuple[str, str]) -> Draft:
    """A trusted caller may read through links that lead anywhere ({link})."""
    to, name = link
    links = (Link("model/next", "../outside/secret.bin"), Link("model/link", to))
    return scene(*links, calls=read(name, source="caller"), cwd="model")


@family.benign("trusted.any-path", target={"file": "secret.bin", "absent": "new.bin"})
def trusted_write_through_directory(target: str) -> Draft:
    """A trusted caller may write through a directory link that leads anywhere ({target})."""
    return scene(Link("model/link", "../outside"), calls=write(f"link/{target}", source="caller"), cwd="model")


@family.hostile(
    "trusted.type-gates",
    "type.write-symlink-leaf",
    text={"outside": "../outside/secret.bin", "inside": "good.bin", "absolute": "{root}/outside/secret.bin"},
)
def trusted_write_through_leaf(text: str) -> Draft:
    """Not even a trusted caller writes through a link that is the last component ({text})."""
    return scene(Link("model/link", text), calls=write("link", source="caller"), cwd="model")


@family.hostile("contain.symlink-file", op=OPS)
def link_is_all_there_is(op: Op) -> Draft:
    """A {op} through a link to a file outside is refused in a model directory that holds nothing else."""
    return scene(Link("model/link", "../outside/secret.bin"), calls=access(op, "link"), layout=(STANDARD[2],))
