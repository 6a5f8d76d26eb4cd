"""Names that are exchanged while they are used: whoever checks a path and then opens it can be given another file."""

from __future__ import annotations

from epctx.attack import OPS, Draft, Family, Op, access, read, scene, write
from epctx.case import Content, Dir, Entry, Fifo, File, HardLink, Limits, Link, Model, Race, Resize

family = Family("races", "Exchanges of directories, files and links, and files that change, while a call is under way.")

PATIENT = Limits(seconds=8)

PAIRS: dict[str, tuple[str, tuple[Entry, ...]]] = {
    "file-and-link": ("a", (File("model/a"), Link("model/b", "../outside/secret.bin"))),
    "file-and-absolute-link": ("a", (File("model/a"), Link("model/b", "{root}/outside/secret.bin"))),
    "directory-and-link": ("a/secret.bin", (File("model/a/secret.bin"), Link("model/b", "../outside"))),
    "directory-and-parent-link": ("a/outside/secret.bin", (File("model/a/outside/secret.bin"), Link("model/b", ".."))),
    "deep-directory-and-link": (
        "d/a/e/secret.bin",
        (File("model/d/a/e/secret.bin"), File("outside/e/secret.bin"), Link("model/d/b", "../../outside")),
    ),
    "inner-link-and-link": ("a", (Link("model/a", "good.bin"), Link("model/b", "../outside/secret.bin"))),
}
"""The axis of exchanges: a name, and entries of which those called ``a`` and ``b`` change places."""


def race_in(entries: tuple[Entry, ...]) -> Race:
    """The exchange of ``a`` and ``b`` in the directory in which ``b`` lies."""
    b = str(entries[-1].path)
    return Race(f"{b[:-1]}a", b, rounds=500)


@family.hostile("contain.race", op=OPS, pair=PAIRS)
def exchange(op: Op, pair: tuple[str, tuple[Entry, ...]]) -> Draft:
    """A {op} never reaches outside while a {pair} to outside change places."""
    name, entries = pair
    return scene(*entries, calls=access(op, name, race=race_in(entries)), limits=PATIENT)


@family.hostile("contain.race", "safe.no-hang", op=OPS)
def file_and_fifo(op: Op) -> Draft:
    """A {op} never waits while a file and a FIFO change places."""
    return scene(File("model/a"), Fifo("model/b"), calls=access(op, "a", race=Race("model/a", "model/b", 100)), limits=PATIENT)


@family.hostile("contain.race", "type.read-directory")
def file_and_directory() -> Draft:
    """A read gives an error or the file while a file and a directory change places."""
    return scene(File("model/a"), File("model/b/f.bin"), calls=read("a", race=Race("model/a", "model/b", 100)), limits=PATIENT)


@family.hostile("contain.race", "type.write-symlink-leaf")
def target_becomes_dangling_link() -> Draft:
    """A write creates nothing outside while its target and a dangling link to outside change places."""
    entries = (File("model/a"), Link("model/b", "../outside/new.bin"))
    return scene(*entries, calls=write("a", race=race_in(entries)), limits=PATIENT)


@family.hostile("contain.race", "type.read-missing")
def parent_moves() -> Draft:
    """A read gives an error or the file inside while a directory on its way and another one inside change places."""
    entries = (File("model/a/f.bin"), File("model/b/other.bin"))
    return scene(*entries, calls=read("a/f.bin", race=Race("model/a", "model/b", 100)), limits=PATIENT)


@family.hostile("contain.race", op=OPS)
def parent_moves_outside(op: Op) -> Draft:
    """A {op} through a directory and back by `..` never arrives outside while that directory is moved there and back."""
    race = Race("model/d/e", "outside/e", rounds=500, how="move")
    return scene(File("model/d/secret.bin"), Dir("model/d/e"), calls=access(op, "d/e/../secret.bin", race=race), limits=PATIENT)


@family.hostile("contain.race", "type.write-symlink-leaf")
def target_appears_as_link() -> Draft:
    """A write to a new file creates nothing outside while a link to outside comes to lie there, and goes."""
    race = Race("model/parked", "model/new.bin", rounds=500, how="move")
    return scene(Link("model/parked", "../outside/new.bin"), calls=write("new.bin", race=race), limits=PATIENT)


@family.hostile("contain.race")
def file_goes_and_link_comes() -> Draft:
    """A read never follows a link to outside that comes to lie where nothing was."""
    race = Race("model/parked", "model/a", rounds=500, how="move")
    return scene(Link("model/parked", "../outside/secret.bin"), calls=read("a", race=race), limits=PATIENT)


@family.hostile("contain.race", op=OPS)
def model_directory_is_replaced(op: Op) -> Draft:
    """A {op} never reaches outside while the model directory and one with a link to outside in it change places."""
    race = Race("model", "other", rounds=500)
    return scene(Link("other/good.bin", "../outside/secret.bin"), calls=access(op, "good.bin", race=race), limits=PATIENT)


@family.hostile("contain.race", "contain.model-path-forms")
def working_directory_changes() -> Draft:
    """A name that leaves the model directory is refused while the working directory, in which the model lies, changes."""
    race = Race("model", "model/sub", rounds=500, how="chdir")
    call = read("../up.bin", race=race)
    return scene(File("model/up.bin"), calls=call, model=Model(given="model.onnx"), cwd="model", limits=PATIENT)


@family.hostile(
    "size.file-changes",
    to={"0": 0, "1": 1, "half": 100_000, "double": 400_000},
    name={"direct": "f.bin", "link": "link", "hard": "hard.bin"},
)
def large_file_changes(to: int, name: str) -> Draft:
    """A file of 200,000 bytes that becomes {to} while it is read gives an error or one of its states ({name})."""
    entries = (
        File("model/f.bin", Content("changing", 200_000)),
        Link("model/link", "f.bin"),
        HardLink("model/hard.bin", "model/f.bin"),
    )
    return scene(*entries, calls=read(name, resize=Resize("model/f.bin", to)))


@family.benign("contain.accept-inside", op=OPS)
def nothing_moves(op: Op) -> Draft:
    """A {op} of the same file is accepted again and again when nothing changes."""
    return scene(File("model/a"), calls=(access(op, "a"),) * 5)
