"""What lies at the name: directories, FIFOs, sockets, devices, and files that cannot be read or written."""

from __future__ import annotations

from epctx.attack import BRISK, OPS, Draft, Family, Op, Source, access, read, scene, write
from epctx.case import Content, Device, Dir, Entry, Fifo, File, Link, Model, Mount, Socket

family = Family("types", "Directories, FIFOs, sockets, devices, missing files, and files without permission.")

SOURCES: tuple[Source, ...] = ("model", "caller")
"""The axis of trust."""

SPECIAL: dict[str, Entry] = {
    "fifo": Fifo("model/special"),
    "fifo-with-writer": Fifo("model/special", writer=True),
    "socket": Socket("model/special"),
    "null": Device("model/special", "null"),
    "zero": Device("model/special", "zero"),
    "full": Device("model/special", "full"),
    "tty": Device("model/special", "tty"),
    "whiteout": Device("model/special", "whiteout"),
    "block": Device("model/special", "block"),
}
"""The axis of special files."""

# --- special files ----------------------------------------------------------------------------------------------------------


@family.hostile("type.read-regular", "safe.no-hang", "status.code", special=SPECIAL)
def special_read(special: Entry) -> Draft:
    """A read of a special file ({special}) is refused at once."""
    return scene(special, calls=read("special"), limits=BRISK)


@family.hostile("type.write-regular", "safe.no-hang", "status.code", special=SPECIAL)
def special_write(special: Entry) -> Draft:
    """A write to a special file ({special}) is refused at once and does not replace it."""
    return scene(special, calls=write("special"), limits=BRISK)


@family.hostile("trusted.type-gates", "safe.no-hang", op=OPS, special=SPECIAL)
def special_trusted(op: Op, special: Entry) -> Draft:
    """A {op} of a special file ({special}) is refused for a trusted caller too."""
    return scene(special, calls=access(op, "special", source="caller"), cwd="model", limits=BRISK)


@family.hostile("type.read-regular", "out.empty-on-error", special={word: SPECIAL[word] for word in ("fifo", "socket", "null")})
def special_clears_output(special: Entry) -> Draft:
    """An output that held data is empty after a special file ({special}) was refused."""
    return scene(special, calls=read("special", held=True), limits=BRISK)


@family.hostile("type.write-regular", "safe.no-hang", size={"empty": 0, "large": 200_000})
def fifo_write_of_any_size(size: int) -> Draft:
    """A write to a FIFO is refused whether the payload is {size} or would fit into the pipe's buffer."""
    return scene(Fifo("model/fifo", writer=True), calls=write("fifo", payload=Content("sized", size)), limits=BRISK)


@family.hostile("type.read-missing", op=OPS, special={word: SPECIAL[word] for word in ("fifo", "socket", "null")})
def special_as_directory(op: Op, special: Entry) -> Draft:
    """A {op} below a special file ({special}) ends with an error and does not wait for it."""
    return scene(special, calls=access(op, "special/f.bin"), limits=BRISK)


@family.hostile(
    "type.read-regular",
    "safe.no-hang",
    op=OPS,
    name={"dot": "./sub/fifo", "around": "sub/../sub/fifo", "reentry": "../model/sub/fifo"},
)
def fifo_by_spelling(op: Op, name: str) -> Draft:
    """A {op} of a FIFO is refused under each of its spellings ({name})."""
    return scene(Fifo("model/sub/fifo"), calls=access(op, name), limits=BRISK)


# --- directories ------------------------------------------------------------------------------------------------------------


@family.hostile("type.read-directory", state=("empty", "full"), source=SOURCES)
def directory_read(state: str, source: Source) -> Draft:
    """A read of a directory ({state}) by the {source} is refused, and not by an exception."""
    entry: Entry = Dir("model/d") if state == "empty" else File("model/d/f.bin")
    return scene(entry, calls=read("d", source=source), cwd="model")


@family.hostile("type.write-regular", state=("empty", "full"), source=SOURCES)
def directory_write(state: str, source: Source) -> Draft:
    """A write to a directory ({state}) by the {source} is refused; the directory stays, be it empty."""
    entry: Entry = Dir("model/d") if state == "empty" else File("model/d/f.bin")
    return scene(entry, calls=write("d", source=source), cwd="model")


# --- permissions ------------------------------------------------------------------------------------------------------------


@family.hostile("type.read-missing", "safe.error-has-text", source=SOURCES)
def unreadable_file(source: Source) -> Draft:
    """A file without permission to read gives an error, not an empty success ({source})."""
    return scene(File("model/closed.bin", mode=0), calls=read("closed.bin", source=source), cwd="model")


@family.hostile("type.read-missing", "out.empty-on-error")
def unreadable_file_clears_output() -> Draft:
    """An output that held data is empty after a file without permission to read."""
    return scene(File("model/closed.bin", mode=0), calls=read("closed.bin", held=True))


@family.hostile("safe.no-crash", "safe.error-has-text", op=OPS, mode={"nothing": 0, "no-search": 0o444})
def closed_directory(op: Op, mode: int) -> Draft:
    """A {op} in a directory that may not be searched ({mode}) gives an error, not an exception."""
    return scene(File("model/closed/f.bin"), Dir("model/closed", mode=mode), calls=access(op, "closed/f.bin"))


@family.benign("contain.accept-inside")
def unlisted_directory() -> Draft:
    """A read in a directory that may be searched but not listed is accepted."""
    return scene(File("model/closed/f.bin"), Dir("model/closed", mode=0o311), calls=read("closed/f.bin"))


@family.hostile("type.write-parent-missing", mode={"read-only": 0o555, "nothing": 0})
def unwritable_parent(mode: int) -> Draft:
    """A new file in a directory without permission to write ({mode}) gives an error."""
    return scene(Dir("model/closed", mode=mode), calls=write("closed/new.bin"))


@family.benign("contain.accept-inside")
def read_only_file_read() -> Draft:
    """A file that may only be read is read."""
    return scene(File("model/read-only.bin", mode=0o444), calls=read("read-only.bin"))


@family.hostile("type.write-replaces", place={"file": "read-only.bin", "link": "link"})
def read_only_file_write(place: str) -> Draft:
    """A file that may only be read is replaced whole or not at all ({place})."""
    entries = (File("model/read-only.bin", mode=0o444), Link("model/link", "read-only.bin"))
    return scene(*entries, calls=write(place))


@family.hostile("type.write-replaces", attribute=("immutable", "append-only"))
def attribute_write(attribute: str) -> Draft:
    """A write to a file that the system protects ({attribute}) reports an error and leaves it whole."""
    protected = File("model/kept.bin", attribute="immutable" if attribute == "immutable" else "append-only")
    return scene(protected, calls=write("kept.bin"))


@family.benign("contain.accept-inside", attribute=("immutable", "append-only"))
def attribute_read(attribute: str) -> Draft:
    """A read of a file that the system protects ({attribute}) is accepted."""
    protected = File("model/kept.bin", attribute="immutable" if attribute == "immutable" else "append-only")
    return scene(protected, calls=read("kept.bin"))


@family.hostile("type.write-parent-missing", "safe.error-has-text")
def read_only_mount_write() -> Draft:
    """A new file in a model directory on a read-only file system gives an error."""
    frozen = Mount("frozen", size=1 << 16, readonly=True)
    return scene(frozen, calls=write("new.bin"), model=Model(given="{root}/frozen/model.onnx"))


# --- missing ----------------------------------------------------------------------------------------------------------------


@family.hostile(
    "type.read-missing",
    "safe.error-has-text",
    name={"plain": "none.bin", "nested": "sub/none.bin", "parent": "none/none.bin", "around": "sub/../none.bin"},
    source=SOURCES,
)
def missing_read(name: str, source: Source) -> Draft:
    """A read of a missing file by the {source} gives an error and creates nothing ({name})."""
    return scene(calls=read(name, source=source), cwd="model")


@family.hostile(
    "type.write-parent-missing",
    name={"one": "none/new.bin", "two": "none/none/new.bin", "below": "sub/none/new.bin"},
    source=SOURCES,
)
def missing_parent(name: str, source: Source) -> Draft:
    """A write by the {source} into a missing directory gives an error, and no directory is made ({name})."""
    return scene(calls=write(name, source=source), cwd="model")


# --- regular files ----------------------------------------------------------------------------------------------------------


@family.benign("contain.accept-inside", op=OPS, beside={word: SPECIAL[word] for word in ("fifo", "fifo-with-writer", "socket")})
def beside_special(op: Op, beside: Entry) -> Draft:
    """A {op} of a regular file beside a special one ({beside}) is accepted."""
    return scene(beside, calls=access(op, "good.bin"))


@family.benign(
    "contain.accept-inside",
    op=OPS,
    name={"fifo": "fifo", "null": "null", "dev": "dev/zero", "device": "socket.sock", "script": "run.sh"},
)
def named_like_special(op: Op, name: str) -> Draft:
    """A {op} of a regular file is accepted whatever its name suggests ({name})."""
    return scene(File(f"model/{name}"), calls=access(op, name))


@family.benign("contain.accept-inside", op=OPS, mode={"private": 0o600, "all": 0o666, "executable": 0o755, "sticky": 0o1644})
def mode_of_file(op: Op, mode: int) -> Draft:
    """A {op} of a regular file is accepted with each usual mode ({mode})."""
    return scene(File("model/f.bin", mode=mode), calls=access(op, "f.bin"))


@family.benign("contain.accept-inside", op=OPS)
def on_another_file_system(op: Op) -> Draft:
    """A {op} in a model directory that is a file system of its own is accepted."""
    disk = (Mount("disk", size=1 << 20), File("disk/f.bin"))
    return scene(*disk, calls=access(op, "f.bin"), model=Model(given="{root}/disk/model.onnx"))


@family.benign("type.write-replaces", source=SOURCES)
def regular_write(source: Source) -> Draft:
    """A write by the {source} to a regular file is accepted."""
    return scene(calls=write("good.bin", source=source), cwd="model")


@family.benign("size.exact", source=SOURCES)
def regular_read(source: Source) -> Draft:
    """A read by the {source} of a regular file is accepted."""
    return scene(calls=read("good.bin", source=source), cwd="model")
