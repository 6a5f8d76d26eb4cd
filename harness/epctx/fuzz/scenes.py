"""The scenes of random cases: a world, what is special in it, and how the runtime was given the model that lies there.

What can be known beforehand is in tables, since a case is to cost microseconds. A scene serves any number of cases.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from epctx.attack import STANDARD
from epctx.case import Content, Dir, Entry, Fifo, File, HardLink, Link, Name, Socket, World
from epctx.fuzz import paths
from epctx.fuzz.choices import Choices, bag, pick
from epctx.fuzz.paths import LITERAL, OUTSIDE


class Scene(NamedTuple):
    """A world with its special entries, and the path of the model that the runtime was given.

    ``climbs`` is how often its texts go up by ``..``, all together.
    """

    given: Name = "{root}/model/model.onnx"
    cwd: str = ""
    world: World = World(STANDARD)
    entries: tuple[Entry, ...] = ()
    climbs: int = 0


def _scene(given: str, cwd: str = "", *around: Entry) -> Scene:
    """One without special entries; ``around`` is what its model needs."""
    climbs = paths.climbs(given) + sum(paths.climbs(entry.to) for entry in around if isinstance(entry, Link))
    return Scene(given, cwd, World(STANDARD + around, cwd), (), climbs)


PLAIN = Scene()
BARE = bag(
    (42, PLAIN),
    (3, _scene("model.onnx", "model")),
    (2, _scene("./model.onnx", "model")),
    (2, _scene("model/model.onnx")),
    (2, _scene("../model/model.onnx", "outside")),
    (2, _scene("{root}/outside/../model/model.onnx")),
    (1, _scene("{root}//model//model.onnx")),
    (2, _scene("{root}/shelf/linked/model.onnx", "", Link("shelf/linked", "../model"), File("shelf/outside/secret.bin"))),
    (2, _scene("{root}/shelf/model.onnx", "", Link("shelf/model.onnx", "../model/model.onnx"), File("shelf/good.bin"))),
    (3, _scene("", "outside")),
    (2, _scene("", "model")),
)
"""How the runtime was given the model, in which working directory."""
_AROUND = {(bare.given, bare.cwd): bare.world.entries for bare in BARE}

SIZES = bag((24, 96), *((1, size) for size in (0, 1, 63, 1023, 1024, 1025, 4095, 4096, 4097, 8193, 65535, 65536)))
"""Sizes of contents: mostly a plain one, else around the edges of buffers."""
FILE_SIZES = bag((12, 96), (4, 0), *((1, size) for size in SIZES if size not in (0, 96)))
"""Those of files, which more often are empty."""
CANARY_SIZES = bag((8, 96), (1, 0), (1, 4096))
"""Sizes of files that may lie outside of the model directory."""
CANARIES = ("outside/secret.bin", "model_evil/twin.bin")

LINKS = bag(
    (5, "model/link"),
    *((1, place) for place in ("model/sub/link", "model/other", "model/new.bin", "outside/back", "model/sub/deep")),
)
"""Where links stand; the name ``link`` is the one that names go through most."""
TARGETS = bag(
    (3, OUTSIDE[0]), (2, "outside"), (2, "model/good.bin"), (2, "model/sub"), (1, "model_evil/twin.bin"), (1, "model_evil")
)
DANGLING = bag((4, "outside/new.bin"), (2, "model/none.bin"), (1, "outside/none"), (1, "outside/none/new.bin"), (1, "model/none"))
TO_BE_WRITTEN = ("model/link", "model/new.bin", *LINKS)
"""Where links stand that lead nowhere, so that a write meets them."""
PLACES = bag(
    (4, "model/node"),
    *((1, place) for place in ("model/link", "model/sub/link", "model/good.bin", "model/sub", "outside/new.bin")),
)
"""Where entries of other kinds stand; some of them take the place of what is usually there."""
HOP = "model/hop"
"""Where the second link of a chain stands."""
COUNTS = bag((2, 0), (3, 2), (3, 3), (2, 4))


def scene(choices: Choices) -> Scene:
    """A world with a model in it."""
    bare = pick(choices, BARE)
    entries: tuple[Entry, ...] = ()
    # what is small outside cannot be told from other bytes, and where the model directory is depends on the path
    sizes = FILE_SIZES if bare is PLAIN else CANARY_SIZES
    for _ in range(pick(choices, COUNTS)):
        made = entry(choices, sizes)
        if not any(_collide(new.path, old.path) for new in made for old in entries):
            entries += made
    if not entries:
        return bare
    climbs = bare.climbs + sum([paths.climbs(entry.to) for entry in entries if type(entry) is Link])
    around = _around((bare.given, bare.cwd), tuple([entry.path for entry in entries]))
    return Scene(bare.given, bare.cwd, World((*around, *entries), bare.cwd), entries, climbs)


def beside(entries: Sequence[Entry], others: Sequence[Entry]) -> tuple[Entry, ...]:
    """Those entries that can be in a world together with others."""
    return tuple([entry for entry in entries if not any(_collide(entry.path, other.path) for other in others)])


@functools.cache
def _around(bare: tuple[Name, str], places: tuple[Name, ...]) -> tuple[Entry, ...]:
    """What is around a model and can stand there together with entries at these places."""
    return beside(_AROUND[bare], [Dir(place) for place in places])


@functools.cache
def _collide(one: Name, other: Name) -> bool:
    """Whether there can be no entries at both places: they are the same, or one is in the other."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


# --- entries ----------------------------------------------------------------------------------------------------------------


def entry(choices: Choices, sizes: Sequence[int] = SIZES) -> tuple[Entry, ...]:
    """Something special in a world: an entry, or two that belong together. A file is of one of the ``sizes``."""
    return pick(choices, KINDS)(choices, sizes)


Maker: TypeAlias = Callable[[Choices, Sequence[int]], tuple[Entry, ...]]


def _link(choices: Choices, sizes: Sequence[int]) -> tuple[Entry, ...]:
    place = pick(choices, LINKS)
    return (Link(place, _text(choices, _home(place), pick(choices, TARGETS))),)


def _dangling(choices: Choices, sizes: Sequence[int]) -> tuple[Entry, ...]:
    place = pick(choices, TO_BE_WRITTEN)
    return (Link(place, _text(choices, _home(place), pick(choices, DANGLING))),)


def _chain(choices: Choices, sizes: Sequence[int]) -> tuple[Entry, ...]:
    place = pick(choices, LINKS)
    first = "/".join(paths.relative(_home(place), HOP))
    return Link(place, first), Link(HOP, _text(choices, _home(HOP), pick(choices, TARGETS)))


def _loop(choices: Choices, sizes: Sequence[int]) -> tuple[Entry, ...]:
    place = pick(choices, LINKS)
    return (Link(place, place.rpartition("/")[2]),)


def _directory(choices: Choices, sizes: Sequence[int]) -> tuple[Entry, ...]:
    return (Dir(pick(choices, PLACES)),)


def _file(choices: Choices, sizes: Sequence[int]) -> tuple[Entry, ...]:
    place = pick(choices, PLACES)
    return (File(place, Content(f"fuzz {place}", pick(choices, sizes if place.startswith("model/") else CANARY_SIZES))),)


def _literal(choices: Choices, sizes: Sequence[int]) -> tuple[Entry, ...]:
    return (File(f"model/{pick(choices, LITERAL)}"),)


def _hard_link(choices: Choices, sizes: Sequence[int]) -> tuple[Entry, ...]:
    return (HardLink(pick(choices, PLACES), pick(choices, CANARIES)),)


def _fifo(choices: Choices, sizes: Sequence[int]) -> tuple[Entry, ...]:
    return (Fifo(pick(choices, PLACES)),)


def _socket(choices: Choices, sizes: Sequence[int]) -> tuple[Entry, ...]:
    return (Socket(pick(choices, PLACES)),)


KINDS: tuple[Maker, ...] = bag(
    (14, _link),
    (12, _dangling),
    (2, _chain),
    (2, _loop),
    (2, _directory),
    (7, _file),
    (4, _literal),
    (2, _hard_link),
    (5, _fifo),
    (1, _socket),
)


def _home(place: str) -> str:
    return place.rpartition("/")[0]


def _text(choices: Choices, home: str, target: str) -> str:
    """The text of a link in the directory ``home``."""
    if choices.below(4) == 3:
        return "{root}/" + target
    return paths.way(choices, home, target)
