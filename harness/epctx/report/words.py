"""What a case does, and what was seen of it, in the words that all reports have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from epctx.case import Call, Callback, Expect, Share, Step, shown
from epctx.observation import CallbackSeen, Seen, State, StepSeen
from epctx.oracle import report_words
from epctx.report.console import plural

_RACES = {
    "exchange": "{} and {} are exchanged",
    "move": "{} is moved to {} and back",
    "chdir": "the working directory is {} and {} by turns",
}


_SUPPORTS = {
    "both": "both callbacks",
    "none": "no callback",
    "read": "the read callback",
    "write": "the write callback",
    "unknown": "a flag that nobody knows",
    "error": "nothing, but fails when asked",
    "old": "nothing, since it is built for ONNX Runtime 1.30",
}


def call_words(call: Call) -> str:
    """The call and its name, or those of several threads, or the number of its steps."""
    if call.op == "config":
        return f"config, {plural(len(call.steps), 'step')}"
    if call.threads is None:
        return f"{call.op} {shown(call.name)}"
    shares = list(dict.fromkeys(f"{share.op} {shown(share.name)}" for share in call.threads.shares))
    rest = f" and {len(shares) - 2} more" if len(shares) > 2 else ""
    return f"{call.threads.count} threads: {', '.join(shares[:2])}{rest}"


def call_rows(number: int, call: Call, expect: Expect) -> list[tuple[str, str]]:
    """What a call does and what is expected of it, as labels and texts."""
    who = "a model's name" if call.source == "model" else "a trusted caller"
    words = [call_words(call), f"({who})"]
    if call.fallback is not msgspec.UNSET:
        words.append(f"fallback {shown(call.fallback)}")
    for label, script in (("read callback", call.read_callback), ("write callback", call.write_callback)):
        if script:
            words.append(f"{label} {_script(script, 'shares' if call.threads else label[:4])}")
    if call.op == "write" and call.payload is None:
        words.append(f"a NULL buffer of {call.null_size:,} bytes")
    if call.support is not None:
        words.append(f"on a provider that advertises {_SUPPORTS.get(call.support, call.support)}")
    if call.allocator != "default":
        words.append(f"allocator {call.allocator}")
    flags = (
        (call.embeds, "embedded in the compiled model"),
        (call.runs, "then loads and runs what was compiled"),
        (call.held, "into an output that holds data"),
        (call.moves, "then moves the output"),
        (call.config, "with a config that has no callback"),
        (not call.accessors, "where the runtime cannot give callbacks"),
        (call.lingers, "then waits for late callbacks"),
    )
    words += [label for flag, label in flags if flag]
    if call.resize:
        words.append(f"while {shown(call.resize.path)} becomes {call.resize.size} bytes")
    if call.race:
        words.append(f"{call.race.rounds} times while {_RACES[call.race.how].format(shown(call.race.a), shown(call.race.b))}")
    rows = []
    if call.threads:
        configs = "one config for all" if call.threads.configs == "one" else "a config for each share"
        rows = [("threads", f"{call.threads.count} threads, {call.threads.rounds} calls each, {configs}")]
        rows += [("share", _share(share)) for share in call.threads.shares]
    return [
        (f"call {number}", f"{words[0]} {', '.join(words[1:])}"),
        *rows,
        *((f"step {n}", _step(step)) for n, step in enumerate(call.steps, 1)),
        ("expected", expected_words(expect)),
        ("because", expect.why),
        ("rule", expect.rule),
    ]


def expected_words(expect: Expect) -> str:
    """What is expected of a call."""
    expected = {"accept": "accepted", "refuse": "refused", "either": "refused, or accepted"}[expect.outcome]
    if expect.outcome == "refuse":
        expected += f" with code {expect.status}" if expect.status is not None else " with any error"
    elif expect.file is not None:
        expected += f" on {shown(expect.file)}"
    return expected


def _step(step: Step) -> str:
    """A step with the arguments that count for what it does."""
    counts = {
        "set-read": ("options", "function", "state"),
        "set-write": ("options", "function", "state"),
        "take": ("options", "config"),
        "get-read": ("config",),
        "get-write": ("config",),
        "release-config": ("config",),
        "release-options": ("options",),
        "cycle": ("options",),
    }[step.do]
    words = [f"{key} {'NULL' if getattr(step, key) is None else getattr(step, key)}" for key in counts]
    words += [f"NULL for the {step.without} that comes out"] if step.without else []
    return f"{step.do} {', '.join(words)}"


def _script(script: Callback, of: str) -> str:
    """What a callback ``of`` a read, a write, or the shares of several threads does, in words."""
    words = ["registered with NULL"] if script.null_state else []
    words += [f"waits until {script.waits} are in flight"] if script.waits > 1 else []
    words += [f"comes back with {shown(script.reenters)}"] if script.reenters is not None else []
    if of == "shares":
        words.append("answers with the bytes of its share")
        return ", ".join(words)
    if of == "read":
        given = "NULL" if script.content is None else f"{script.content.size:,} bytes"
        words.append(f"gives {given}" + (f", which it says are {script.size:,}" if script.size is not None else ""))
    words.append("answers OK" if not script.code else f"answers code {script.code}, {shown(script.text)!r}")
    return ", ".join(words)


def _share(share: Share) -> str:
    return f"{share.op} {shown(share.name)}, " + ("to be refused" if share.content is None else f"{share.content.size:,} bytes")


class Event(NamedTuple):
    """Something that was seen in a call. Times are in microseconds from its beginning, None where nobody takes them."""

    label: str
    text: str
    started: float | None = None
    ended: float | None = None


def seen_rows(number: int, seen: Seen) -> list[tuple[str, str]]:
    """Everything that was seen of a call, as labels and texts."""
    ending = (f"call {number}", f"{ending_words(seen)}, {seen.seconds * 1e6:,.0f} us")
    return [ending, *outcome_rows(seen), *((event.label, _timed(event)) for event in events(seen)), *sum_rows(seen)]


def _timed(event: Event) -> str:
    if event.started is None:
        return event.text
    return f"{event.text}, {event.started:,.0f} to {'…' if event.ended is None else f'{event.ended:,.0f}'} us"


def ending_words(seen: Seen) -> str:
    """How a call ended."""
    ended = f"{seen.ended} {seen.detail}".rstrip()
    return f"{ended}, code {seen.code}" if seen.ended == "returned" else ended


def outcome_rows(seen: Seen) -> list[tuple[str, str]]:
    """What a call gave back, as labels and texts."""
    rows = [("text", shown(seen.message.encode("utf-8", "backslashreplace"), 400))] if seen.message else []
    if seen.output is not None:
        source = f", the content of {', '.join(map(_path, seen.reads))}" if seen.reads else ""
        shown_by = {"bytes": "", "result": ", executed, as the result shows", "open": ", as far as an open tells"}[seen.shown_by]
        rows.append(("output", f"{seen.output.size:,} bytes{source}{shown_by}" + (" (NULL)" if seen.output.null else "")))
    return rows


def events(seen: Seen) -> Iterator[Event]:
    """What happened in a call: on files, in the order in which it did; then what callbacks and steps did, each in theirs."""
    for touched in seen.touched:
        yield Event(touched.what, f"{' = '.join(map(_path, touched.names))} ({touched.place})")
    for change in seen.changes:
        yield Event("changed", f"{_path(change.path)} ({change.place}): {_state(change.before)} -> {_state(change.after)}")
    for path in seen.leaks:
        yield Event("leaked", _path(path))
    for path in seen.plaintext:
        yield Event("plaintext", _path(path))
    for callback in seen.callbacks:
        ended = None if callback.ended is None else callback.ended * 1e6
        yield Event("callback", _invocation(callback), callback.started * 1e6, ended)
    for index, step in enumerate(seen.steps, 1):
        yield Event(f"step {index}", _step_seen(step))


def sum_rows(seen: Seen) -> list[tuple[str, str]]:
    """What was counted in a call, and what a sanitizer reported, as labels and texts."""
    memory = seen.memory
    words = f"{memory.allocated} allocated, {memory.freed} freed, {memory.live} bytes live, peak {memory.peak:,} bytes"
    rows = [("memory", words)]
    if seen.race:
        race = seen.race
        words = (
            f"{race.rounds} rounds against {race.turns} turns of the attacker: {race.inside} inside, {race.refused} refused, "
            f"{race.outside} outside, {race.torn} torn"
        )
        rows.append(("race", words))
    if threads := seen.threads:
        words = f"{threads.calls} calls: {threads.right} right, {threads.wrong} wrong, {threads.failed} failed"
        words += f", {threads.alone} that end so alone, too" if threads.alone else ""
        words += f"; {threads.crossed} callbacks crossed, {threads.most_in_flight} at most at work at once"
        rows.append(("threads", words))
        if threads.evidence:
            rows.append(("first", shown(threads.evidence.encode("utf-8", "backslashreplace"), 400)))
    return rows + [("report", report_words((report,))) for report in seen.reports]


def _path(path: str) -> str:
    return shown(path, 400)


def _step_seen(step: StepSeen) -> str:
    words = [f"code {step.code}" + (f" ({step.message})" if step.message else "")]
    words += [f"{key} {value}" for key in ("function", "state", "config") if (value := getattr(step, key)) is not None]
    words += [f"{step.grown:,} bytes more"] if step.grown else []
    words += [] if step.states_kept else ["a state was changed or freed"]
    return ", ".join(words)


def _invocation(seen: CallbackSeen) -> str:
    words = [f"{seen.direction} {shown(bytes.fromhex(seen.name))}", f"{seen.size:,} bytes" + (" at NULL" if seen.null else "")]
    if seen.registration:
        words.append(f"registration {seen.registration}")
    if seen.thread:
        words.append(f"thread {seen.thread}")
    for flag, text in ((not seen.state_ok, "a wrong state"), (not seen.allocator_ok, "a wrong allocator"), (seen.late, "late")):
        words += [text] if flag else []
    if seen.met:
        words.append("met the others")
    if seen.reentered is not None:
        words.append(f"came back with code {seen.reentered}")
    return ", ".join(words)


def _state(state: State) -> str:
    if state.kind == "absent":
        return "absent"
    return (
        f"{state.kind} of {state.size:,} bytes, inode {state.inode}"
        if state.kind == "file"
        else f"{state.kind}, inode {state.inode}"
    )
