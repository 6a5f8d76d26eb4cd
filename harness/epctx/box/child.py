"""What the child of a spawn does before it becomes the target. Nothing here returns to the harness."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import select
import signal
import socket
import struct
from collections.abc import Iterable
from typing import NoReturn

from epctx import syscalls
from epctx.box import landlock, root
from epctx.case import Struct
from epctx.lookout import doors
from epctx.world.account import Account

_DESCRIPTORS = 256
_PROCESSES = 4096
_HIGH = 200


def high(fd: int) -> int:
    """A copy of a descriptor, with a number above all those that a target expects, and below its limit."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH)


class Order(Struct, frozen=True):
    """All that a child needs to know: what to run, in which box, and the descriptors that connect it to the harness.

    ``argv`` None ends the child with status 0 where it would run it: a trial of the box. ``start`` gets the target's process id,
    then the reason if it cannot start, and closes when it has; ``end`` gets how it ended, if there is an init to tell it.
    ``memory`` is what it may take, in bytes: of address space, or, if it ``reserves`` that, of data.
    ``guard`` is a socket for ``doors.guard``, -1 for a target that no lookout is kept on. The descriptors of the order itself
    are high ones.
    """

    strength: str
    argv: tuple[str, ...] | None
    program: int
    environment: dict[str, str]
    fds: dict[int, int]
    readable: tuple[str, ...]
    top: str
    cwd: str
    account: Account
    memory: int | None
    reserves: bool
    fixed_addresses: bool
    output: int
    start: int
    end: int
    guard: int


def become_init(order: Order, parent: int) -> NoReturn:
    """The first process of a box with namespaces: builds the box, starts the target, and outlives it to tell how it ended.

    As root it stays root, without the target being able to reach it: a target that dies takes no other status than its own, and
    when this process dies, the kernel ends all others in the box.
    """
    try:
        _quiet_signals()
        _die_with(parent)
        flags = syscalls.CLONE_NEWNS | syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS
        syscalls.unshare(flags)
        host_proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY)
        root.enter_private_root(order.readable, order.top)
        target = syscalls.fork_into(0)
        if target == 0:
            _tell_pid(order, os.readlink("self", dir_fd=host_proc))
            become_target(order)
        os.close(host_proc)
        keep = order.end
        os.closerange(0, keep)
        os.closerange(keep + 1, 1 << 16)
        while True:
            pid, status = os.wait()
            if pid == target:
                os.write(keep, struct.pack("i", status))
                os._exit(0)
    except BaseException as error:
        _fail(order, error)


def become_only(order: Order, parent: int) -> NoReturn:
    """The target of a box without namespaces."""
    try:
        _quiet_signals()
        _tell_pid(order, str(os.getpid()))
        syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
        if order.strength == "landlock":
            files = [order.program, *order.fds.values()] if order.argv else []
            system = (*root.SYSTEM, *root.SYSTEM_FILES, "/proc", *order.readable)
            landlock.restrict([*system, *_regular(files)], [*root.DEVICES, order.top])
        become_target(order, parent)
    except BaseException as error:
        _fail(order, error)


def become_target(order: Order, parent: int = -1) -> NoReturn:
    """Give up what is left of privileges, take on the limits, and execute."""
    try:
        account = order.account
        if account.changes:
            os.setgroups([])
            os.setresgid(account.gid, account.gid, account.gid)
            os.setresuid(account.uid, account.uid, account.uid)
        _die_with(parent)  # only now: a change of the user clears it
        if order.strength == "namespaces" or account.changes:
            syscalls.drop_capabilities()
        syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
        if order.argv is None:
            os._exit(0)
        os.chdir(order.cwd)
        os.umask(0o022)
        _place_descriptors(order)
        if order.guard >= 0:
            report = socket.socket(fileno=order.guard)  # held: from here on nothing is closed before somebody keeps the lookout
            doors.guard(report)
        _limit(resource.RLIMIT_CORE, 0)
        if account.changes:
            _limit(resource.RLIMIT_NPROC, _PROCESSES)
        _limit(resource.RLIMIT_NOFILE, _DESCRIPTORS)
        if order.memory is not None:
            _limit(resource.RLIMIT_DATA if order.reserves else resource.RLIMIT_AS, order.memory)
        if order.fixed_addresses:
            with contextlib.suppress(OSError):  # some containers forbid it
                syscalls.fix_addresses()
        os.execve(order.program, list(order.argv), dict(order.environment))
    except BaseException as error:
        _fail(order, error)


def _place_descriptors(order: Order) -> None:
    """Give each descriptor its number, and have all others closed by execve."""
    wanted = {0: os.open(os.devnull, os.O_RDONLY), 1: order.output, 2: order.output, **order.fds}
    for number, fd in {number: high(fd) for number, fd in wanted.items()}.items():
        os.dup2(fd, number)
    gaps = sorted(wanted)
    for number, following in zip(gaps, [*gaps[1:], 0x7FFFFFFF], strict=True):
        if following - number > 1:
            syscalls.close_on_exec(number + 1, following - 1)


def _quiet_signals() -> None:
    """A session of its own, so that Ctrl-C on the terminal is not for it; signals as a program expects them.

    SIGPIPE and SIGXFSZ stay ignored through execve: a write that hits a limit is to fail, not to kill.
    """
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies, also if that was a moment ago (``parent`` is its pidfd, or -1)."""
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent >= 0:
        poller = select.poll()
        poller.register(parent, select.POLLIN)
        if poller.poll(0):
            os._exit(1)


def _limit(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))


def _regular(fds: Iterable[int]) -> list[int]:
    """Those descriptors that Landlock can have rules about: files that have a path."""
    return [fd for fd in fds if os.readlink(f"/proc/self/fd/{fd}").startswith("/") and not _in_memory(fd)]


def _in_memory(fd: int) -> bool:
    return os.readlink(f"/proc/self/fd/{fd}").startswith("/memfd:")


def _tell_pid(order: Order, pid: str) -> None:
    os.write(order.start, f"{pid}\n".encode())


def _fail(order: Order, error: BaseException) -> NoReturn:
    with contextlib.suppress(BaseException):
        what = f"{error.strerror} ({error.filename})" if isinstance(error, OSError) and error.filename else str(error)
        os.write(order.start, f"!{what}".encode())
    if order.guard >= 0:  # an exit is a door, too
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(1)
