"""The names of a grammar: texts that lead, or seem to lead, from a directory of a world to an entry of it.

Everything that can be known beforehand is in tables, since a case is to cost microseconds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from epctx.case import Name, Piece
from epctx.fuzz.choices import Choices, bag, pick

INSIDE = ("model/good.bin", "model/sub/inner.bin", "model/sub", "model/new.bin", "model/sub/new.bin", "model/model.onnx", "model")
"""What names may aim at inside the model directory; the first two are files that every world has."""
OUTSIDE = (
    "outside/secret.bin",
    "outside/new.bin",
    "outside",
    "model_evil/twin.bin",
    "model_evil/new.bin",
    "model.onnx.d/new.bin",
    "outside/none/new.bin",
)
"""What they may aim at outside of it, where the first and the fourth are canaries that every world has."""
LITERAL = bag(
    *((2, name) for name in ("a..b", " good.bin", "good.bin ", "GOOD.BIN", "~", "$HOME", "%2e", "good%2ebin", "sub\\inner.bin")),
    *((1, name) for name in ("..foo", "...", "good\n.bin", "\x1b[31mgood.bin", "${HOME}.bin", "~root", "*", "[g]ood.bin")),
    *((1, name) for name in ("..\\new.bin", "C:good.bin", "CON", "aux.bin", "good.bin.", "good.bin::$DATA", "größe 模型.bin")),
)
"""Names of one component that mean just what they say, and something else to a shell, a browser, a person, or Windows."""
WITH_NUL: tuple[Name, ...] = (
    "../outside/secret.bin\0.bin",
    "../outside/secret.bin\0/../good.bin",
    "good.bin\0../../outside/secret.bin",
    "../model_evil/twin.bin\0good.bin",
    "good.bin\0",
    "\0good.bin",
    "\0",
)
"""Names that a C string cuts, which an attribute of a model may hold."""
FOREIGN: tuple[tuple[Name, ...], ...] = (
    (
        "",
        ".",
        "..",
        "./",
        "../",
        "sub/",
        "sub/.",
        "sub/..",
        "good.bin/",
        "good.bin/.",
        "good.bin/child",
        "good.bin/../good.bin",
        "/",
        "//",
    ),
    LITERAL,
    LITERAL,
    (
        "Sub/inner.bin",
        "sub /inner.bin",
        "~/outside/secret.bin",
        "$HOME/secret.bin",
        "%2e%2e%2foutside%2fsecret.bin",
        "..%2foutside/secret.bin",
        "file:///secret.bin",
        "....//outside/secret.bin",
        "..././outside/secret.bin",
    ),
    (
        "..\\outside\\secret.bin",
        "..\\/outside/secret.bin",
        "sub\\..\\good.bin",
        "C:\\secret.bin",
        "\\\\host\\share",
        "//?/C:/secret.bin",
        "COM1/good.bin",
        "sub./inner.bin",
    ),
    WITH_NUL,
    (
        "\uff0e\uff0e\uff0foutside\uff0fsecret.bin",
        "\u202egood.bin",
        (Piece(hex="c0aec0ae2f"), Piece("outside/secret.bin")),
        (Piece(hex="ff"), Piece("good.bin")),
        (Piece("good"), Piece(hex="e381")),
        (Piece(hex="eda080"), Piece(".bin")),
        (Piece("../outside/secret.bin"), Piece(hex="00ff")),
    ),
    (
        (Piece("n", times=255),),
        (Piece("n", times=256),),
        (Piece("./", times=2040), Piece("good.bin")),
        (Piece("./", times=2050), Piece("good.bin")),
        (Piece("n", times=65536),),
    ),
)
"""Names from other worlds, by kind: of directories, of shells and URLs, of Windows, C strings, encodings, limits."""

COMPONENTS = bag(
    (6, ".."),
    (2, "good.bin"),
    (3, "sub"),
    (2, "link"),
    (2, "."),
    (1, ""),
    (2, "outside"),
    (2, "secret.bin"),
    (1, "model"),
    (1, "model_evil"),
    (1, "twin.bin"),
    (1, "inner.bin"),
    (1, "none"),
    (1, "..."),
)
"""What names are strung together from where nothing is aimed at."""


def climbs(name: Name) -> int:
    """How often a text goes up by ``..``, at the most."""
    return name.count("..") if isinstance(name, str) else sum(piece.text.count("..") * piece.times for piece in name)


@functools.cache
def relative(start: str, to: str) -> tuple[str, ...]:
    """The components of the plain way from one world path to another."""
    here, there = [part for part in start.split("/") if part], [part for part in to.split("/") if part]
    while here and there and here[0] == there[0]:
        here, there = here[1:], there[1:]
    return (*[".."] * len(here), *there)


def plain(choices: Choices, parts: Sequence[str]) -> str:
    """The way as it is."""
    return "/".join(parts) or "."


def dotted(choices: Choices, parts: Sequence[str]) -> str:
    """With `.` and empty components somewhere in it."""
    at = choices.below(len(parts) + 1)
    return "/".join((*parts[:at], pick(choices, (".", ".", "./.")), *parts[at:]))


def doubled(choices: Choices, parts: Sequence[str]) -> str:
    """With more slashes than needed."""
    return pick(choices, ("//", "///", "/./")).join(parts) or "."


def there_and_back(choices: Choices, parts: Sequence[str]) -> str:
    """With a step aside that is taken back, into what is there and what is not."""
    aside = pick(choices, ("sub", "sub", "none", "good.bin", "link", "..foo"))
    return "/".join((aside, "..", *parts))


def out_and_in(choices: Choices, parts: Sequence[str]) -> str:
    """Out of the model directory and back into it first."""
    return "/".join(("..", pick(choices, ("model", "model", "outside/../model")), *parts))


def trailing(choices: Choices, parts: Sequence[str]) -> str:
    """With something behind it that only a directory can have."""
    return ("/".join(parts) or ".") + pick(choices, ("/", "/.", "//", "/.."))


def cut(choices: Choices, parts: Sequence[str]) -> str:
    """Without its first or its last component."""
    return "/".join(parts[1:] if choices.below(2) else parts[:-1]) or ".."


STYLES: tuple[Callable[[Choices, Sequence[str]], str], ...] = bag(
    (7, plain), (2, dotted), (1, doubled), (3, there_and_back), (1, out_and_in), (1, trailing), (1, cut)
)
"""How a way is written down."""

ABSOLUTE = bag((5, "{root}/"), (1, "{root}//"), (1, "/{root}/"), (1, "//{root}/"), (1, "/.{root}/"), (1, "{root}/model/../"))
"""How an absolute name begins that goes on from the world's root."""


def way(choices: Choices, start: str, to: str, behind: str = "") -> str:
    """A text that leads from a directory of the world to an entry, and goes on ``behind`` it, in one of many styles."""
    parts = relative(start, to)
    return pick(choices, STYLES)(choices, (*parts, behind) if behind else parts)


def strung(choices: Choices) -> str:
    """Components in any order."""
    text = "/".join([pick(choices, COMPONENTS) for _ in range(1 + choices.below(5))])
    return f".{text}" if text.startswith("/") else text  # an absolute one would be of the host
