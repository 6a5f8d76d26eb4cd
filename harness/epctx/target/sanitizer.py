"""The sanitizers of C++ compilers: how a program is run under one, and what its reports say."""

from __future__ import annotations

import os
import re

from epctx.case import Sanitizer
from epctx.observation import Report

LIBRARY = "/proc/self/fd/5"
"""What a driver knows the target's library as (see ``Launch.command``)."""
KEPT = 16
"""Reports of one call that are kept; more of them say nothing new."""

# Tabs between the parts: no name of a function or file holds one.
_FRAME = "stack_trace_format='    #%n\t%m\t%f\t%s\t%l'"
_ALWAYS = f"{_FRAME}:color=never"
_OPTIONS: dict[Sanitizer, str] = {
    # What ends the process is a crash as ever: the signal must reach it.
    "address": f"{_ALWAYS}:abort_on_error=1:detect_leaks=0:allocator_may_return_null=1",
    "undefined": f"{_ALWAYS}:print_stacktrace=1:handle_segv=0:handle_sigbus=0:handle_sigfpe=0",
    # Each case is to have its reports, whatever was reported before it.
    "thread": f"{_ALWAYS}:suppress_equal_stacks=0:suppress_equal_addresses=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0",
}
_VARIABLES: dict[Sanitizer, str] = {"address": "ASAN_OPTIONS", "undefined": "UBSAN_OPTIONS", "thread": "TSAN_OPTIONS"}

_HEAD = re.compile(
    r"^(?:==\d+==)?(?:ERROR|WARNING): (?:Address|Thread)Sanitizer:? (?P<kind>.*)$"
    r"|^\S.*:\d+:\d+: runtime error: (?P<undefined>.*)$",
    re.MULTILINE,
)
_VARYING = re.compile(r" (?:\(pid=\d+\)|on (?:unknown )?address |on 0x|in thread |0x).*")
_LOCATION = re.compile(r"Location is (?:global '(?P<name>.*)' of|(?P<other>heap block of size \d+|stack of [^\n(]*thread))")
_STACKS = re.compile(r"(?:^ +#\d+\t.*\n)+", re.MULTILINE)
_MADE = re.compile(r"\t(?:_FUN|<null>)\t|/include/c\+\+/")
"""Frames that nobody wrote: without a line, of the standard library, or a lambda's as a plain function."""
_FRAMES = re.compile(r"#\d+\t(?P<module>[^\t]*)\t(?P<function>[^\t]*)\t(?P<source>[^\t]*)\t(?P<line>\d*)")


def environment(sanitizer: Sanitizer) -> dict[str, str]:
    """What the environment of a program says that is built for a sanitizer."""
    return {_VARIABLES[sanitizer]: _OPTIONS[sanitizer]}


def reports(text: str, library: str) -> tuple[Report, ...]:
    """The reports in a ``text``, of a process that has the target's ``library`` at descriptor 5; each once, at most ``KEPT``."""
    heads = list(_HEAD.finditer(text))
    ends = [*[head.start() for head in heads], len(text)][1:]
    found = (_report(head, text[head.end() : end], library) for head, end in zip(heads, ends, strict=True))
    return tuple(dict.fromkeys(found))[:KEPT]


def _report(head: re.Match[str], body: str, library: str) -> Report:
    stacks = [_stack(stack, library) for stack in _STACKS.findall(body)[:2]] + [(), ()]
    if head["undefined"]:
        return Report("undefined", "undefined behaviour", head["undefined"], stacks[0])
    kind = _VARYING.sub("", head["kind"])
    if "Address" in head[0]:
        return Report("address", kind, kind, stacks[0])
    where = _LOCATION.search(body)
    on = f" on {where['other'] or 'the global ' + _name(where['name'])}" if where else ""
    return Report("thread", kind, kind + on, stacks[0], stacks[1])


def _stack(text: str, library: str) -> tuple[str, ...]:
    """The frames of a stack that are the target's own, or, where none is, all that have a line."""
    frames = [frame for frame in _FRAMES.finditer(text) if not _MADE.search(frame[0])]
    own = [frame for frame in frames if frame["module"] in (library, LIBRARY)]
    return tuple(f"{_name(frame['function'])} {os.path.basename(frame['source'])}:{frame['line']}" for frame in own or frames)


def _name(symbol: str) -> str:
    """A demangled name without its scopes, arguments and template arguments."""
    plain = re.sub(r"\boperator(\(\)|[<>]+)", "operator", symbol)
    while plain != (plain := re.sub(r"<[^<>]*>|\([^()]*\)|\{[^{}]*\}|\[[^\[\]]*\]", "", plain)):
        continue
    return plain.removesuffix(" const").rpartition("::")[2].split(" ")[-1] or symbol
