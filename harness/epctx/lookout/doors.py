"""The doors: the system calls through which a file's content can go away, and the filter that stops a process at each of them.

A process that is stopped goes on once whoever holds the other end has looked (``epctx.lookout.lookout``). So content that is
written to a file is seen there, however briefly it stands: a file is closed, overwritten, renamed or removed only after a look.
"""

from __future__ import annotations

import platform
import socket
import struct
from typing import Literal, TypeAlias

from epctx import syscalls

Look: TypeAlias = Literal["descriptor", "mapped", "replaced", "descriptors", "places"]
"""What is looked at: the descriptor that is the call's first, fifth (mmap) or second argument (dup2); all descriptors of the
process; or everything that changed in the places that are watched."""

_AT: dict[str, Look] = {
    "close": "descriptor",
    "lseek": "descriptor",
    "pwrite64": "descriptor",
    "pwritev": "descriptor",
    "pwritev2": "descriptor",
    "ftruncate": "descriptor",
    "fallocate": "descriptor",
    "mmap": "mapped",
    "dup2": "replaced",
    "dup3": "replaced",
    "close_range": "descriptors",
    "exit_group": "descriptors",
    "truncate": "places",
    "unlink": "places",
    "unlinkat": "places",
    "rename": "places",
    "renameat": "places",
    "renameat2": "places",
}
_GENERIC = {
    "close": 57,
    "lseek": 62,
    "pwrite64": 68,
    "pwritev": 70,
    "pwritev2": 287,
    "ftruncate": 46,
    "fallocate": 47,
    "mmap": 222,
    "dup3": 24,
    "close_range": 436,
    "exit_group": 94,
    "truncate": 45,
    "unlinkat": 35,
    "renameat": 38,
    "renameat2": 276,
}
_X86_64 = {
    "close": 3,
    "lseek": 8,
    "pwrite64": 18,
    "pwritev": 296,
    "pwritev2": 328,
    "ftruncate": 77,
    "fallocate": 285,
    "mmap": 9,
    "dup2": 33,
    "dup3": 292,
    "close_range": 436,
    "exit_group": 231,
    "truncate": 76,
    "unlink": 87,
    "unlinkat": 263,
    "rename": 82,
    "renameat": 264,
    "renameat2": 316,
}
_MACHINES = {"x86_64": (0xC000003E, _X86_64), "aarch64": (0xC00000B7, _GENERIC), "riscv64": (0xC00000F3, _GENERIC)}
_ARCHITECTURE, _NUMBERS = _MACHINES.get(platform.machine(), (0, {}))

DOORS: dict[int, Look] = {number: _AT[name] for name, number in _NUMBERS.items()}
"""What is looked at before the system call of each number."""

_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06  # instructions of the kernel's packet filter
_ALLOW, _NOTIFY = 0x7FFF0000, 0x7FC00000
_NUMBER_AT, _ARCHITECTURE_AT, _PROTECTION_AT, _FLAGS_AT = 0, 4, 32, 40  # in struct seccomp_data
_PROT_WRITE, _MAP_SHARED = 2, 1


def why_no_doors() -> str:
    """Why processes cannot be stopped at doors here, in words; empty if they can."""
    if not DOORS:
        return f"the system calls of {platform.machine()} are not known"
    try:
        syscalls.seccomp_notification_sizes()
    except OSError as error:
        return f"the kernel has no notifications of seccomp ({error.strerror})"
    return ""


def guard(report: socket.socket) -> None:
    """Put this process and all its children under the filter, for good, and send the descriptor of its notifications.

    From here on the process stands still at each door until somebody serves that descriptor. Where it cannot be had, the reason
    is sent instead, and nothing is guarded.
    """
    try:
        syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
        listener = syscalls.seccomp_listen(_program())
    except OSError as error:
        report.send((error.strerror or str(error)).encode())
    else:
        socket.send_fds(report, [b"\0"], [listener])


def guarded_process(report: socket.socket) -> int:
    """What ``guard`` sent to the other end: the descriptor. OSError with the reason if it could not be had."""
    words, fds, _, _ = socket.recv_fds(report, 256, 1)
    if not fds:
        raise OSError(words.decode() or "the process ended before it was guarded")
    return fds[0]


def _program() -> bytes:
    """The filter: a call at a door waits; every other one, also those of another architecture, goes on."""
    plain = [number for number, look in DOORS.items() if look != "mapped"]
    mapping = next(number for number, look in DOORS.items() if look == "mapped")
    # Jumps count the instructions that are left out. The tail is: 0 allow, 1 to 4 mappings, 5 notify, 6 allow.
    tail = [
        _step(_RETURN, _ALLOW),
        _step(_LOAD, _PROTECTION_AT),
        _step(_ANY_BIT, _PROT_WRITE, 0, 3),
        _step(_LOAD, _FLAGS_AT),
        _step(_ANY_BIT, _MAP_SHARED, 0, 1),
        _step(_RETURN, _NOTIFY),
        _step(_RETURN, _ALLOW),
    ]
    tests = [_step(_EQUAL, number, len(plain) - index + 5, 0) for index, number in enumerate(plain)]
    tests.append(_step(_EQUAL, mapping, 1, 0))
    head = [_step(_LOAD, _ARCHITECTURE_AT), _step(_EQUAL, _ARCHITECTURE, 0, len(tests) + 1), _step(_LOAD, _NUMBER_AT)]
    return b"".join(head + tests + tail)


def _step(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, operand)
