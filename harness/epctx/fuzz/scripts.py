"""What random cases have an application do: callbacks that answer, fail or lie, steps on configs, and threads."""

from __future__ import annotations

from typing import Literal, TypeAlias

from epctx.attack import Op
from epctx.case import Call, Callback, Content, Entry, File, Name, Share, Step, Threads
from epctx.fuzz.choices import Choices, bag, pick
from epctx.fuzz.scenes import SIZES

CODES = bag((3, 1), (1, 2), (1, 3), (1, 6), (1, 9), (1, 11))
TEXTS: tuple[Name, ...] = bag((4, "the vault is closed"), (1, ""), (1, "größe\n\x1b[31m"))


def callback(choices: Choices, direction: Op) -> Callback:
    """One that does what it should, or one that fails, lies, or leaves something behind."""
    which = choices.below(14)
    content = Content("answer", pick(choices, SIZES)) if direction == "read" else None
    if which < 7:
        return Callback(content, null_state=which == 6)
    code, text = pick(choices, CODES), pick(choices, TEXTS)
    if content is None or which < 9:
        return Callback(None, code, text)
    if which == 9:  # leaves a buffer behind
        return Callback(content, code, text)
    if which == 10:  # fails, and says that there is something
        return Callback(None, code, text, size=pick(choices, (96, 1, 1 << 40)))
    if which == 11:  # leaves a buffer behind, and lies about it
        return Callback(content, code, text, size=pick(choices, (0, 4096)))
    if which == 12:  # has no buffer
        return Callback(None, size=pick(choices, (0, 1, 96, 4096)))
    return Callback(content, size=max(0, content.size - choices.below(96)))


# --- steps on configs -------------------------------------------------------------------------------------------------------

Doing: TypeAlias = Literal["set-read", "set-write", "take", "get-read", "get-write", "release-config", "release-options", "cycle"]
DOINGS: tuple[Doing, ...] = bag(
    (8, "set-read"),
    (5, "take"),
    (7, "get-read"),
    (2, "get-write"),
    (2, "release-config"),
    (1, "release-options"),
    (1, "set-write"),
    (1, "cycle"),
)
OPTIONS = bag((6, 0), (1, 1), (1, 2))
"""Numbers of session options: mostly the same, as what one registers, changes and asks for is worth the most together."""
WITHOUT: tuple[Literal["", "function", "state"], ...] = bag((6, ""), (1, "function"), (1, "state"))


def steps(choices: Choices) -> Call:
    """An application that sets, takes, asks and releases in any order that it may: what is gone is not used again."""
    made: list[Step] = []
    used: set[int] = set()
    gone: set[int] = set()
    taken: list[int] = []
    free = [3, 2, 1, 0]
    for _ in range(3 + choices.below(12)):
        do, options, null = pick(choices, DOINGS), pick(choices, OPTIONS), choices.below(12) == 11
        if do in ("get-read", "get-write"):
            if taken or null:
                made.append(Step(do, config=None if null else pick(choices, taken), without=pick(choices, WITHOUT)))
        elif do == "release-config":
            if taken or null:
                made.append(Step(do, config=None if null else taken.pop(choices.below(len(taken)))))
        elif do == "set-write" or (null and do == "set-read"):  # compile options can only be NULL here
            made.append(Step(do, None))
        elif options in gone:
            continue
        elif do == "set-read":
            function = None if choices.below(4) == 3 else choices.below(2)
            made.append(Step(do, options, function=function, state=None if choices.below(6) == 5 else choices.below(4)))
            used.add(options)
        elif do == "release-options":
            if options in used:
                gone.add(options)
                made.append(Step(do, options))
        elif do == "cycle":
            made.append(Step(do, options))
            used.add(options)
        elif null:
            made.append(Step(do, None) if choices.below(2) else Step(do, options, without="config"))
        elif free:
            taken.append(free.pop())
            made.append(Step(do, options, taken[-1]))
            used.add(options)
    return Call("config", steps=tuple(made) or (Step("set-read"),))


# --- threads ----------------------------------------------------------------------------------------------------------------

OPS: tuple[tuple[Op, ...], ...] = (("read",), ("write",), ("read", "write"))
HOSTILE = ("../outside/secret.bin", "missing.bin", "{root}/outside/secret.bin", "sub")


def threads(choices: Choices) -> tuple[tuple[Entry, ...], Call]:
    """Several threads that read and write, each its own, by callbacks or in files; the files that they read, and the call."""
    ops, number = pick(choices, OPS), pick(choices, (4, 1, 2, 16))
    size = pick(choices, (96, 1, 4096, 65536))
    shares = [Share(op, f"{op}{n}.bin", Content(f"{op} {n}", size + n)) for n in range(number) for op in ops]
    by_callback: tuple[Op, ...] = pick(choices, (ops, ops, (), ops[:1]))
    files = tuple(
        [File(f"model/{share.name}", share.content) for share in shares if share.op == "read" and share.op not in by_callback]
    )
    if files and choices.below(2):
        shares += [Share("read", name, None) for name in HOSTILE]
    how, count = choices.below(8), 2 + choices.below(3)
    asked = Callback(
        waits=count if how == 7 and len(ops) == 1 else 0,
        reenters=shares[0].name if how == 6 else None,
    )
    call = Call(
        "write" if "write" in ops else "read",
        None,
        payload=None,
        read_callback=asked if "read" in by_callback else None,
        write_callback=asked if "write" in by_callback else None,
        allocator="caller" if how == 5 else "default",
        threads=Threads(tuple(shares), count, 8, "each" if by_callback and choices.below(2) else "one"),
    )
    return files, call
