from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from tests.world.conftest import MODEL, SCENE, Stage, some_entries

from epctx.case import Content, Dir, File, HardLink, Link, Mount, Name, World, content_of, stream
from epctx.observation import content_digest, digest
from epctx.world import LiveWorld, ModelFile

pytestmark = pytest.mark.own_process


def touched(stage: Stage) -> list[tuple[str, tuple[str, ...], str]]:
    return [(t.what, t.names, t.place) for t in stage.live.events()]


def changed(stage: Stage) -> dict[str, tuple[str, str, str]]:
    return {c.path: (c.place, c.before.kind, c.after.kind) for c in stage.live.changes()}


# --- what the watch sees --------------------------------------------------------------------------------------------------------


def test_an_open_is_seen_under_all_names_and_nothing_else_is_disturbed(stage: Stage) -> None:
    stage.show(HardLink("model/hard", "outside/secret.bin"), Link("model/link", "../outside/secret.bin"), Link("model/up", ".."))
    assert touched(stage) == []
    names = ("outside/secret.bin", "model/hard")
    for path in ("outside/secret.bin", "model/hard", "model/link", "model/up/model_evil/../outside/secret.bin"):
        (stage.root / path).read_bytes()
        assert touched(stage) == [("open", names, "outside")], path
    (stage.root / "model/good.bin").read_bytes()
    assert touched(stage) == [("open", ("model/good.bin",), "inside")]
    assert not stage.live.disturbed


def test_what_the_watch_does_not_see(stage: Stage) -> None:
    stage.show(Link("model/link", "../outside/secret.bin"))
    os.stat(stage.root / "model/link")
    os.readlink(stage.root / "model/link")
    os.listdir(stage.root / "outside")
    os.close(os.open(stage.root / "outside/secret.bin", os.O_PATH))
    with pytest.raises(FileNotFoundError):
        os.open(stage.root / "outside/none", os.O_RDONLY)
    assert touched(stage) == []


def test_a_file_reached_by_its_descriptor_is_seen(stage: Stage) -> None:
    stage.show()
    fd = os.open(stage.root / "outside/secret.bin", os.O_PATH)
    os.close(os.open(f"/proc/self/fd/{fd}", os.O_RDONLY))
    assert touched(stage) == [("open", ("outside/secret.bin",), "outside")]


def test_a_canary_moved_out_of_sight_is_still_seen(stage: Stage) -> None:
    stage.show()
    (stage.root / "outside/new").mkdir()
    (stage.root / "outside/secret.bin").rename(stage.root / "outside/new/x")
    stage.live.events()
    (stage.root / "outside/new/x").read_bytes()
    assert touched(stage) == [("open", ("outside/secret.bin",), "outside")]


def test_events_of_writes_are_seen_once_each(stage: Stage) -> None:
    stage.show()
    (stage.root / "model/new").write_bytes(b"1")
    os.chmod(stage.root / "model/new", 0o600)
    (stage.root / "model/new").rename(stage.root / "outside/gone")
    (stage.root / "outside/gone").unlink()
    assert touched(stage) == [
        ("create", ("model/new",), "inside"),
        ("open", ("model/new",), "inside"),
        ("modify", ("model/new",), "inside"),
        ("attributes", ("model/new",), "inside"),
        ("move", ("model/new",), "inside"),
        ("move", ("outside/gone",), "outside"),
        ("delete", ("outside/gone",), "outside"),
    ]
    assert stage.live.disturbed
    assert changed(stage) == {}
    assert not stage.live.disturbed


def test_a_new_file_at_an_old_name_is_not_taken_for_the_old_inode(stage: Stage) -> None:
    stage.show(HardLink("model/hard", "outside/secret.bin"))
    (stage.root / "model/hard").unlink()
    (stage.root / "model/hard").write_bytes(b"1")
    assert ("modify", ("model/hard",), "inside") in touched(stage)
    assert not any("outside/secret.bin" in names and what == "modify" for what, names, _ in touched(stage))


def test_a_write_that_climbs_is_seen(stage: Stage) -> None:
    stage.show()
    (stage.root / "../../../../up").write_bytes(b"1")
    assert touched(stage)[0] == ("create", ("../../../../up",), "above")
    assert changed(stage) == {"../../../../up": ("above", "absent", "file")}
    stage.show()
    assert not (stage.root / "../../../../up").exists()


# --- what the comparison sees ---------------------------------------------------------------------------------------------------


def test_every_kind_of_difference(stage: Stage) -> None:
    stage.show(Link("model/link", "good.bin"))
    (stage.root / "outside/secret.bin").write_bytes(b"other")
    (stage.root / "model/good.bin").unlink()
    (stage.root / "model/link").unlink()
    (stage.root / "model/link").symlink_to("sub")
    (stage.root / "model/sub/inner.bin").chmod(0o600)
    (stage.root / "outside/new/deep").mkdir(parents=True)
    (stage.root / "outside/new/deep/f").write_bytes(b"1")
    os.mkfifo(stage.root / "../fifo")
    stage.live.events()
    changes = {c.path: c for c in stage.live.changes()}
    assert {path: (c.before.kind, c.after.kind, c.place) for path, c in changes.items()} == {
        "../fifo": ("absent", "fifo", "above"),
        "model/good.bin": ("file", "absent", "inside"),
        "model/link": ("link", "link", "inside"),
        "model/sub/inner.bin": ("file", "file", "inside"),
        "outside/new": ("absent", "dir", "outside"),
        "outside/new/deep": ("absent", "dir", "outside"),
        "outside/new/deep/f": ("absent", "file", "outside"),
        "outside/secret.bin": ("file", "file", "outside"),
    }
    secret = changes["outside/secret.bin"]
    assert secret.before.inode == secret.after.inode
    assert secret.before.digest == content_digest(content_of(File("outside/secret.bin")))
    assert secret.after.digest == digest(b"other")
    assert changes["model/link"].before.digest == digest(b"good.bin")
    assert changes["model/link"].after.digest == digest(b"sub")
    assert (changes["model/sub/inner.bin"].before.mode, changes["model/sub/inner.bin"].after.mode) == (0o644, 0o600)


def test_the_next_comparison_starts_from_the_last(stage: Stage) -> None:
    stage.show()
    path = stage.root / "model/out.bin"
    path.write_bytes(b"12345678")
    stage.live.events()
    assert [c.path for c in stage.live.changes()] == ["model/out.bin"]
    assert stage.live.changes() == ()
    assert stage.live.reads(8, digest(b"12345678")) == ("model/out.bin",)
    path.write_bytes(b"87654321")
    stage.live.events()
    (change,) = stage.live.changes()
    assert (change.before.digest, change.after.digest) == (digest(b"12345678"), digest(b"87654321"))


def test_touching_is_not_changing(stage: Stage) -> None:
    stage.show()
    os.utime(stage.root / "outside/secret.bin", (1, 1))
    data = (stage.root / "model/good.bin").read_bytes()
    (stage.root / "model/good.bin").write_bytes(data)
    stage.live.events()
    assert stage.live.changes() == ()


def test_a_write_through_a_mapping_is_found(stage: Stage) -> None:
    import mmap

    stage.show()
    with open(stage.root / "outside/secret.bin", "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:4] = b"oops"
    stage.live.events()
    assert stage.live.disturbed
    assert list(changed(stage)) == ["outside/secret.bin"]


# --- from one world to the next -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_a_changed_world_is_the_same_as_one_built_afresh(stage: Stage, seed: int) -> None:
    random_ = random.Random(seed)
    worlds = [some_entries(random_) for _ in range(8)]
    for entries in worlds:
        model = ModelFile("model/model.onnx", random_.randbytes(random_.randrange(200)))
        stage.show(*entries, model=model)
        assert stage.live.events() == ()
        assert stage.live.changes() == ()
        changed_picture = stage.picture()
        stage.show(*entries, model=model, afresh=True)
        assert stage.picture() == changed_picture
        assert {c.path for c in stage.live.changes()} == set()


@pytest.mark.parametrize("seed", range(12))
def test_whatever_a_target_does_is_repaired(stage: Stage, seed: int) -> None:
    random_ = random.Random(seed)
    for _ in range(6):
        entries = some_entries(random_)
        stage.show(*entries)
        before = stage.picture()
        vandalise(stage.root, random_)
        stage.live.events()
        stage.live.changes()
        stage.show(*entries)
        assert stage.live.events() == ()
        assert stage.live.changes() == ()
        assert stage.picture() == before


@pytest.mark.parametrize("seed", range(12))
def test_what_was_touched_is_all_that_differs_and_is_mended(stage: Stage, seed: int) -> None:
    random_ = random.Random(seed)
    for _ in range(6):
        stage.show(*some_entries(random_))
        before = stage.picture()
        vandalise(stage.root, random_)
        stage.live.events()
        stage.live.changes(of_touched=True)
        assert stage.live.changes() == ()
        stage.live.mend()
        assert stage.live.events() == ()
        assert stage.picture() == before


def test_what_touched_files_differ_in_is_told_as_if_all_were_looked_at(stage: Stage) -> None:
    found = []
    for of_touched in (False, True):
        stage.show(HardLink("model/hard", "model/good.bin"), File("model/old.bin"), File("model/gone.bin"))
        (stage.root / "model/hard").write_bytes(b"in place")
        (stage.root / "model/new.tmp").write_bytes(b"by a rename")
        (stage.root / "model/new.tmp").rename(stage.root / "model/old.bin")
        (stage.root / "model/gone.bin").unlink()
        (stage.root.parent / "climbed").write_bytes(b"out")
        stage.live.events()
        changes = stage.live.changes(of_touched=of_touched)
        found.append([(c.path, c.place, c.before.digest, c.after.kind, c.after.size, c.after.digest) for c in changes])
    assert [path for path, *_ in found[0]] == ["../climbed", "model/gone.bin", "model/good.bin", "model/hard", "model/old.bin"]
    assert found[0] == found[1]


def vandalise(root: Path, random_: random.Random) -> None:
    """Some of the things that a bad writer does."""
    paths = [Path(top) / name for top, directories, files in os.walk(root) for name in directories + files]
    for path in random_.sample(paths, 3):
        action = random_.randrange(7)
        try:
            if action == 0 and path.is_file():
                path.write_bytes(b"vandal")
            elif action == 1 and not path.is_dir():
                path.unlink()
            elif action == 2:
                path.rename(path.with_name("moved"))
            elif action == 3 and path.is_dir():
                shutil.rmtree(path)
            elif action == 4:
                path.with_name("a dir").mkdir()
                path.with_name("a dir").joinpath("f").write_bytes(b"1")
            elif action == 5 and not path.is_symlink():
                path.chmod(0o700)
            else:
                root.parent.joinpath("climbed").symlink_to("/")
        except OSError:
            continue


def test_moving_the_roots_own_directory_away_is_repaired(stage: Stage) -> None:
    stage.show()
    before = stage.picture()
    stage.root.rename(stage.root.parent / "stolen")
    (stage.root.parent / "stolen/model").rename(stage.root.parent.parent / "model")
    stage.live.events()
    places = {place for place, _, _ in changed(stage).values()}
    assert "above" in places
    stage.show()
    assert stage.picture() == before
    assert not (stage.root.parent / "stolen").exists()


def test_what_nobody_asked_about_is_repaired_too(stage: Stage) -> None:
    stage.show()
    before = stage.picture()
    (stage.root / "model/late").write_bytes(b"1")
    (stage.root / "model/model.onnx").rename(stage.root / "model/sub/taken")
    stage.show(model=ModelFile("model/model.onnx", b"next model"))
    stage.show()
    assert stage.picture() == before


def test_only_what_differs_is_made_anew(stage: Stage) -> None:
    stage.show(Link("model/link", "good.bin"))
    inodes = {path: os.lstat(path).st_ino for path in stage.picture()}
    stage.show(Link("model/link", "sub"), model=ModelFile("model/model.onnx", b"another model, and longer"))
    assert (stage.root / "model/model.onnx").read_bytes() == b"another model, and longer"
    now = {path: os.lstat(path).st_ino for path in stage.picture()}
    assert {path for path in now if now[path] != inodes.get(path)} == {str(stage.root / "model/link")}


def test_a_world_with_mounts_is_repaired(stage: Stage) -> None:
    if stage.ground.why_no_mounts:
        pytest.skip(stage.ground.why_no_mounts)
    entries = (Mount("model/mnt", of="outside"), Mount("small", size=1 << 16))
    stage.show(*entries)
    before = stage.picture()
    (stage.root / "model/mnt/secret.bin").write_bytes(b"x")
    (stage.root / "small/new").write_bytes(b"x")
    assert ("modify", ("outside/secret.bin", "model/mnt/secret.bin"), "outside") in touched(stage)
    assert set(changed(stage)) == {"model/mnt/secret.bin", "outside/secret.bin", "small/new"}
    stage.show(*entries)
    assert stage.picture() == before


# --- whose bytes ----------------------------------------------------------------------------------------------------------------


def test_contents_are_known_by_their_digest(stage: Stage) -> None:
    shared = Content("shared", 500)
    hard = HardLink("model/h", "outside/secret.bin")
    stage.show(File("model/s", shared), File("outside/s", shared), hard, File("e", Content("e", 0)))
    assert stage.live.reads(500, content_digest(shared)) == ("model/s", "outside/s")
    secret = content_of(File("outside/secret.bin"))
    assert stage.live.reads(secret.size, content_digest(secret)) == ("outside/secret.bin", "model/h")
    assert stage.live.reads(secret.size - 1, digest(stream(secret.key, secret.size - 1))) == ()
    assert stage.live.reads(len(MODEL.data), digest(MODEL.data)) == ("model/model.onnx",)
    assert stage.live.reads(0, digest(b"")) == ()


def test_bytes_of_a_canary_are_known_wherever_they_appear(stage: Stage) -> None:
    shared = Content("shared", 500)
    stage.show(File("model/s", shared), File("outside/s", shared), File("outside/short", Content("k", 9)))
    secret = stream("outside/secret.bin", 96)
    assert stage.live.leaks(b"error: " + secret[4:80]) == ("outside/secret.bin",)
    assert stage.live.leaks(secret[:31]) == ()
    assert stage.live.leaks(stream("shared", 500)) == ()  # a file inside holds the same
    assert stage.live.leaks(b"x" + stream("k", 9)) == ("outside/short",)
    assert stage.live.leaks(stream("model/good.bin", 96)) == ()


@pytest.mark.parametrize(("directory", "place"), [("model", "inside"), ("outside", "outside"), ("", "inside"), (None, "outside")])
def test_places_depend_on_the_model_directory(stage: Stage, directory: Name | None, place: str) -> None:
    stage.show()  # so that the next one changes the directory alone
    stage.show(directory=directory)
    assert stage.live.place("model/good.bin") == place
    (stage.root / "model/good.bin").read_bytes()
    assert touched(stage) == [("open", ("model/good.bin",), place)]
    assert stage.live.leaks(stream("model/good.bin", 96)) == (("model/good.bin",) if place == "outside" else ())
    assert stage.live.place("model_evil/twin.bin") == ("inside" if directory == "" else "outside")


def test_an_empty_world_and_one_without_a_model(stage: Stage) -> None:
    stage.live.change_to(World((Dir("work"),)), None, None)
    assert os.listdir(stage.root) == ["work"]
    stage.live.change_to(World(), None, None)
    assert os.listdir(stage.root) == []
    stage.live.change_to(World(SCENE), MODEL, "model")
    assert stage.live.changes() == ()


def test_a_write_in_place_changes_a_file_under_all_its_names(stage: Stage) -> None:
    stage.show(File("model/a"), HardLink("model/b", "model/a"), HardLink("model/sub/c", "model/a"))
    (stage.root / "model/b").write_bytes(b"new")
    stage.live.events()
    changes = stage.live.changes()
    assert [c.path for c in changes] == ["model/a", "model/b", "model/sub/c"]
    assert {c.before.size for c in changes} == {96}
    assert {c.after.digest for c in changes} == {digest(b"new")}


def test_a_replaced_name_leaves_the_others_of_its_inode_as_they_were(stage: Stage) -> None:
    stage.show(File("model/a"), HardLink("model/b", "model/a"), HardLink("model/c", "model/a"))
    (stage.root / "model/t").write_bytes(b"new")
    (stage.root / "model/t").rename(stage.root / "model/a")
    stage.live.events()
    assert [c.path for c in stage.live.changes()] == ["model/a"]


# --- several worlds at once -------------------------------------------------------------------------------------------------


def test_worlds_that_are_changed_at_once_see_what_others_do_and_not_how_they_are_made(stage: Stage) -> None:
    stage.show()
    inotify = stage.ground.inotify
    others = [LiveWorld(stage.ground.plot()) for _ in range(3)]
    with inotify.at_once():
        for number, other in enumerate(others):
            other.change_to(World((*SCENE, File(f"model/{number}.bin"))), MODEL, "model")
            (stage.root / "outside/secret.bin").read_bytes()
    assert [other.events() for other in others] == [(), (), ()]
    assert touched(stage) == [("open", ("outside/secret.bin",), "outside")]
    (stage.root / "model/good.bin").read_bytes()
    Path(others[1].root, "model/1.bin").read_bytes()
    with inotify.at_once():
        Path(others[2].root, "model/2.bin").read_bytes()  # comes too late for what is asked here
        seen = [[t.names for t in other.events()] for other in others]
    assert seen == [[], [("model/1.bin",)], []]
    assert [t.names for t in others[2].events()] == [("model/2.bin",)]
    assert touched(stage) == [("open", ("model/good.bin",), "inside")]


def test_what_was_done_to_a_world_is_repaired_although_worlds_are_changed_at_once(stage: Stage) -> None:
    stage.show()
    before = stage.picture()
    (stage.root / "model/good.bin").write_bytes(b"spoilt")
    (stage.root / "model/stray").mkdir()
    with stage.ground.inotify.at_once():
        stage.show()
    assert touched(stage) == []
    assert changed(stage) == {}
    assert stage.picture() == before


def test_a_model_that_shrinks_and_one_that_grows_are_replaced_whole(stage: Stage) -> None:
    for data in (b"a model of some length", b"short", b"and one that is longer again", b"", b"x"):
        stage.show(model=ModelFile("model/model.onnx", data))
        assert (stage.root / "model/model.onnx").read_bytes() == data
        assert touched(stage) == [("open", ("model/model.onnx",), "inside")]
