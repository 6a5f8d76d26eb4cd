"""How much lies at the name: every size around the edges of buffers, holes, files that change, and disks that are full."""

from __future__ import annotations

from epctx.attack import BRISK, Draft, Family, Source, read, scene, write
from epctx.case import Call, Content, Entry, File, Limits, Link, Model, Mount, Resize

family = Family(
    "sizes", "Sizes around the edges of buffers, sparse and huge files, files that change, and writes that do not fit."
)

SIZES = {
    "0": 0,
    "1": 1,
    "63": 63,
    "64": 64,
    "1023": 1023,
    "1024": 1024,
    "1025": 1025,
    "4095": 4095,
    "4096": 4096,
    "4097": 4097,
    "8191": 8191,
    "8192": 8192,
    "8193": 8193,
    "65535": 65535,
    "65536": 65536,
    "1048576": 1 << 20,
}
"""The axis of sizes."""

SOME = {word: SIZES[word] for word in ("1", "1023", "1024", "1025", "4096", "4097", "65536", "1048576")}
NOT_EMPTY = {word: size for word, size in SIZES.items() if size}

# --- exact ------------------------------------------------------------------------------------------------------------------


@family.benign("size.exact", size=NOT_EMPTY)
def read_exact(size: int) -> Draft:
    """A file of {size} bytes is read whole, NUL bytes included."""
    return scene(File("model/f.bin", Content("exact", size)), calls=read("f.bin"))


@family.benign("size.exact", size=NOT_EMPTY)
def write_exact(size: int) -> Draft:
    """A payload of {size} bytes is written whole into a new file."""
    return scene(calls=write("new.bin", payload=Content("exact", size)))


@family.benign("size.empty-file", source=("model", "caller"))
def read_empty(source: Source) -> Draft:
    """An empty file is an empty success ({source})."""
    return scene(File("model/empty.bin", Content("empty", 0)), calls=read("empty.bin", source=source), cwd="model")


@family.benign("size.empty-file")
def read_empty_replaces_output() -> Draft:
    """An empty file leaves nothing of what the output held before."""
    return scene(File("model/empty.bin", Content("empty", 0)), calls=read("empty.bin", held=True))


@family.benign("size.exact", size=SOME)
def read_replaces_output(size: int) -> Draft:
    """A file of {size} bytes replaces what the output held before."""
    return scene(File("model/f.bin", Content("replacing", size)), calls=read("f.bin", held=True))


@family.benign("size.empty-file", payload={"empty": Content("empty", 0), "null": None}, target=("new", "existing"))
def write_empty(payload: Content | None, target: str) -> Draft:
    """A payload of no bytes ({payload}) makes an empty file ({target})."""
    return scene(calls=write("new.bin" if target == "new" else "good.bin", payload=payload))


@family.benign("size.exact", size={"4096": 4096, "100000": 100_000, "1048576": 1 << 20})
def read_hole_then_data(size: int) -> Draft:
    """A sparse file of {size} bytes is read whole, its hole as zeros."""
    return scene(File("model/sparse.bin", Content("sparse", size, sparse=True)), calls=read("sparse.bin"))


@family.benign("size.exact", size={"1024": 1024, "1048576": 1 << 20})
def round_trip(size: int) -> Draft:
    """A payload of {size} bytes is read back as it was written."""
    return scene(calls=(write("new.bin", payload=Content("round trip", size)), read("new.bin")))


# --- replaced ---------------------------------------------------------------------------------------------------------------


@family.benign(
    "type.write-replaces",
    sizes={
        "longer-by-1": (1024, 1023),
        "longer": (100_000, 10),
        "longer-by-a-page": (8192, 4096),
        "same": (4096, 4096),
        "shorter-by-1": (1023, 1024),
        "shorter": (10, 100_000),
        "empty-before": (0, 100),
        "empty-after": (100, 0),
    },
)
def replaced(sizes: tuple[int, int]) -> Draft:
    """An existing file is replaced exactly, with no tail of its old bytes (before it was {sizes})."""
    before, after = sizes
    return scene(File("model/f.bin", Content("before", before)), calls=write("f.bin", payload=Content("after", after)))


@family.benign("type.write-replaces")
def replaced_through_link() -> Draft:
    """A file is replaced exactly through a link that stays inside."""
    return scene(File("model/f.bin", Content("before", 100_000)), Link("model/link", "f.bin"), calls=write("link"))


@family.benign("type.write-replaces", "size.exact")
def replaced_twice() -> Draft:
    """Of two writes to one name the second one counts."""
    first, second = Content("first", 5000), Content("second", 100)
    return scene(calls=(write("new.bin", payload=first), write("new.bin", payload=second), read("new.bin")))


# --- large ------------------------------------------------------------------------------------------------------------------


@family.benign("mem.single-copy", "size.exact")
def read_64_mib() -> Draft:
    """A file of 64 MiB is read whole, and memory holds it once."""
    return scene(File("model/f.bin", Content("large", 64 << 20)), calls=read("f.bin"), limits=Limits(seconds=20))


@family.benign("size.exact")
def write_64_mib() -> Draft:
    """A payload of 64 MiB is written whole."""
    return scene(calls=write("new.bin", payload=Content("large", 64 << 20)), limits=Limits(seconds=20))


@family.benign("size.exact")
def read_beyond_2_gib() -> Draft:
    """A sparse file just above 2 GiB, whose size no signed 32 bits hold, is read whole."""
    sparse = Content("beyond", (2 << 30) + 1, sparse=True)
    return scene(File("model/f.bin", sparse), calls=read("f.bin"), limits=Limits(seconds=60, memory=6 << 30))


@family.hostile("size.cap", "safe.no-crash", source=("model", "caller"), output=("fresh", "held"))
def read_1_tib(source: Source, output: str) -> Draft:
    """A sparse file of 1 TiB is refused before its size is allocated ({source}, {output} output)."""
    huge = File("model/f.bin", Content("huge", 1 << 40, sparse=True))
    return scene(huge, calls=read("f.bin", source=source, held=output == "held"), cwd="model", limits=BRISK)


# --- changing ---------------------------------------------------------------------------------------------------------------


@family.hostile(
    "size.file-changes",
    to={"0": 0, "1": 1, "half": 4096, "less-1": 8191, "more-1": 8193, "double": 16384},
    link=("direct", "link"),
)
def changes_while_read(to: int, link: str) -> Draft:
    """A file of 8,192 bytes that becomes {to} while it is read gives an error or one of its states ({link})."""
    entries = (File("model/f.bin", Content("changing", 8192)), Link("model/link", "f.bin"))
    return scene(*entries, calls=read("f.bin" if link == "direct" else "link", resize=Resize("model/f.bin", to)))


# --- writes that do not fit -------------------------------------------------------------------------------------------------


def on_disk(size: int, *entries: Entry, calls: Call) -> Draft:
    """A model directory that is a file system of its own, of ``size`` bytes, whose first page is taken."""
    disk = (Mount("disk", size=size), File("disk/fill.bin", Content("fill", 4096)))
    return scene(*disk, *entries, calls=calls, model=Model(given="{root}/disk/model.onnx"))


@family.hostile("size.short-write-reported", size=NOT_EMPTY, target=("new", "existing"))
def file_size_limit(size: int, target: str) -> Draft | None:
    """A payload of {size} bytes that is one byte too long for the process's limit is reported ({target} file)."""
    name = "new.bin" if target == "new" else "good.bin"
    return scene(calls=write(name, payload=Content("too long", size)), limits=Limits(file_size=size - 1))


@family.hostile("size.short-write-reported", "write.atomic", size=NOT_EMPTY)
def full_disk(size: int) -> Draft:
    """A payload of {size} bytes on a full file system is reported."""
    return on_disk(4096, calls=write("new.bin", payload=Content("too long", size)))


@family.hostile("size.short-write-reported", "write.atomic", size={"8192": 8192, "65536": 65536, "1048576": 1 << 20})
def nearly_full_disk(size: int) -> Draft:
    """A payload of {size} bytes of which only the first page fits is reported."""
    return on_disk(8192, calls=write("new.bin", payload=Content("too long", size)))


@family.hostile("write.atomic", "size.short-write-reported", size={"8192": 8192, "65536": 65536})
def failed_write_keeps_old_file(size: int) -> Draft:
    """After a write of {size} bytes that does not fit, the old file is whole, and nothing half written lies beside it."""
    old = File("disk/old.bin", Content("old", 100))
    return on_disk(8192, old, calls=write("old.bin", payload=Content("too long", size)))


@family.benign("size.exact", size=SOME)
def exactly_at_the_limit(size: int) -> Draft:
    """A payload of {size} bytes, as many as the process may write, is written whole."""
    return scene(calls=write("new.bin", payload=Content("fits", size)), limits=Limits(file_size=size))


@family.benign("size.exact", size={"1": 1, "4096": 4096})
def fits_on_disk(size: int) -> Draft:
    """A payload of {size} bytes for which there is just room is written whole."""
    return on_disk(64 << 10, calls=write("new.bin", payload=Content("fits", size)))
