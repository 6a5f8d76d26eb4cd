"""Boxes: what a target can reach."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from epctx import syscalls
from epctx.box import landlock
from epctx.box.child import Order, become_init, become_only, high
from epctx.box.process import Ended, Process
from epctx.errors import HarnessError
from epctx.world.ground import Ground

Strength: TypeAlias = Literal["namespaces", "landlock", "none"]
STRENGTHS: tuple[Strength, ...] = ("namespaces", "landlock", "none")
"""The kinds of box, strongest first."""

_OUTPUT_CAPACITY = 1 << 18
_WHAT = {
    "namespaces": "namespaces: the target sees the system (read-only), its world, no other process and no network",
    "landlock": "Landlock: the target reads the system and reaches its world, and nothing else by path",
    "none": "no box",
}
_UNBOXED = (
    "WARNING: the target is not boxed. It can read and write all that its user can, use the network, and leave processes behind; "
    "only its address space, descriptors and time are limited."
)


class Box:
    """The box of a process's targets, as strong as the system allows or, with ``strength``, exactly that one.

    ``strength`` is what it came to, ``weaker_because`` why nothing stronger (in words, empty for the strongest).
    """

    def __init__(self, ground: Ground, strength: Strength | None = None) -> None:
        """Try out the boxes on a ground, strongest first. Raises HarnessError if the one asked for cannot be had."""
        self.ground = ground
        self.weaker_because = ""
        reasons = []
        for kind in STRENGTHS if strength is None else (strength,):
            self.strength: Strength = kind
            reason = self._reason_against(kind)
            if not reason:
                break
            reasons.append(f"{kind} cannot be had: {reason}")
        else:
            raise HarnessError("; ".join(reasons))
        if strength is not None and strength != STRENGTHS[0]:
            reasons.append("it was asked for")
        self.weaker_because = "; ".join(reasons)

    def describe(self) -> str:
        """Which box is in force, why not a stronger one, and what that leaves open."""
        parts = [_WHAT[self.strength] + (f" ({self.weaker_because})" if self.weaker_because else "")]
        if self.strength == "landlock":
            parts.append(f"it leaves open: {landlock.lacks()}; and the target sees other processes")
        parts.append(self.ground.account.why)
        text = "; ".join(parts)
        return f"{_UNBOXED} ({text})" if self.strength == "none" else text

    def spawn(
        self,
        argv: Sequence[str],
        *,
        fds: Mapping[int, int] | None = None,
        readable: Sequence[str] = (),
        memory: int | None = None,
        environment: Mapping[str, str] | None = None,
        program: str | None = None,
        guard: int = -1,
        fixed_addresses: bool = False,
        reserves: bool = False,
    ) -> Process:
        """Start ``argv`` in the box; it is running when this returns.

        ``fds`` maps the numbers that it finds to descriptors of this process; 0 to 2 are /dev/null and the captured output.
        ``readable`` are absolute paths that it may read besides the system. ``memory`` limits its address space in bytes (None:
        not at all, as sanitizers need). Of one that ``reserves`` address space which it never uses, as the engines of JavaScript,
        Java and .NET do by tens of gigabytes, it limits the memory that can be written, all but what is shared.
        ``environment`` is added to a minimal one. ``program`` is the file to execute (else ``argv[0]``). With ``guard``, a
        socket, it is guarded (``epctx.lookout``), and stands still until somebody keeps the lookout. With ``fixed_addresses`` it
        is not loaded at random ones, where the system lets us. It starts in the directory for temporary files. Raises
        HarnessError.
        """
        try:
            executable = os.open(program or argv[0], os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise HarnessError(f"{program or argv[0]} cannot be started: {error.strerror}") from error
        home = os.fsdecode(self.ground.scratch)
        base = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": home, "TMPDIR": os.fsdecode(self.ground.scratch)}
        base.update(environment or {})
        paths = tuple(map(os.path.abspath, readable))
        try:
            return self._start(tuple(argv), executable, base, dict(fds or {}), paths, memory, guard, fixed_addresses, reserves)
        finally:
            os.close(executable)

    def _reason_against(self, kind: Strength) -> str:
        """Why a box of this kind cannot be had, in words; empty if it can."""
        if kind == "landlock" and not syscalls.landlock_abi():
            return "this kernel has no Landlock"
        try:
            nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            try:
                with self._start(None, nothing, {}, {}, (), None) as process:
                    ended = process.wait(10)
            finally:
                os.close(nothing)
        except HarnessError as error:
            return str(error)
        return "" if ended == Ended() else "the trial did not end"

    def _start(
        self,
        argv: tuple[str, ...] | None,
        program: int,
        environment: dict[str, str],
        fds: dict[int, int],
        readable: tuple[str, ...],
        memory: int | None,
        guard: int = -1,
        fixed_addresses: bool = False,
        reserves: bool = False,
    ) -> Process:
        boxed = self.strength == "namespaces"
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            start_read, start = _pipe(ours, theirs)
            output_read, output = _pipe(ours, theirs)
            end_read, end = _pipe(ours, theirs)
            for fd in (output_read, output, end_read):
                os.set_blocking(fd, False)  # a target that prints more than is taken from it loses that, but never waits
            with contextlib.suppress(OSError):
                fcntl.fcntl(output, fcntl.F_SETPIPE_SZ, _OUTPUT_CAPACITY)
            executable = _held(theirs, high(program))
            parent = _held(theirs, os.pidfd_open(os.getpid()))
            order = Order(
                strength=self.strength,
                argv=argv,
                program=executable,
                environment=environment,
                fds=fds,
                readable=readable,
                top=os.fsdecode(self.ground.top),
                cwd=os.fsdecode(self.ground.scratch),
                account=self.ground.account,
                memory=memory,
                reserves=reserves,
                fixed_addresses=fixed_addresses,
                output=output,
                start=start,
                end=end,
                guard=_held(theirs, high(guard)) if guard >= 0 else -1,
            )
            leader = _fork_into_pid_namespace(order, parent) if boxed else _fork(order, parent)
            theirs.close()
            told = _read_all(start_read)
            pid, _, reason = told.partition("\n")
            if reason or not pid or pid.startswith("!"):
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(leader, 0)
                raise HarnessError((reason or pid).lstrip("!") or "it ended before it started")
            os.close(start_read)
            process = Process(leader, int(pid), end_read if boxed else -1, output_read)
            if not boxed:
                os.close(end_read)
            ours.pop_all()
            return process


def _fork(order: Order, parent: int) -> int:
    pid = os.fork()
    if pid == 0:
        become_only(order, parent)
    return pid


def _fork_into_pid_namespace(order: Order, parent: int) -> int:
    try:
        pid = syscalls.fork_into(syscalls.CLONE_NEWPID)
    except OSError as error:
        raise HarnessError(f"there is no pid namespace: {error.strerror}") from error
    if pid == 0:
        become_init(order, parent)
    return pid


def _held(stack: contextlib.ExitStack, fd: int) -> int:
    stack.callback(os.close, fd)
    return fd


def _pipe(ours: contextlib.ExitStack, theirs: contextlib.ExitStack) -> tuple[int, int]:
    read, write = os.pipe()
    moved = high(write)
    os.close(write)
    return _held(ours, read), _held(theirs, moved)


def _read_all(fd: int) -> str:
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    data = b""
    while poller.poll() and (block := os.read(fd, 4096)):
        data += block
    return data.decode("utf-8", "replace")
