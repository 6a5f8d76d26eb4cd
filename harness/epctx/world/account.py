"""The user that targets run as."""

from __future__ import annotations

import os
import stat

from epctx.case import Struct

NOBODY = 65534


class Account(Struct, frozen=True):
    """The user and group of the target and of everything in its world; ``why`` says it in words.

    ``changes`` is whether that is another user than the harness's own.
    """

    uid: int
    gid: int
    changes: bool
    why: str

    def reaches(self, path: str) -> bool:
        """Whether this user may read what lies at an absolute path, and go through the directories above it."""
        place = os.path.realpath(path)
        while self._may(place):
            if place == os.path.dirname(place):
                return True
            place = os.path.dirname(place)
        return False

    def _may(self, path: str) -> bool:
        try:
            status = os.stat(path)
        except OSError:
            return False
        shift = 6 if status.st_uid == self.uid else 3 if status.st_gid == self.gid else 0
        needed = 0o1 if stat.S_ISDIR(status.st_mode) else 0o4
        return bool(status.st_mode >> shift & needed)


def account_for_targets() -> Account:
    """The least user that this process can run targets as: nobody for root, else its own."""
    uid, gid = os.geteuid(), os.getegid()
    if uid != 0:
        return Account(uid, gid, False, f"the target runs as the same user as the harness (uid {uid})")
    if not (_mapped("uid") and _mapped("gid")):
        return Account(uid, gid, False, "the target runs as root: no other user exists in this user namespace")
    return Account(NOBODY, NOBODY, True, f"the target runs as nobody (uid {NOBODY})")


def _mapped(kind: str) -> bool:
    """Whether nobody is an id of this user namespace."""
    try:
        with open(f"/proc/self/{kind}_map", encoding="ascii") as file:
            ranges = [[int(n) for n in line.split()] for line in file]
    except OSError:
        return False
    return any(first <= NOBODY < first + count for first, _, count in ranges)
