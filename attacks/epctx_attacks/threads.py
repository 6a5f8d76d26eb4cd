"""Several threads at once: each reads its own bytes, each callback is its own call's, and none of them waits for another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from epctx.attack import OPS, Draft, Family, Op, scene, threads
from epctx.case import Callback, Content, File, Limits, Link, Share

family = Family("threads", "Many threads that read and write at once, callbacks that wait for each other or call back in.")

Configs = Literal["one", "each"]
CONFIGS: tuple[Configs, ...] = ("one", "each")

ASKED = Callback()
"""A callback that is asked by the names of the shares."""
BOTH: dict[Op, Callback] = {"read": ASKED, "write": ASKED}

PATIENT = Limits(seconds=8)
"""Callbacks that wait for each other in vain give up after half a second; a busy machine takes longer."""


def shares(op: Op, count: int, size: int = 96) -> list[Share]:
    """Reads or writes of ``count`` names, whose contents differ in their bytes and, by one each, in their sizes."""
    word = {"read": "r", "write": "w"}[op]
    return [Share(op, f"{word}{n}.bin", Content(f"{word}{n}", size + n)) for n in range(count)]


def files(some: Sequence[Share]) -> list[File]:
    """The files of the world that shares read."""
    return [File(f"model/{s.name}", s.content) for s in some if s.op == "read"]


# --- bytes of one's own -----------------------------------------------------------------------------------------------------

CROWDS = {"2x2": (2, 2), "4x4": (4, 4), "4x16": (4, 16), "8x3": (8, 3)}
"""The axis of numbers: threads and names."""


@family.benign("thread.no-cross-talk", "thread.no-data-race", op=OPS, crowd=CROWDS, configs=CONFIGS)
def by_callback(op: Op, crowd: tuple[int, int], configs: Configs) -> Draft:
    """Threads and names ({crowd}): each {op} has its own bytes, state and name at the callback ({configs} config)."""
    count, names = crowd
    asked: dict[Op, Callback] = {op: ASKED}
    return scene(calls=threads(*shares(op, names), count=count, configs=configs, callbacks=asked))


@family.benign("thread.no-cross-talk", "thread.no-data-race", crowd=CROWDS)
def read_files(crowd: tuple[int, int]) -> Draft:
    """Threads and names ({crowd}): each read is of its own file."""
    count, names = crowd
    some = shares("read", names)
    return scene(*files(some), calls=threads(*some, count=count))


@family.benign("thread.no-cross-talk", "thread.no-data-race", count={"2": 2, "4": 4, "8": 8}, target=("new", "existing"))
def write_files(count: int, target: str) -> Draft:
    """Each of 48 files, which {count} threads write, holds in the end what was written to it ({target} files)."""
    some = shares("write", 48)
    old = [File(f"model/{share.name}", Content(f"old {share.name}")) for share in some if target == "existing"]
    return scene(*old, calls=threads(*some, count=count, rounds=48 // count))


@family.benign("thread.no-cross-talk", "own.no-leak", path=("callback", "file"), size={"4096": 4096, "65536": 65536})
def larger_reads(path: str, size: int) -> Draft:
    """Each of four threads has its own bytes of about {size}, and nothing is left behind ({path})."""
    some = shares("read", 4, size)
    if path == "callback":
        return scene(calls=threads(*some, callbacks={"read": ASKED}))
    return scene(*files(some), calls=threads(*some))


@family.benign("thread.no-cross-talk", "own.caller-allocator", path=("callback", "file"))
def callers_allocator(path: str) -> Draft:
    """Several threads share the allocator that their caller gave ({path})."""
    some = shares("read", 4)
    if path == "callback":
        return scene(calls=threads(*some, callbacks={"read": ASKED}, allocator="caller"))
    return scene(*files(some), calls=threads(*some, allocator="caller"))


@family.benign("thread.no-cross-talk", "name.opaque-to-callback", configs=CONFIGS)
def names_alike(configs: Configs) -> Draft:
    """Names that differ in their last byte, in case, or in what a path would make of them, are told apart ({configs} config)."""
    names = ("engine.bin", "engine.bim", "Engine.bin", "./engine.bin", "a/../engine.bin", "{root}/engine.bin", "engine.bin ")
    some = [Share("read", name, Content(f"alike {n}")) for n, name in enumerate(names)]
    return scene(calls=threads(*some, callbacks={"read": ASKED}, configs=configs))


@family.benign("thread.no-cross-talk", way=("callbacks", "files", "read-callback", "write-callback"))
def readers_and_writers(way: str) -> Draft:
    """Threads that read and threads that write do not meet ({way})."""
    asked: dict[Op, Callback] = {op: ASKED for op in OPS if way in ("callbacks", f"{op}-callback")}
    reads, writes = shares("read", 24), shares("write", 24)
    some = [share for pair in zip(reads, writes, strict=True) for share in pair]
    return scene(
        *files([] if "read" in asked else reads),
        calls=threads(*some, rounds=12, callbacks=asked),
    )


@family.benign("thread.no-cross-talk", "name.opaque-to-callback")
def one_name_both_ways() -> Draft:
    """A name that is read and written at once, by callbacks, has its own bytes each way."""
    some = (Share("read", "engine.bin", Content("given")), Share("write", "engine.bin", Content("taken")))
    return scene(calls=threads(*some, callbacks=BOTH))


@family.benign("thread.no-cross-talk", "contain.parent", "contain.symlink-file", op=OPS)
def good_beside_hostile(op: Op) -> Draft:
    """Hostile names are refused in one thread while good ones are taken in another: a {op} is checked by its own name."""
    hostile = [
        Share("read", name, None) for name in ("../outside/secret.bin", "{root}/outside/secret.bin", "link", "missing.bin")
    ]
    good = shares(op, 4)
    some = [share for pair in zip(good, hostile, strict=True) for share in pair]
    return scene(*files(good), Link("model/link", "../outside/secret.bin"), calls=threads(*some, rounds=40))


# --- callbacks that wait ----------------------------------------------------------------------------------------------------


@family.benign("thread.not-serialised", op=OPS, count={"2": 2, "4": 4})
def barrier(op: Op, count: int) -> Draft:
    """All of {count} {op} callbacks are at work at once: none returns before the last has come."""
    asked: dict[Op, Callback] = {op: Callback(waits=count)}
    return scene(calls=threads(*shares(op, count), count=count, rounds=3, callbacks=asked), limits=PATIENT)


@family.benign("thread.not-serialised", "thread.no-cross-talk")
def barrier_between_directions() -> Draft:
    """A read callback and a write callback are at work at once."""
    some = (*shares("read", 1), *shares("write", 1))
    waits = Callback(waits=2)
    return scene(calls=threads(*some, count=2, rounds=1, callbacks={"read": waits, "write": waits}), limits=PATIENT)


@family.benign("thread.not-serialised", "thread.no-cross-talk")
def file_while_a_callback_waits() -> Draft:
    """Writes to files go on while read callbacks wait for each other."""
    some = [share for pair in zip(shares("read", 4), shares("write", 4), strict=True) for share in pair]
    return scene(calls=threads(*some, count=4, rounds=8, callbacks={"read": Callback(waits=2)}), limits=PATIENT)


# --- callbacks that call back in --------------------------------------------------------------------------------------------

BACK_IN = Limits(seconds=1)
"""What has called the target from within a callback for so long is stuck."""


@family.benign("thread.reentrant", op=OPS, which=("same", "other"))
def reentry(op: Op, which: str) -> Draft:
    """A {op} callback makes another {op} before it answers, of the {which} name."""
    some = shares(op, 2)[: 1 if which == "same" else 2]
    asked: dict[Op, Callback] = {op: Callback(reenters=some[-1].name)}
    return scene(calls=threads(*some, count=1, rounds=2, callbacks=asked), limits=BACK_IN)


@family.benign("thread.reentrant", within=OPS, by=("callback", "file"))
def reentry_other_way(within: Op, by: str) -> Draft:
    """The callback of a {within} calls for the other direction before it answers, which goes by {by}."""
    other: Op = "write" if within == "read" else "read"
    outer, inner = shares(within, 1), shares(other, 1)
    asked: dict[Op, Callback] = {within: Callback(reenters=inner[0].name)} | ({other: ASKED} if by == "callback" else {})
    entries = files(inner) if by == "file" else []
    return scene(*entries, calls=threads(*outer, *inner, count=1, rounds=2, callbacks=asked), limits=BACK_IN)


@family.benign("thread.reentrant", "thread.no-cross-talk", op=OPS)
def reentry_from_all_threads(op: Op) -> Draft:
    """Each of four threads makes another {op} from within its callback."""
    some = shares(op, 4)
    asked: dict[Op, Callback] = {op: Callback(reenters=some[0].name)}
    return scene(calls=threads(*some, rounds=10, callbacks=asked), limits=BACK_IN)
