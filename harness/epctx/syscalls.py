"""The Linux system calls that Python has no words for, and nothing else: thin, checked, and without policy.

Every function raises ``OSError`` with the call's errno. On a system without the call, or other than Linux, that is ``ENOSYS``.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import signal
import struct
from typing import Any

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC = 1, 2, 4, 8, 32, 4096, 16384
MS_PRIVATE, MS_SLAVE, MS_SHARED = 1 << 18, 1 << 19, 1 << 20
MNT_DETACH = 2

MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID = 1, 2
OPEN_TREE_CLONE = 1
MOVE_MOUNT_F_EMPTY_PATH, MOVE_MOUNT_T_EMPTY_PATH = 0x04, 0x40
AT_EMPTY_PATH, AT_RECURSIVE = 0x1000, 0x8000

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 36, 38

IN_MODIFY, IN_ATTRIB, IN_CLOSE_WRITE, IN_OPEN = 0x2, 0x4, 0x8, 0x20
IN_MOVED_FROM, IN_MOVED_TO, IN_CREATE, IN_DELETE = 0x40, 0x80, 0x100, 0x200
IN_Q_OVERFLOW, IN_IGNORED, IN_ONLYDIR, IN_DONT_FOLLOW, IN_ISDIR = 0x4000, 0x8000, 0x01000000, 0x02000000, 0x40000000

SECCOMP_GET_NOTIF_SIZES = 3

LANDLOCK_CREATE_RULESET_VERSION = 1
LANDLOCK_RULE_PATH_BENEATH = 1

_FS_IOC_SETFLAGS = 0x40086602
_SECCOMP_SET_MODE_FILTER, _SECCOMP_FILTER_FLAG_NEW_LISTENER = 1, 8
_SECCOMP_IOCTL_NOTIF_RECV, _SECCOMP_IOCTL_NOTIF_SEND = 0xC0502100, 0xC0182101
_SECCOMP_USER_NOTIF_FLAG_CONTINUE = 1
_NOTIFICATION_ROOM = 1024
_CLOSE_RANGE_CLOEXEC = 4
_PERSONALITY_ASKED, _ADDR_NO_RANDOMIZE = 0xFFFFFFFF, 0x0040000
_CAPABILITY_VERSION_3 = 0x20080522

# The calls without a wrapper in the C library. Those from 424 on have one number on all architectures.
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41}.get(platform.machine(), -1)
_CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220}.get(platform.machine(), -1)
_SECCOMP = {"x86_64": 317, "aarch64": 277, "riscv64": 277}.get(platform.machine(), -1)
_OPEN_TREE, _MOVE_MOUNT, _CLOSE_RANGE, _MOUNT_SETATTR = 428, 429, 436, 442
_LANDLOCK_CREATE_RULESET, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT_SELF = 444, 445, 446

_libc = ctypes.CDLL(None, use_errno=True)
_libc_with_gil = ctypes.PyDLL(None, use_errno=True)
_long = ctypes.c_long


def _function(name: str, *arguments: Any) -> Any:
    """A function of the C library, or one that fails with ENOSYS where the library lacks it."""
    try:
        function = getattr(_libc, name)
    except AttributeError:
        return _missing
    function.argtypes = arguments
    function.restype = ctypes.c_int
    return function


def _missing(*_arguments: object) -> int:
    ctypes.set_errno(errno.ENOSYS)
    return -1


_unshare = _function("unshare", ctypes.c_int)
_mount = _function("mount", ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p)
_umount2 = _function("umount2", ctypes.c_char_p, ctypes.c_int)
_prctl = _function("prctl", ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong)
_capset = _function("capset", ctypes.c_char_p, ctypes.c_char_p)
_personality = _function("personality", ctypes.c_ulong)
_inotify_init1 = _function("inotify_init1", ctypes.c_int)
_inotify_add_watch = _function("inotify_add_watch", ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
_inotify_rm_watch = _function("inotify_rm_watch", ctypes.c_int, ctypes.c_int)


def _checked(result: int, what: object = None) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), what if isinstance(what, str | bytes) else None)
    return result


def _syscall(number: int, *arguments: Any) -> int:
    if number < 0 or not hasattr(_libc, "syscall"):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    return _checked(_libc.syscall(_long(number), *(_long(a) if isinstance(a, int) else a for a in arguments)))


def unshare(flags: int) -> None:
    """Leave the namespaces named by ``flags`` (CLONE_NEW...) for new ones."""
    _checked(_unshare(flags))


def fork_into(flags: int) -> int:
    """Fork, the child in new namespaces of its own (CLONE_NEW..., or 0 for none); what ``os.fork`` returns.

    Unlike unshare and fork this leaves the namespace of later children alone, which an ordinary user could not get back to. The C
    library and its atfork handlers do not notice: other threads must be idle, and the child may only fork in this way, since a
    handler might wait there for threads that only the parent has (as that of OpenBLAS does).
    """
    if _CLONE < 0:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    result = _libc_with_gil.syscall(_long(_CLONE), _long(flags | signal.SIGCHLD), _long(0), _long(0), _long(0), _long(0))
    if result == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    return _checked(result)


def mount(source: bytes, target: bytes, kind: bytes = b"", flags: int = 0, options: bytes = b"") -> None:
    """mount(2)."""
    _checked(_mount(source, target, kind or None, flags, options or None), target)


def umount(target: bytes, flags: int = MNT_DETACH) -> None:
    """umount2(2); detached by default, so that nobody can keep the mount busy."""
    _checked(_umount2(target, flags), target)


def pivot_root(new: bytes, old: bytes) -> None:
    """pivot_root(2)."""
    _syscall(_PIVOT_ROOT, ctypes.c_char_p(new), ctypes.c_char_p(old))


def set_mount_attributes(fd: int, attributes: int, *, recursive: bool = False) -> None:
    """Set the MOUNT_ATTR_... ``attributes`` of the mount that ``fd`` is the root of; of those below it too if ``recursive``."""
    data = struct.pack("QQQQ", attributes, 0, 0, 0)
    flags = AT_EMPTY_PATH | (AT_RECURSIVE if recursive else 0)
    _syscall(_MOUNT_SETATTR, fd, ctypes.c_char_p(b""), flags, ctypes.c_char_p(data), len(data))


def open_tree(fd: int, flags: int) -> int:
    """A descriptor of the mount that ``fd`` lies in, or with OPEN_TREE_CLONE of a detached copy of it that starts at ``fd``."""
    return _syscall(_OPEN_TREE, fd, ctypes.c_char_p(b""), flags | AT_EMPTY_PATH | os.O_CLOEXEC)


def move_mount(tree: int, target: int) -> None:
    """Attach the detached mount ``tree`` at the directory or file that the descriptor ``target`` refers to."""
    flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH
    _syscall(_MOVE_MOUNT, tree, ctypes.c_char_p(b""), target, ctypes.c_char_p(b""), flags)


def prctl(option: int, value: int) -> None:
    """prctl(2) for the options that take one number."""
    _checked(_prctl(option, value, 0, 0, 0))


def fix_addresses() -> None:
    """Have programs that this process executes loaded at the same addresses each time (ADDR_NO_RANDOMIZE)."""
    _checked(_personality(_checked(_personality(_PERSONALITY_ASKED)) | _ADDR_NO_RANDOMIZE))


def drop_capabilities() -> None:
    """Give up every capability of this process."""
    _checked(_capset(struct.pack("Ii", _CAPABILITY_VERSION_3, 0), bytes(24)))


def close_on_exec(first: int, last: int = 0x7FFFFFFF) -> None:
    """Mark the descriptors ``first`` to ``last`` so that they do not live through execve."""
    try:
        _syscall(_CLOSE_RANGE, first, last, _CLOSE_RANGE_CLOEXEC)
    except OSError:  # before Linux 5.11
        for name in os.listdir("/proc/self/fd"):
            fd = int(name)
            if first <= fd <= last:
                try:
                    os.set_inheritable(fd, False)
                except OSError:
                    continue  # the descriptor of the listing itself


def set_file_flags(fd: int, flags: int) -> None:
    """Set the inode flags (FS_..._FL) of an open file."""
    fcntl.ioctl(fd, _FS_IOC_SETFLAGS, struct.pack("l", flags))


def inotify_init() -> int:
    """A new inotify descriptor that does not block."""
    return _checked(_inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))


def inotify_add_watch(fd: int, path: bytes, mask: int) -> int:
    """Watch the inode at ``path``; the same inode gives the same number."""
    result: int = _inotify_add_watch(fd, path, mask)
    return result if result >= 0 else _checked(result, path)


def inotify_rm_watch(fd: int, number: int) -> None:
    """Stop a watch."""
    _checked(_inotify_rm_watch(fd, number))


def landlock_abi() -> int:
    """The version of Landlock that the kernel has and lets this process use; 0 for none."""
    try:
        return _syscall(_LANDLOCK_CREATE_RULESET, 0, 0, LANDLOCK_CREATE_RULESET_VERSION)
    except OSError:
        return 0


def landlock_create_ruleset(attributes: bytes) -> int:
    """A descriptor of a new set of rules; ``attributes`` is a struct landlock_ruleset_attr."""
    return _syscall(_LANDLOCK_CREATE_RULESET, ctypes.c_char_p(attributes), len(attributes), 0)


def landlock_allow(rules: int, fd: int, access: int) -> None:
    """Allow ``access`` on all that lies beneath the file or directory ``fd``."""
    data = struct.pack("=Qi", access, fd)
    _syscall(_LANDLOCK_ADD_RULE, rules, LANDLOCK_RULE_PATH_BENEATH, ctypes.c_char_p(data), 0)


def landlock_restrict_self(rules: int) -> None:
    """Put this process, for good, under the set of rules."""
    _syscall(_LANDLOCK_RESTRICT_SELF, rules, 0)


def seccomp_notification_sizes() -> tuple[int, int, int]:
    """The sizes of the structures with which a filter's notifications are taken and answered, where the kernel has those."""
    sizes = ctypes.create_string_buffer(6)
    _syscall(_SECCOMP, SECCOMP_GET_NOTIF_SIZES, 0, sizes)
    first, second, third = struct.unpack("HHH", sizes.raw)
    return first, second, third


def seccomp_listen(program: bytes) -> int:
    """Put this thread, for good, under a filter (instructions of struct sock_filter); the descriptor of its notifications.

    Needs no_new_privs. EBUSY where a filter with notifications is in force already.
    """
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
    return _syscall(_SECCOMP, _SECCOMP_SET_MODE_FILTER, _SECCOMP_FILTER_FLAG_NEW_LISTENER, ctypes.c_char_p(head))


def seccomp_notification(fd: int) -> tuple[int, int, int, tuple[int, ...]]:
    """The next call that waits at a filter: its cookie, the thread that makes it, its number and its six arguments.

    Blocks where none waits; ENOENT if the one that waited is gone.
    """
    room = bytearray(_NOTIFICATION_ROOM)
    fcntl.ioctl(fd, _SECCOMP_IOCTL_NOTIF_RECV, room)
    cookie, thread, _flags, number, _architecture, _instruction, *arguments = struct.unpack_from("QIIiIQ6Q", room)
    return cookie, thread, number, tuple(arguments)


def seccomp_continue(fd: int, cookie: int) -> None:
    """Let a call that waits at a filter go on as if there were none. ENOENT if it is gone."""
    fcntl.ioctl(fd, _SECCOMP_IOCTL_NOTIF_SEND, struct.pack("QqiI", cookie, 0, 0, _SECCOMP_USER_NOTIF_FLAG_CONTINUE))
