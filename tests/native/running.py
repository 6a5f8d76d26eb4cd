"""A driver without a box, spoken to directly."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
from pathlib import Path
from types import TracebackType

from epctx.case import Call, Node
from epctx.target import wire
from epctx.target.driver import Driver, Reply, read_reply, request


class Running:
    """One driver process on a library, and the world that its calls are about."""

    def __init__(self, program: Path, library: Path, settings: str, ort: Path | None, world: Path) -> None:
        self.world = world
        ours, theirs = socket.socketpair()
        self.bulk, self.words = os.memfd_create("bulk"), os.memfd_create("words")
        command = [str(program), "--target", str(library), "--set", settings, *(["--ort", str(ort)] if ort else [])]
        given = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (theirs.fileno(), self.bulk)]  # out of the way of 3 and 4
        put = [(os.POSIX_SPAWN_DUP2, fd, place) for fd, place in zip((*given, self.words), (3, 4, 2), strict=True)]
        self.pid = os.posix_spawn(program, command, os.environ, file_actions=put)
        self.exit_code: int | None = None
        for fd in given:
            os.close(fd)
        theirs.close()
        self.driver = Driver(ours, self.bulk)
        hello = self.driver.hello(20)
        assert hello is not None
        self.hello = hello

    def __enter__(self) -> Running:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.driver.link.close()
        if self.exit_code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.bulk)
        os.close(self.words)

    def send(self, call: Call, name: bytes | None, model: str, file_size: int | None, fields: bytes) -> bytes | None:
        root = os.fsencode(self.world)
        path = os.fsencode(model.replace("{root}", str(self.world)))
        self.driver.send(request(call, name, path, root, root, file_size, fields, self.bulk))
        return self.driver.reply(20)

    def call(
        self,
        call: Call,
        name: str | bytes | None,
        model: str = "{root}/model/model.onnx",
        file_size: int | None = None,
        fields: bytes = b"",
    ) -> Reply:
        """Make a call; the driver must answer."""
        data = self.send(call, name.encode() if isinstance(name, str) else name, model, file_size, fields)
        assert data, "the driver ended"
        return read_reply(call, data, self.bulk)

    def read(self, name: str | bytes | None, model: str = "{root}/model/model.onnx", **options: object) -> tuple[int, bytes]:
        """The code and the bytes of a plain read."""
        reply = self.call(Call("read", **options), name, model)  # type: ignore[arg-type]
        return reply.seen.code, bytes(reply.output)

    def load(self, *nodes: Node) -> Reply:
        """Load the nodes of a model."""
        return self.call(Call("load"), None, fields=b"".join(map(wire.node, nodes)))

    def ended(self) -> tuple[int, str]:
        """The exit code of a driver that ends by itself, and what it said."""
        self.exit_code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.exit_code, os.pread(self.words, 1 << 16, 0).decode()
