"""What the virtual tree makes of single paths; the table's right-hand side is the answer."""

from __future__ import annotations

import pytest

from epctx.case import Device, Dir, Fifo, File, HardLink, Link, Mount, World
from epctx.errors import CaseError
from epctx.spec.tree import ROOT, Place, Tree, components, normal

WORLD = World(
    (
        File("model/f"),
        File("model/sub/g"),
        File("outside/s"),
        Dir("locked", mode=0o600),
        File("locked/f"),
        Link("model/in", "sub/g"),
        Link("model/in-dir", "sub/"),
        Link("model/file-slash", "f/"),
        Link("model/out", "../outside/s"),
        Link("model/up", ".."),
        Link("model/here", "."),
        Link("model/abs", "{root}/model/f"),
        Link("model/gone", "../outside/new"),
        Link("model/loop", "loop"),
        Link("model/two", "owt"),
        Link("model/owt", "two"),
        Link("model/grows", "grows/../../outside/s"),
        Link("model/often", "here/in-dir/../" * 12 + "here/f"),
        Link("model/turns", "often/../often"),
        Link("model/null", "/dev/null"),
        Link("model/stdin", "/dev/stdin"),
        Link("model/cwd", "/proc/self/cwd"),
        Link("model/slash", "/proc/self/root"),
        Link("model/long", "x" * 256),
        HardLink("model/hard", "outside/s"),
        Mount("model/mnt", of="outside"),
        Fifo("model/fifo"),
        Device("model/dev", "null"),
    ),
    cwd="outside",
)

TABLE = """
    f                   model/f
    ./f                 model/f
    sub//g              model/sub/g
    sub/../f            model/f
    ../model/f          model/f
    ../../world/model/f model/f
    sub/                model/sub
    sub/.               model/sub
    .                   model
    in                  model/sub/g
    in-dir/g            model/sub/g
    here/here/f         model/f
    abs                 model/f
    out                 outside/s
    up/outside/s        outside/s
    in-dir/../f         model/f
    up/../x             missing
    hard                model/hard
    mnt/s               model/mnt/s
    mnt/../f            model/f
    cwd                 outside
    cwd/s               outside/s
    null                /dev/null
    stdin               /proc/self/fd/0
    slash{root}/model/f model/f
    fifo                model/fifo
    {root}/model/f      model/f
    //{root}/model/f    model/f
    /dev/fd/7           /proc/self/fd/7
    x                   missing
    x/../f              missing
    gone                missing
    gone/x              missing
    f/                  not-dir
    f/.                 not-dir
    f/x                 not-dir
    f/../f              not-dir
    in/                 not-dir
    file-slash          not-dir
    dev/x               not-dir
    loop                loop
    two/x               loop
    grows               loop
    often               model/f
    here/often          model/f
    turns               not-dir
    long                too-long
    ../locked           locked
    ../locked/f         denied
    ../locked/.         denied
    ../locked/          locked
"""

WEAKLY = """
    f                   model/f
    x                   model/x?
    x/../f              model/f
    x/y/../../f         model/f
    x/../../outside/s   outside/s
    x/../out            outside/s
    x/../up/x           x?
    x/..                model
    f/../f              model/f
    f/                  model/f/?
    f/x                 model/f/x?
    gone                model/gone?
    gone/../f           model/f
    gone/x              model/gone/x?
    new/                model/new?
    loop/../f           loop
    up/model/x/../f     model/f
    out/../f            outside/f?
    up/model/../f       f?
    long/../f           too-long
    ../locked/../x      denied
"""


def lines(table: str) -> list[tuple[str, str]]:
    return [(line.split()[0], line.split()[1]) for line in table.strip().splitlines()]


def resolve(tree: Tree, text: str, how: str) -> str:
    path = text.encode().replace(b"{root}", ROOT)
    start = Place([tree.top], []) if path.startswith(b"/") else tree.declared(b"model")
    place = tree.walk(start, components(path)) if how == "walk" else tree.weakly(start, components(path))
    if place.fault and (how == "walk" or place.fault not in ("missing", "not-dir")):
        return place.fault
    world = tree.world_path(place.path)
    found = (b"/" + b"/".join(place.path) if world is None else world).decode()
    return found if place.node else found + "?"


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree(WORLD, "model/model.onnx")


@pytest.mark.parametrize(("text", "expected"), lines(TABLE))
def test_walk(tree: Tree, text: str, expected: str) -> None:
    assert resolve(tree, text, "walk") == expected


@pytest.mark.parametrize(("text", "expected"), lines(WEAKLY))
def test_weakly(tree: Tree, text: str, expected: str) -> None:
    assert resolve(tree, text, "weakly") == expected


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        (b"f", [b"f"]),
        (b"/a//b/", [b"a", b"b", b""]),
        (b"./a/.", [b".", b"a", b"."]),
        (b"/", []),
        (b"//", []),
        (b"a/../b", [b"a", b"..", b"b"]),
    ],
)
def test_components(path: bytes, parts: list[bytes]) -> None:
    assert components(path) == parts


def test_normal_stops_at_the_root() -> None:
    assert normal([b"a"], [b"..", b"..", b"b", b".", b"", b"c"]) == [b"b", b"c"]


def test_what_a_mount_shows_lies_outside_by_its_home(tree: Tree) -> None:
    base = tree.declared(b"model")
    through = tree.walk(base, [b"mnt", b"s"])
    assert tree.within(base, through)
    assert tree.through_mount(base, through)
    assert not tree.through_mount(base, tree.walk(base, [b"sub", b"g"]))


def test_a_hard_link_has_two_homes(tree: Tree) -> None:
    base = tree.declared(b"model")
    other = tree.other_home(base, tree.declared(b"model/hard").nodes[-1])
    assert other is not None
    assert tree.world_path(list(other)) == b"outside/s"
    assert tree.other_home(base, tree.declared(b"model/f").nodes[-1]) is None


def test_windows_trees_fold_case() -> None:
    tree = Tree(WORLD, fold=True)
    assert not tree.walk(tree.declared(b"model"), [b"SUB", b"G"]).fault
    assert Tree(WORLD).walk(tree.declared(b"model"), [b"SUB"]).fault == "missing"


def test_swap_exchanges_two_entries() -> None:
    tree = Tree(WORLD)
    tree.swap(b"model/f", b"model/out")
    base = tree.declared(b"model")
    assert tree.world_path(tree.walk(base, [b"f"]).path) == b"outside/s"
    assert tree.world_path(tree.walk(base, [b"out"]).path) == b"model/out"


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ((File("a"), File("a")), "two entries"),
        ((File("a"), Dir("a")), "two entries"),
        ((File("a"), File("a/b")), "not a directory"),
        ((Link("a", "."), File("a/b")), "not a directory"),
        ((HardLink("a", "b"), File("b")), "no entry b at that point"),
        ((Mount("a", of="b"),), "no entry b at that point"),
    ],
)
def test_worlds_that_cannot_be(entries: tuple[File, ...], words: str) -> None:
    with pytest.raises(CaseError, match=words):
        Tree(World(entries))
