"""The check that a case is one that may be built: within the limits, and with nothing that reaches out of its world."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import msgspec

from epctx.case import (
    ROOT_TOKEN,
    Attribute,
    Call,
    Callback,
    Case,
    Content,
    Dir,
    External,
    File,
    HardLink,
    Link,
    Mount,
    Name,
    Race,
    Threads,
    World,
    content_of,
    name_of,
    raw,
    shown,
)
from epctx.case_reach import Wrong, attributes_of, reach, reach_of_names, reach_of_world
from epctx.errors import CaseError
from epctx.remember import remembered
from epctx.spec.config import FUNCTIONS, PLACES, step_expectations
from epctx.spec.scene import Scene, scene_of
from epctx.spec.tree import NAME_MAX, PATH_MAX, ROOT, Place, Tree

MAX_ENTRIES = 256
MAX_CALLS = 64
MAX_WAITS = 64
MAX_CLAIM = (1 << 63) - 1
"""A size that is only said: nothing is allocated for it."""
MAX_STEPS = 64
MAX_ROUNDS = 10_000
MAX_THREADS = 32
MAX_SHARES = 64
MAX_SHARE = 1 << 20
"""Bytes of a share's content."""
MAX_DEPTH = 32
MAX_PATH = 3500
"""Bytes of a world path, so that it stays a path when the world's root stands before it."""
MAX_NAMES = 2 << 20
"""Bytes of all names of a case together, spelled out."""
MAX_PIECES = 4096
MAX_CONTENT = 64 << 20
MAX_CONTENTS = 1 << 30
"""Bytes of all contents that are not sparse."""
MAX_SPARSE = 2 << 40
MAX_FILE_SYSTEM = 1 << 30
MAX_SECONDS = 60.0
MAX_MEMORY = 64 << 30
MAX_NODES = 256
MAX_WORDS = 4096
"""Characters of a summary, a key, or the name of an attribute."""
CANARY = 32
"""A file outside the model directory has at least so many bytes, so that they can be told from all others, or none."""

_ID = re.compile(r"[a-z][a-z0-9-]*/[a-z0-9][a-z0-9.-]*(\[[a-z0-9.\-_=,+]+\])?")
_RULE = re.compile(r"[a-z]+\.[a-z0-9-]+")
_HEX = re.compile(r"([0-9a-fA-F]{2})*")


def validate(case: Case, where: str = "case") -> None:
    """Raise ``CaseError``, in one sentence that starts with ``where``, if the case must not be built or run."""
    try:
        _head(case)
        _sizes(case)
        _world(case.world)
        tree = _tree(case)
        reach(case, tree)
        _canaries(case, tree)
        _calls(case, tree)
    except Wrong as wrong:
        raise CaseError(f"{where}: {wrong.at}: {wrong}") from None


def validate_names(case: Case, where: str = "case") -> None:
    """The same for a case in which only the names are in doubt, and of which many have the same world: that is looked at once."""
    try:
        scene = scene_of(case, "posix")
        if case.model.given not in (reached := _reached(case.world)):
            reach_of_world(case, scene.tree)
            reached.add(case.model.given)
        reach_of_names(case, scene)
    except Wrong as wrong:
        raise CaseError(f"{where}: {wrong.at}: {wrong}") from None


@remembered(512)
def _reached(_world: World) -> set[Name]:
    """The paths of models with which a world is known to reach no further than it may."""
    return set()


# --- sizes, before anything is expanded -------------------------------------------------------------------------------------


def _head(case: Case) -> None:
    if len(case.id) > 200 or not _ID.fullmatch(case.id):
        raise Wrong("$.id", f"{case.id[:60]!r} is not an id; write family/slug or family/slug[variant] in lower case")
    if len(case.summary) > MAX_WORDS:
        raise Wrong("$.summary", f"{len(case.summary)} characters are no summary; {MAX_WORDS} are the most")
    for index, rule in enumerate(case.rules):
        if len(rule) > 60 or not _RULE.fullmatch(rule):
            raise Wrong(f"$.rules[{index}]", f"{rule[:60]!r} is not the id of a rule, which looks like contain.parent")
    _count("$.rules", len(case.rules), 64, "rules")
    _count("$.world.entries", len(case.world.entries), MAX_ENTRIES, "entries")
    _count("$.calls", len(case.calls), MAX_CALLS, "calls")
    _count("$.model.nodes", len(case.model.nodes), MAX_NODES, "nodes")
    if not case.calls:
        raise Wrong("$.calls", "a case makes one call at least")
    if case.expect and len(case.expect) != len(case.calls):
        raise Wrong("$.expect", f"{len(case.expect)} expectations for {len(case.calls)} calls; give one for each, or none")
    limits = case.limits
    if not (math.isfinite(limits.seconds) and 0 < limits.seconds <= MAX_SECONDS):
        raise Wrong(
            "$.limits.seconds", f"{limits.seconds} is not a time limit; it is above 0 and at most {MAX_SECONDS:g} seconds"
        )
    _range("$.limits.memory", limits.memory, 1 << 20, MAX_MEMORY)
    if limits.file_size is not None:
        _range("$.limits.file_size", limits.file_size, 0, MAX_SPARSE)


def _count(at: str, count: int, most: int, what: str) -> None:
    if count > most:
        raise Wrong(at, f"{count} {what} are too many; {most} are the most")


def _range(at: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise Wrong(at, f"{_number(value)} is out of range; it lies between {least} and {most}")


def _number(value: int) -> str:
    return str(value) if abs(value) < 1 << 100 else f"a number of {value.bit_length()} bits"


def _sizes(case: Case) -> None:
    total = 0
    for at, name in _names(case):
        total += _size(at, name)
        if total > MAX_NAMES:
            raise Wrong(at, f"the names of the case have more than {MAX_NAMES >> 20} MiB together; shorten them")
    whole = 0
    for at, content in _contents(case):
        if len(content.key) > MAX_WORDS:
            raise Wrong(f"{at}.key", f"{len(content.key)} characters are no key; {MAX_WORDS} are the most")
        if not content.sparse and content.size > MAX_CONTENT:
            raise Wrong(
                f"{at}.size", f"{_number(content.size)} bytes are too many; above {MAX_CONTENT >> 20} MiB a content is sparse"
            )
        _range(f"{at}.size", content.size, 0, MAX_SPARSE)
        whole += 0 if content.sparse else content.size
    if whole > MAX_CONTENTS:
        raise Wrong("$", f"the contents of the case have more than {MAX_CONTENTS >> 30} GiB together; make them sparse or fewer")
    if case.model.external is not None:
        _external("$.model.external", case, case.model.external)
    for index, node in enumerate(case.model.nodes):
        at = f"$.model.nodes[{index}]"
        _count(f"{at}.attributes", len(node.attributes), MAX_NODES, "attributes")
        if len(node.domain) > MAX_WORDS or len(node.op_type) > MAX_WORDS:
            raise Wrong(at, f"a domain or operator of more than {MAX_WORDS} characters is too long")
        for number, attribute in enumerate(node.attributes):
            _attribute(f"{at}.attributes[{number}]", attribute)


def _names(case: Case) -> Iterator[tuple[str, Name]]:
    """Every name of the case with its JSON path."""
    yield "$.world.cwd", case.world.cwd
    for index, entry in enumerate(case.world.entries):
        at = f"$.world.entries[{index}]"
        yield f"{at}.path", entry.path
        if isinstance(entry, Link | HardLink):
            yield f"{at}.to", entry.to
        elif isinstance(entry, Mount) and entry.of is not None:
            yield f"{at}.of", entry.of
    yield "$.model.path", case.model.path
    yield "$.model.given", case.model.given
    for index, pair in enumerate(case.model.external.pairs if case.model.external else ()):
        yield f"$.model.external.pairs[{index}].value", pair.value
    for at, attribute in attributes_of(case):
        for name in (attribute.text, *(attribute.texts or ())):
            if name is not None:
                yield at, name
    for index, call in enumerate(case.calls):
        at = f"$.calls[{index}]"
        if call.name is not None:
            yield f"{at}.name", call.name
        if call.fallback is not None and call.fallback is not msgspec.UNSET:
            yield f"{at}.fallback", call.fallback
        for which, callback in _callbacks(call):
            yield f"{at}.{which}.text", callback.text
            if callback.reenters is not None:
                yield f"{at}.{which}.reenters", callback.reenters
        if call.resize is not None:
            yield f"{at}.resize.path", call.resize.path
        if call.race is not None:
            yield f"{at}.race.a", call.race.a
            yield f"{at}.race.b", call.race.b
        for number, share in enumerate(call.threads.shares if call.threads else ()):
            yield f"{at}.threads.shares[{number}].name", share.name
    for index, expect in enumerate(case.expect):
        if expect.file is not None:
            yield f"$.expect[{index}].file", expect.file


def _callbacks(call: Call) -> Iterator[tuple[str, Callback]]:
    if call.read_callback is not None:
        yield "read_callback", call.read_callback
    if call.write_callback is not None:
        yield "write_callback", call.write_callback


def _contents(case: Case) -> Iterator[tuple[str, Content]]:
    for index, entry in enumerate(case.world.entries):
        if isinstance(entry, File) and entry.content is not None:
            yield f"$.world.entries[{index}].content", entry.content
    for index, call in enumerate(case.calls):
        if call.payload is not None:
            yield f"$.calls[{index}].payload", call.payload
        for which, callback in _callbacks(call):
            if callback.content is not None:
                yield f"$.calls[{index}].{which}.content", callback.content
        for number, share in enumerate(call.threads.shares if call.threads else ()):
            if share.content is not None:
                yield f"$.calls[{index}].threads.shares[{number}].content", share.content
    for index, expect in enumerate(case.expect):
        if expect.content is not None:
            yield f"$.expect[{index}].content", expect.content


def _size(at: str, name: Name) -> int:
    """The bytes of a name, without spelling it out."""
    if isinstance(name, str):
        return _text_size(at, name)
    _count(at, len(name), MAX_PIECES, "pieces")
    total = 0
    for index, piece in enumerate(name):
        here = f"{at}[{index}]"
        if piece.hex and piece.text:
            raise Wrong(here, "a piece has text or hex, not both; make it two")
        if not _HEX.fullmatch(piece.hex):
            raise Wrong(f"{here}.hex", f"{piece.hex[:40]!r} is not hex, which has two digits for each byte")
        _range(f"{here}.times", piece.times, 1, MAX_NAMES)
        total += (_text_size(here, piece.text) + len(piece.hex) // 2) * piece.times
    return total


def _text_size(at: str, text: str) -> int:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise Wrong(at, "the text holds an unpaired surrogate; write such bytes as a piece in hex") from None
    return size + text.count(ROOT_TOKEN) * len(ROOT)


def _external(at: str, case: Case, external: External) -> None:
    if any(call.op not in ("read", "write") or call.source != "model" or call.threads for call in case.calls):
        raise Wrong(at, "only a read or a write of a model's name has external data; leave it out")
    _count(f"{at}.pairs", len(external.pairs), MAX_NODES, "pairs")
    for index, pair in enumerate(external.pairs):
        if len(pair.key) > MAX_WORDS:
            raise Wrong(f"{at}.pairs[{index}].key", f"{len(pair.key)} characters are no key; {MAX_WORDS} are the most")
        _text_size(f"{at}.pairs[{index}].key", pair.key)
    if external.size is not None:
        _range(f"{at}.size", external.size, 0, MAX_CLAIM)


def _attribute(at: str, attribute: Attribute) -> None:
    if len(attribute.name) > MAX_WORDS:
        raise Wrong(f"{at}.name", f"{len(attribute.name)} characters are no name of an attribute; {MAX_WORDS} are the most")
    values = (attribute.text, attribute.number, attribute.real, attribute.texts, attribute.numbers)
    if sum(value is not None for value in values) > 1:
        raise Wrong(at, "an attribute has one value; give one of text, number, real, texts and numbers")
    for number in (attribute.number, *(attribute.numbers or ())):
        if number is not None:
            _range(at, number, -(1 << 63), (1 << 63) - 1)
    if attribute.real is not None and not math.isfinite(attribute.real):
        raise Wrong(f"{at}.real", "the number is not finite")
    _count(f"{at}.texts", len(attribute.texts or ()), MAX_PIECES, "texts")
    _count(f"{at}.numbers", len(attribute.numbers or ()), 1 << 16, "numbers")


# --- the world --------------------------------------------------------------------------------------------------------------


def _path(at: str, name: Name) -> bytes:
    """The bytes of a world path, if it is one."""
    path = raw(name)
    text = shown(path)
    if not path:
        raise Wrong(at, "a world path is not empty; name an entry of the world")
    if len(path) > MAX_PATH:
        raise Wrong(at, f"a world path of {len(path)} bytes is too long; {MAX_PATH} are the most")
    if b"\0" in path:
        raise Wrong(at, f"{text} holds a NUL, which no file name can")
    if ROOT_TOKEN.encode() in path:
        raise Wrong(at, f"{text} holds {ROOT_TOKEN}; a world path starts at the world's root anyway")
    if path.startswith(b"/"):
        raise Wrong(at, f"{text} is absolute; a world path is relative to the world's root")
    parts = path.split(b"/")
    if b"." in parts or b".." in parts:
        raise Wrong(at, f"{text} holds `.` or `..` as a component; name the entry directly")
    if b"" in parts:
        raise Wrong(at, f"{text} holds an empty component; write one slash between components and none at the end")
    if len(parts) > MAX_DEPTH:
        raise Wrong(at, f"{text} is {len(parts)} components deep; {MAX_DEPTH} are the most")
    if any(len(part) > NAME_MAX for part in parts):
        raise Wrong(at, f"{text} has a component of more than {NAME_MAX} bytes, which no file system takes")
    return path


def _world(world: World) -> None:
    for index, entry in enumerate(world.entries):
        at = f"$.world.entries[{index}]"
        _path(f"{at}.path", entry.path)
        if isinstance(entry, HardLink):
            _path(f"{at}.to", entry.to)
        elif isinstance(entry, Dir | File):
            _range(f"{at}.mode", entry.mode, 0, 0o7777)
        elif isinstance(entry, Mount):
            _range(f"{at}.size", entry.size, 0, MAX_FILE_SYSTEM)
            if entry.of is not None:
                of, path = _path(f"{at}.of", entry.of), raw(entry.path)
                if path == of or path.startswith(of + b"/"):
                    raise Wrong(f"{at}.of", f"{shown(of)} contains the mount point {shown(path)} and cannot be shown in itself")
        elif isinstance(entry, Link):
            _link_text(f"{at}.to", raw(entry.to, ROOT))


def _link_text(at: str, text: bytes) -> None:
    if not text:
        raise Wrong(at, "the text of a link is not empty; name its target")
    if b"\0" in text:
        raise Wrong(at, "the text of a link cannot hold a NUL")
    if len(text) >= PATH_MAX - 1:
        raise Wrong(at, f"the text of a link has {len(text)} bytes; {PATH_MAX - 2} are the most")


def _tree(case: Case) -> Tree:
    """The world as a tree, made entry by entry so that the first one that does not fit is named."""
    tree = Tree(World())
    for index, entry in enumerate(case.world.entries):
        at = f"$.world.entries[{index}]"
        try:
            if isinstance(entry, HardLink):
                _hard_link(at, tree, entry)
            tree.add(entry)
        except CaseError as error:
            raise Wrong(at, str(error)) from None
    try:
        path = _path("$.model.path", case.model.path)
        if case.model.given:
            tree.add_model(path)
        if case.world.cwd:
            tree.enter(_path("$.world.cwd", case.world.cwd))
    except CaseError as error:
        raise Wrong(
            "$.model.path" if tree.root is tree.cwd.nodes[-1] and not case.world.cwd else "$.world.cwd", str(error)
        ) from None
    return tree


def _hard_link(at: str, tree: Tree, entry: HardLink) -> None:
    source = tree.declared(raw(entry.to))
    if source.nodes[-1].kind == "dir":
        raise Wrong(f"{at}.to", f"{shown(entry.to)} is a directory, which cannot have a second name; use a mount")
    parent = raw(entry.path).rpartition(b"/")[0]
    try:
        there = tree.declared(parent)
    except CaseError:
        there = Place(tree.root_nodes, tree.root_names)  # made by itself, on the file system of what is above it
        for part in parent.split(b"/"):
            if (child := there.nodes[-1].children.get(part)) is None:
                break
            there = Place([*there.nodes, child], [*there.names, part])
    if tree.mount_of(source) is not tree.mount_of(there):
        raise Wrong(f"{at}.to", f"{shown(entry.to)} lies on another file system than {shown(entry.path)}; link within one")


def _canaries(case: Case, tree: Tree) -> None:
    base = Scene(tree, case.model.given, "posix").base
    for index, entry in enumerate(case.world.entries):
        if isinstance(entry, File) and 0 < content_of(entry).size < CANARY:
            place = tree.declared(raw(entry.path))
            if base is None or not tree.within(base.place, place):
                at = f"$.world.entries[{index}].content.size"
                raise Wrong(
                    at, f"a file outside the model directory has {CANARY} bytes at least, to be told from others, or none"
                )


# --- calls ------------------------------------------------------------------------------------------------------------------


def _calls(case: Case, tree: Tree) -> None:
    for index, call in enumerate(case.calls):
        at = f"$.calls[{index}]"
        _steps(at, call)
        for which, callback in _callbacks(call):
            _callback(f"{at}.{which}", callback)
        _range(f"{at}.null_size", call.null_size, 0, MAX_CLAIM)
        if call.null_size and (call.op != "write" or call.payload is not None):
            raise Wrong(f"{at}.null_size", "only a write without a payload gives a size of its own; make the payload null")
        for flag in ("embeds", "runs"):
            if getattr(call, flag) and call.op != "write":
                raise Wrong(f"{at}.{flag}", "only a write compiles a model; leave it out")
        if call.resize is not None:
            if call.op != "read" or call.read_callback is not None:
                raise Wrong(f"{at}.resize", "a file changes its size while it is read, and that without a callback; leave it out")
            _range(f"{at}.resize.size", call.resize.size, 0, MAX_SPARSE)
            if _declared(f"{at}.resize.path", call.resize.path, tree).nodes[-1].kind != "file":
                raise Wrong(f"{at}.resize.path", f"{shown(call.resize.path)} is not a file; only files have a size")
        if call.race is not None:
            _race(f"{at}.race", call.race, tree)
        if call.threads is not None:
            _threads(at, case, call, call.threads)


def _race(at: str, race: Race, tree: Tree) -> None:
    _range(f"{at}.rounds", race.rounds, 1, MAX_ROUNDS)
    a = _declared(f"{at}.a", race.a, tree)
    b = (_free if race.how == "move" else _declared)(f"{at}.b", race.b, tree)
    if race.how == "chdir":
        for which, place in (("a", a), ("b", b)):
            if place.nodes[-1].kind != "dir":
                raise Wrong(f"{at}.{which}", "this is not a directory that could be the working directory")
        return
    short = min(len(a.names), len(b.names))
    if a.names[:short] == b.names[:short]:
        raise Wrong(at, "two entries of which one is or contains the other cannot be exchanged; name two")
    if tree.mount_of(Place(a.nodes[:-1], a.names)) is not tree.mount_of(Place(b.nodes[:-1], b.names)):
        raise Wrong(at, "entries on two file systems cannot be exchanged; name two on one")


def _free(at: str, name: Name, tree: Tree) -> Place:
    """The place at a world path where nothing is yet, in a directory that is there; its last node is that directory's."""
    path = _path(at, name)
    parent, _, leaf = path.rpartition(b"/")
    above = _declared(at, name_of(parent), tree) if parent else Place(list(tree.root_nodes), list(tree.root_names))
    if above.nodes[-1].kind != "dir" or leaf in above.nodes[-1].children:
        raise Wrong(at, f"{shown(path)} is not a free place in a directory; name one to which the entry can be moved")
    return Place([*above.nodes, above.nodes[-1]], [*above.names, leaf])


_THREADED = ("read_callback", "write_callback", "allocator", "threads")
"""The options that a call of several threads may have."""


def _threads(at: str, case: Case, call: Call, threads: Threads) -> None:
    _range(f"{at}.threads.count", threads.count, 1, MAX_THREADS)
    _range(f"{at}.threads.rounds", threads.rounds, 1, MAX_ROUNDS // threads.count)
    _count(f"{at}.threads.shares", len(threads.shares), MAX_SHARES, "shares")
    if not threads.shares:
        raise Wrong(f"{at}.threads.shares", "threads without a share have nothing to do; give one")
    if len(case.calls) > 1:
        raise Wrong(f"{at}.threads", "the call of several threads is the only one of its case; make two cases")
    shares = [f"{at}.threads.shares[{index}]" for index in range(len(threads.shares))]
    ops = {share.op for share in threads.shares}
    if call.op != ("write" if "write" in ops else "read"):
        raise Wrong(f"{at}.op", "the op of a call of several threads is write where one of its shares is a write, else read")
    if call.name is not None or call.payload is not None:
        raise Wrong(f"{at}.threads", "names and payloads of a call of several threads are those of its shares; leave them out")
    if call != Call(call.op, None, call.source, None, **{option: getattr(call, option) for option in _THREADED}):
        raise Wrong(f"{at}.threads", f"besides its op and source, a call of several threads has {', '.join(_THREADED)} only")
    asked = {"read": call.read_callback is not None, "write": call.write_callback is not None}
    if threads.configs == "each" and not any(asked.values()):
        raise Wrong(f"{at}.threads.configs", "without a callback there is no config, and so none for each share; write one")
    known = {raw(share.name) for share in threads.shares}
    for which, callback in _callbacks(call):
        if callback.content is not None or callback.code or callback.size is not None:
            raise Wrong(f"{at}.{which}", "the callbacks of several threads answer with the contents of the shares; leave it out")
        if callback.reenters is not None and raw(callback.reenters) not in known:
            raise Wrong(f"{at}.{which}.reenters", f"{shown(callback.reenters)} is the name of no share; use one of theirs")
    names: dict[tuple[str, bytes], Content | None] = {}
    for place, share in zip(shares, threads.shares, strict=True):
        by_callback = asked[share.op]
        if share.content is None and (by_callback or share.op == "write"):
            raise Wrong(f"{place}.content", "only a read of a file is to be refused; give the content")
        if share.content is not None and (share.content.sparse or share.content.size > MAX_SHARE):
            raise Wrong(f"{place}.content", f"a share has at most {MAX_SHARE} bytes, and is not sparse")
        if names.setdefault((share.op if by_callback else "file", raw(share.name)), share.content) != share.content:
            raise Wrong(f"{place}.content", f"{shown(share.name)} is also in another share, with other content; use one")


def _callback(at: str, callback: Callback) -> None:
    _range(f"{at}.code", callback.code, 0, (1 << 31) - 1)
    _range(f"{at}.waits", callback.waits, 0, MAX_WAITS)
    if callback.size is not None:
        _range(f"{at}.size", callback.size, 0, MAX_CLAIM)
    if callback.reenters is not None and not raw(callback.reenters):
        raise Wrong(f"{at}.reenters", "a callback reads or writes a name, which is not empty; leave it out for none")


def _steps(at: str, call: Call) -> None:
    if bool(call.steps) is not (call.op == "config"):
        raise Wrong(f"{at}.steps", "a call has steps if its op is config, and only then")
    _count(f"{at}.steps", len(call.steps), MAX_STEPS, "steps")
    for number, step in enumerate(call.steps):
        here = f"{at}.steps[{number}]"
        for key, count in (("options", PLACES), ("config", PLACES), ("function", FUNCTIONS), ("state", PLACES)):
            if (value := getattr(step, key)) is not None:
                _range(f"{here}.{key}", value, 0, count - 1)
        try:
            step_expectations(call.steps[: number + 1])
        except CaseError as error:
            raise Wrong(here, str(error)) from None


def _declared(at: str, name: Name, tree: Tree) -> Place:
    try:
        return tree.declared(_path(at, name))
    except CaseError as error:
        raise Wrong(at, f"{error}; declare it first") from None
