from __future__ import annotations

import os
import random
import stat
from pathlib import Path

import pytest
from tests.own_process import at_end

from epctx.case import Device, Dir, Entry, Fifo, File, HardLink, Link, Name, Socket, World
from epctx.world import Ground, LiveWorld, ModelFile

MODEL = ModelFile("model/model.onnx", b"the model")
SCENE: tuple[Entry, ...] = (
    File("model/good.bin"),
    File("model/sub/inner.bin"),
    File("outside/secret.bin"),
    File("model_evil/twin.bin"),
)


class Stage:
    """A ground with a live world, for tests."""

    def __init__(self, *, namespace: bool = True) -> None:
        self.ground = Ground(namespace=namespace)
        self.live = LiveWorld(self.ground.plot())
        self.root = Path(os.fsdecode(self.live.plot.root))
        at_end.append(self.close)

    def close(self) -> None:
        """Leave nothing behind, where the kernel does not see to it."""
        self.live.close()
        self.ground.close()

    def show(
        self, *entries: Entry, directory: Name | None = "model", model: ModelFile | None = MODEL, afresh: bool = False
    ) -> None:
        """Bring the scene and some more entries about."""
        self.live.change_to(World(SCENE + entries), model, directory, afresh=afresh)

    def picture(self) -> dict[str, object]:
        """Everything that can be seen of the world from outside, but for inode numbers and times."""
        seen: dict[str, object] = {}
        groups: dict[int, str] = {}
        for top, directories, files in os.walk(self.root):
            for name in sorted(directories + files):
                path = os.path.join(top, name)
                status = os.lstat(path)
                content: object = None
                if stat.S_ISLNK(status.st_mode):
                    content = os.readlink(path)
                elif stat.S_ISREG(status.st_mode) and status.st_size <= 1 << 20:
                    content = Path(path).read_bytes()
                shared = status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode)
                group = groups.setdefault(status.st_ino, path) if shared else path
                owner = (status.st_uid, status.st_gid) if not stat.S_ISLNK(status.st_mode) else None
                seen[path] = (status.st_mode, owner, status.st_rdev, content, group)
        return seen


@pytest.fixture
def stage() -> Stage:
    """Only for tests marked own_process: a stage of this process."""
    made: list[Stage] = []

    class Lazy:
        def __getattr__(self, name: str) -> object:
            if not made:
                made.append(Stage())
            return getattr(made[0], name)

    return Lazy()  # type: ignore[return-value]


def some_entries(random_: random.Random) -> tuple[Entry, ...]:
    """A few entries that can stand together in the scene."""
    root = os.geteuid() == 0
    pool: list[Entry] = [
        File("model/new.bin", mode=random_.choice((0o644, 0o600, 0o444))),
        File("model/a/b/c/deep.bin"),
        File("model/a/b/other.bin"),
        File("outside/more/x.bin"),
        Link("model/link", random_.choice(("good.bin", "../outside/secret.bin", "{root}/outside", "nowhere"))),
        Link("outside/back", "../model"),
        Fifo("model/fifo", writer=random_.random() < 0.3),
        Socket("outside/socket"),
        Dir("model/empty", mode=random_.choice((0o755, 0o700))),
        Dir("model/a", mode=0o711),
        HardLink("model/hard", "outside/secret.bin"),
        HardLink("outside/hard2", "model/good.bin"),
    ]
    if root:
        pool += [Device("model/null", random_.choice(("null", "zero", "full"))), File("model/locked.bin", attribute="immutable")]
    return tuple(entry for entry in pool if random_.random() < 0.4)
