"""Cases: what is tested, as pure data.

A *case* is one complete, serialisable test input: a *world* of files, a *model* that lies in it, and one or more *calls* on a
target. Everything here is a frozen struct that maps one to one to JSON (see ``epctx.case_file``); nothing here touches a file.

Paths and names
    A *world path* names an entry of the world: relative to the world's root, ``/`` between components, without ``.``, ``..``
    or empty components. A *name* is what an attacker controls: any bytes. Both are written as a plain string where they are
    UTF-8, and as a tuple of pieces where they are not, or where a piece repeats.

    ``{root}`` inside a string stands for the absolute path of the world's root (it starts with ``/`` and has no slash at its
    end): ``"{root}/outside/secret.bin"`` is an absolute name, ``"../../..{root}/outside/secret.bin"`` one that climbs to ``/``
    and comes down again. Without it a name can climb four directories above the world's root, into the margin, and no further.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Literal, TypeAlias

import msgspec

from epctx.remember import remembered

FORMAT = 1
"""Version of the case format; a file with another one is refused."""

ROOT_TOKEN = "{root}"
ROOT_DEPTH = 8
"""Number of components of the real path of every world's root, so that a name which climbs lands equally deep everywhere."""

OK, FAIL, INVALID_ARGUMENT, NOT_IMPLEMENTED = 0, 1, 2, 9
"""The members of OrtErrorCode that the specification names."""


class Struct(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Base of all data: immutable, compared by value, strict about unknown fields, and never part of a cycle."""


class Piece(Struct, frozen=True):
    """A part of a name: ``text`` (UTF-8) or ``hex`` (any bytes), repeated ``times`` times."""

    text: str = ""
    hex: str = ""
    times: int = 1


Name: TypeAlias = str | tuple[Piece, ...]


def raw(name: Name, root: bytes = ROOT_TOKEN.encode()) -> bytes:
    """The bytes of a name, with ``{root}`` replaced by ``root``."""
    if isinstance(name, str):
        data = name.encode()
        return data.replace(b"{root}", root) if "{" in name else data
    return b"".join((bytes.fromhex(p.hex) if p.hex else p.text.encode().replace(b"{root}", root)) * p.times for p in name)


def name_of(data: bytes) -> Name:
    """The shortest readable name for ``data``; the inverse of ``raw`` for bytes without ``{root}``."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return (Piece(hex=data.hex()),)


def visible(text: str) -> str:
    """A text for people on one line: what does not print, control characters and what turns text around, as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shown(name: Name | bytes | None, limit: int = 72) -> str:
    """A name for people: printable, control and invalid bytes escaped, long ones shortened to about ``limit`` characters."""
    if name is None:
        return "NULL"
    if isinstance(name, str) and len(name) <= limit and name.isascii() and name.isprintable():
        return name
    data = name if isinstance(name, bytes) else raw(name)
    text = visible(data[: 4 * limit].decode("utf-8", "backslashreplace"))
    if len(text) > limit or len(data) > 4 * limit:
        text = f"{text[: limit - 20]}… ({len(data)} bytes)"
    return text


# --- contents ---------------------------------------------------------------------------------------------------------------


class Content(Struct, frozen=True):
    """Bytes that occur nowhere else: a stream derived from ``key``, ``size`` bytes long.

    A ``sparse`` content is a hole of zeros whose last 64 bytes (or all, if shorter) are the stream.
    """

    key: str
    size: int = 96
    sparse: bool = False


TAIL = 64
"""Bytes of data at the end of a sparse content."""


@functools.lru_cache(maxsize=4096)
def token(key: str) -> bytes:
    """32 bytes that mark every content of this key; they lead each content of at least that size, and recur in it."""
    return hashlib.sha256(b"epctx content\0" + key.encode("utf-8", "surrogatepass")).digest()


@functools.lru_cache(maxsize=512)
def stream(key: str, size: int) -> bytes:
    """The first ``size`` bytes of the stream of ``key``: its token, over and over, each round with its number mixed in."""
    mark, rounds = token(key), size // 36 + 1
    if size <= 1 << 16:
        return b"".join(mark + n.to_bytes(4, "little") for n in range(rounds))[:size]
    block = b"".join(mark + n.to_bytes(4, "little") for n in range(1821))  # 65,556 bytes: never in step with a page or a buffer
    return (block * (size // len(block) + 1))[:size]


# --- the world --------------------------------------------------------------------------------------------------------------


class Dir(Struct, frozen=True, tag="dir"):
    """A directory. Parents of every entry are made by themselves; one is declared for its mode or because it is empty."""

    path: Name
    mode: int = 0o755


class File(Struct, frozen=True, tag="file"):
    """A regular file. Its content is derived from its path unless given. Outside the model directory it is a *canary*."""

    path: Name
    content: Content | None = None
    mode: int = 0o644
    attribute: Literal["", "immutable", "append-only"] = ""


class Link(Struct, frozen=True, tag="link"):
    """A symbolic link whose text is ``to``, byte for byte; absolute texts start with ``{root}``, /proc/self/ or a device."""

    path: Name
    to: Name


class HardLink(Struct, frozen=True, tag="hardlink"):
    """A second name ``path`` of the file (or link) at the world path ``to``."""

    path: Name
    to: Name


class Fifo(Struct, frozen=True, tag="fifo"):
    """A named pipe that nobody has open, or one that a ``writer`` feeds slowly and without end."""

    path: Name
    writer: bool = False


class Socket(Struct, frozen=True, tag="socket"):
    """A unix socket that is bound and that nobody listens to."""

    path: Name


class Device(Struct, frozen=True, tag="device"):
    """A device node. ``whiteout`` is character device 0:0; ``block`` a block device without a driver."""

    path: Name
    device: Literal["null", "zero", "full", "tty", "whiteout", "block"]


class Mount(Struct, frozen=True, tag="mount"):
    """A mount point: the directory or file at the world path ``of`` bound there; or, without it, a file system of ``size`` bytes,
    read-only if ``readonly``."""

    path: Name
    of: Name | None = None
    size: int = 0
    readonly: bool = False


Entry: TypeAlias = Dir | File | Link | HardLink | Fifo | Socket | Device | Mount


class World(Struct, frozen=True):
    """The files around a model, in the order in which they are made. ``cwd`` is the world path that the target runs in."""

    entries: tuple[Entry, ...] = ()
    cwd: Name = ""


def content_of(file: File) -> Content:
    """What a file holds: its own content, or the one derived from its path."""
    return file.content if file.content is not None else _derived(file.path)


@functools.lru_cache(maxsize=4096)
def _derived(path: Name) -> Content:
    return Content(shown(path, 1 << 20))


# --- the model --------------------------------------------------------------------------------------------------------------


class Attribute(Struct, frozen=True):
    """An attribute of an EPContext node, of any type: exactly one of the values is set, or none of them for an empty one."""

    name: str
    text: Name | None = None
    number: int | None = None
    real: float | None = None
    texts: tuple[Name, ...] | None = None
    numbers: tuple[int, ...] | None = None


class Node(Struct, frozen=True):
    """A node of the model, with exactly these attributes (an attribute may be missing, doubled or of a wrong type)."""

    attributes: tuple[Attribute, ...]
    domain: str = "com.microsoft"
    op_type: str = "EPContext"


class Pair(Struct, frozen=True):
    """A key of a tensor's external data with its value, which like all texts of a model may be any bytes."""

    key: str
    value: Name


class External(Struct, frozen=True):
    """What a model with external data says of its tensor beside the location: ``pairs`` after that one, in order, and how many
    bytes it has (None: as many as the data that it names)."""

    pairs: tuple[Pair, ...] = ()
    size: int | None = None


class Model(Struct, frozen=True):
    """The EPContext model. It lies at world path ``path``; the runtime was given the string ``given``, "" for one from memory.

    The model directory is the directory part of ``given``, resolved from the world's ``cwd``. Without ``nodes`` the model has one
    EPContext node for each call whose name comes from it; with them it has those, for calls with op ``load``.

    Where a target loads external data instead, the model has a tensor whose location is the name of the call; a case with
    ``external`` is for such targets alone.
    """

    path: Name = "model/model.onnx"
    given: Name = "{root}/model/model.onnx"
    nodes: tuple[Node, ...] = ()
    external: External | None = None


# --- calls ------------------------------------------------------------------------------------------------------------------


class Callback(Struct, frozen=True):
    """A scripted application callback: it answers with ``code`` and ``text``, and a read with ``content`` (None: a NULL buffer).

    A content beside another code than OK is a buffer that the callback leaves behind when it fails.
    """

    content: Content | None = None
    code: int = OK
    text: Name = ""
    size: int | None = None
    """read: what it says the size of the buffer is; None: the truth."""
    waits: int = 0
    """Before it answers, it waits until so many invocations are in flight at once, for half a second at most."""
    reenters: Name | None = None
    """Before it answers, it reads or writes this name through the target, by the same config."""
    null_state: bool = False
    """Whether it is registered with NULL for its state, rather than a pointer of its own."""


class Resize(Struct, frozen=True):
    """While the target allocates its buffer, the file at world path ``path`` is cut or grown to ``size`` bytes."""

    path: Name
    size: int


class Race(Struct, frozen=True):
    """The call is made ``rounds`` times while another thread changes what the world paths ``a`` and ``b`` mean, without pause.

    ``exchange``: the entries at both change places. ``move``: the entry at ``a`` is moved to ``b``, where nothing is, and back.
    ``chdir``: the working directory is now the one, now the other.
    """

    a: Name
    b: Name
    rounds: int = 300
    how: Literal["exchange", "move", "chdir"] = "exchange"


class Share(Struct, frozen=True):
    """What a thread does in a round: it reads ``content`` at ``name``, or writes it there; None must be refused.

    Without callbacks the name is that of a file of the world.
    """

    op: Literal["read", "write"]
    name: Name
    content: Content | None


class Threads(Struct, frozen=True):
    """``count`` threads at once, each of which makes ``rounds`` calls: thread *t* in round *r* works on share *t + r · count*,
    around.

    Where the call has callbacks, they are asked by the names of the shares, and answer with their contents. ``configs`` is
    whether all threads have ``one`` config, or ``each`` share has one, with a state of its own.
    """

    shares: tuple[Share, ...]
    count: int = 4
    rounds: int = 50
    configs: Literal["one", "each"] = "one"


class Step(Struct, frozen=True):
    """A step of an application, or of an EP, on the functions of the runtime that make, fill and read configs.

    ``options``, ``config``, ``function`` and ``state`` are numbers of objects, which are made when they are first named; None is
    NULL. ``without`` names the output argument that is NULL.
    """

    do: Literal["set-read", "set-write", "take", "get-read", "get-write", "release-config", "release-options", "cycle"]
    """set-read, set-write: registers ``function`` with ``state`` on session options, or on compile options, which can only be
    NULL: others need an environment; take: takes ``config`` from the session options; cycle: takes and releases many configs."""
    options: int | None = 0
    config: int | None = 0
    function: int | None = 0
    state: int | None = 0
    without: Literal["", "config", "function", "state"] = ""


class Call(Struct, frozen=True):
    """One call on the target.

    ``op`` is ``read``, ``write``, ``load`` (walk the EPContext nodes of the model and read what each names), or ``config`` (make
    ``steps`` on the runtime that the target sees). A name from the ``model`` is untrusted and confined to the model directory
    (graph != nullptr); one from the ``caller`` is trusted.
    """

    op: Literal["read", "write", "load", "config"]
    name: Name | None = None
    source: Literal["model", "caller"] = "model"
    payload: Content | None = Content("payload")
    """write: the bytes to write; None is a NULL buffer."""
    null_size: int = 0
    """write: the size that is given with a NULL buffer."""
    fallback: Name | msgspec.UnsetType | None = msgspec.UNSET
    """write: the separate name for the disk; unset calls the overload without it."""
    read_callback: Callback | None = None
    write_callback: Callback | None = None
    config: bool = False
    """Whether the target gets a config although no callback is registered in it; with a callback it always gets one."""
    embeds: bool = False
    """write: what an execution provider compiles goes into the model, and not under the name."""
    runs: bool = False
    """write: what was compiled is then loaded and run; it is an error if it does not give what its source gives."""
    allocator: Literal["default", "caller", "null", "error"] = "default"
    """read: none given, the caller's own, one whose Alloc gives NULL, or the C API's AllocatorAlloc gives an error status."""
    held: bool = False
    """read: the output holds data of an earlier read before the call."""
    moves: bool = False
    """read: afterwards the output is moved, move-assigned, moved onto itself and replaced, before another thread destroys it."""
    accessors: bool = True
    """Whether the runtime offers the functions that give the callbacks of a config; without them a config is of no use."""
    support: Literal["both", "none", "read", "write", "unknown", "error", "old"] | None = None
    """Which callbacks the execution provider of a session advertises, and uses; None: as it does by itself, which is both.

    ``unknown`` and ``error`` use both, but advertise a flag that nobody knows, or fail when they are asked (NOT_IMPLEMENTED).
    ``old`` uses none: it is built for ONNX Runtime 1.30, and is not asked.
    """
    lingers: bool = False
    """Whether the harness stays for a moment after the call, to see callbacks that come late."""
    resize: Resize | None = None
    race: Race | None = None
    threads: Threads | None = None
    """Many calls in place of one, whose names and payloads are those of the shares: ``name`` and ``payload`` are then None."""
    steps: tuple[Step, ...] = ()
    """config: what is done, in order. What is left in the end is released."""

    @property
    def names(self) -> tuple[Name, ...]:
        """The names that it uses, in order: its own, or those of its shares."""
        if self.threads:
            return tuple([share.name for share in self.threads.shares])
        return () if self.name is None else (self.name,)

    def of(self, share: Share) -> Call:
        """The call that a thread makes for a share, as a call by itself."""
        read, write = (
            None if callback is None else Callback(share.content) for callback in (self.read_callback, self.write_callback)
        )
        return msgspec.structs.replace(
            self,
            op=share.op,
            name=share.name,
            payload=share.content,
            read_callback=read if share.op == "read" else None,
            write_callback=write if share.op == "write" else None,
            threads=None,
        )

    @property
    def as_used(self) -> Call:
        """The same without callbacks that are of no use: those that its provider does not advertise; all, for embedded data."""
        if not self.embeds and self.support in (None, "both", "unknown", "error"):
            return self
        return _as_used(self)

    @property
    def secrets(self) -> tuple[Content, ...]:
        """The plaintext that is for callbacks alone: what one answers a read with, and what one is given to write."""
        if not self.read_callback and not self.write_callback:
            return ()
        if self.threads:
            return tuple(dict.fromkeys(content for share in self.threads.shares for content in self.of(share).secrets))
        used = self.as_used
        given = (self.payload if self.op == "write" and used.write_callback else None,)
        answered = (used.read_callback.content if self.op != "write" and used.read_callback else None,)
        return tuple(content for content in (*given, *answered) if content is not None and content.size)


@remembered()
def _as_used(call: Call) -> Call:
    if call.embeds:
        return msgspec.structs.replace(call, read_callback=None, write_callback=None)
    read = call.read_callback if call.support == "read" else None
    return msgspec.structs.replace(
        call, read_callback=read, write_callback=call.write_callback if call.support == "write" else None
    )


class Limits(Struct, frozen=True):
    """What a case lets its target use: wall seconds a call, bytes of address space, largest file that it may write (bytes)."""

    seconds: float = 3.0
    memory: int = 8 << 30
    file_size: int | None = None


# --- expectations -----------------------------------------------------------------------------------------------------------


class Expect(Struct, frozen=True):
    """What the specification says about one call, made by ``epctx.spec.predict``.

    ``rule`` is the id of the rule that decides and ``why`` the reason in one sentence. On ``refuse`` the ``status`` is the code
    demanded (None: any error), and ``file`` one that may be opened before, as its name is a good one. On ``accept``, and where an
    ``either`` was accepted, ``file`` is the world path of the one file that may be opened (read) or must hold the payload
    afterwards (write), and ``content`` what is read or written (None: as the file was before the call). ``instead`` is what may
    be accepted in its place, where ways to resolve a name that are both safe lead to two files.
    """

    outcome: Literal["accept", "refuse", "either"]
    rule: str
    why: str
    status: int | None = None
    file: Name | None = None
    content: Content | None = None
    instead: Expect | None = None


Platform: TypeAlias = Literal["posix", "windows", "macos"]
"""Whose rules names follow: on macOS those of POSIX, but that case does not count."""
Sanitizer: TypeAlias = Literal["address", "undefined", "thread"]
"""The sanitizers of C++ compilers that a target can be built with and run under."""


class Case(Struct, frozen=True):
    """One test input. ``id`` is ``family/slug`` or ``family/slug[variant]`` and never reused; ``rules`` are those it aims at."""

    id: str
    summary: str
    intent: Literal["control", "benign", "hostile"]
    rules: tuple[str, ...]
    world: World
    calls: tuple[Call, ...]
    model: Model = Model()
    limits: Limits = Limits()
    expect: tuple[Expect, ...] = ()
    """One for each call; empty means that the specification is asked."""

    @property
    def family(self) -> str:
        """The family that the case belongs to."""
        return self.id.partition("/")[0]

    @property
    def heavy(self) -> bool:
        """Whether the case costs seconds or gigabytes rather than microseconds."""
        if _holds_heavy(self.world):
            return True
        for call in self.calls:
            answer = call.read_callback.content if call.read_callback else None
            if call.race or _heavy(answer) or (call.op == "write" and _heavy(call.payload)):
                return True
        return False


@remembered()
def _holds_heavy(world: World) -> bool:
    return any(_heavy(entry.content) for entry in world.entries if isinstance(entry, File))


def _heavy(content: Content | None) -> bool:
    return content is not None and (16 << 20) < content.size < (1 << 40)
