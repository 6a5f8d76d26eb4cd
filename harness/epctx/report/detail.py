"""A case and an observation in full, for people: the world as a tree, the calls, what is expected and why, what was seen."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from epctx.case import (
    Call,
    Callback,
    Case,
    Device,
    Dir,
    Entry,
    Expect,
    Fifo,
    File,
    HardLink,
    Link,
    Mount,
    Share,
    Socket,
    Step,
    content_of,
    raw,
    shown,
)
from epctx.observation import CallbackSeen, Observation, Seen, State, StepSeen
from epctx.oracle import report_words
from epctx.report.console import indented
from epctx.report.terminal import call_words, labelled


def case_detail(case: Case, expects: Sequence[Expect]) -> RenderableType:
    """The case ``case``, with what is expected of each of its calls."""
    parts: list[RenderableType] = [
        Text.assemble((case.id, "bold"), f"  ({case.intent})"),
        Text(case.summary),
        *([Text(f"aims at {', '.join(case.rules)}", style="dim")] if case.rules else []),
        Text(),
        indented(world_tree(case)),
        indented(Text(f"model given as {shown(case.model.given) or '(bytes, no path)'}", style="dim")),
    ]
    for number, (call, expect) in enumerate(zip(case.calls, expects, strict=True), 1):
        parts += [Text(), indented(_call(number, call, expect))]
    return Group(*parts)


def world_tree(case: Case) -> Tree:
    """The world of a case as a tree, links with their text, the working directory and the model marked."""
    labels: dict[bytes, Text] = {}
    for entry in case.world.entries:
        labels[raw(entry.path)] = Text(_label(entry), style=_style(entry))
    labels[raw(case.model.path)] = Text.assemble((_last(raw(case.model.path)), "bold"), ("  the model", "dim"))
    root = Tree(Text("{root}", style="dim"), guide_style="dim")
    nodes: dict[bytes, Tree] = {b"": root}
    for path in sorted(labels):
        parts = path.split(b"/")
        for depth in range(1, len(parts) + 1):
            at = b"/".join(parts[:depth])
            if at not in nodes:
                label = labels.get(at, Text(_last(at) + "/"))
                if at == raw(case.world.cwd):
                    label = Text.assemble(label, ("  working directory", "dim"))
                nodes[at] = nodes[b"/".join(parts[: depth - 1])].add(label)
    return root


def _last(path: bytes) -> str:
    return shown(path.rpartition(b"/")[2])


def _label(entry: Entry) -> str:
    name = _last(raw(entry.path))
    match entry:
        case Dir(mode=mode):
            return f"{name}/" + (f"  mode {mode:03o}" if mode != 0o755 else "")
        case File(mode=mode, attribute=attribute):
            content = content_of(entry)
            words = [f"{content.size:,} bytes" + (", sparse" if content.sparse else "")]
            words += [f"mode {mode:03o}"] if mode != 0o644 else []
            words += [attribute] if attribute else []
            return f"{name}  {', '.join(words)}"
        case Link(to=to):
            return f"{name} -> {shown(to)}"
        case HardLink(to=to):
            return f"{name}  hard link to {shown(to)}"
        case Fifo(writer=writer):
            return f"{name}  FIFO" + (" with an endless writer" if writer else "")
        case Socket():
            return f"{name}  socket"
        case Device(device=device):
            return f"{name}  device {device}"
        case Mount(of=of, size=size, readonly=readonly):
            return (
                f"{name}/  "
                + (f"mount of {shown(of)}" if of is not None else f"file system of {size:,} bytes")
                + (", read-only" if readonly else "")
            )


def _style(entry: Entry) -> str:
    return {Link: "cyan", HardLink: "cyan", Fifo: "yellow", Socket: "yellow", Device: "yellow", Mount: "magenta"}.get(
        type(entry), ""
    )


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


def _call(number: int, call: Call, expect: Expect) -> RenderableType:
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
    expected = {"accept": "accepted", "refuse": "refused", "either": "refused, or accepted"}[expect.outcome]
    if expect.outcome == "refuse":
        expected += f" with code {expect.status}" if expect.status is not None else " with any error"
    elif expect.file is not None:
        expected += f" on {shown(expect.file)}"
    rows = []
    if call.threads:
        configs = "one config for all" if call.threads.configs == "one" else "a config for each share"
        rows = [("threads", f"{call.threads.count} threads, {call.threads.rounds} calls each, {configs}")]
        rows += [("share", _share(share)) for share in call.threads.shares]
    return labelled(
        [
            (f"call {number}", f"{words[0]} {', '.join(words[1:])}"),
            *rows,
            *((f"step {n}", _step(step)) for n, step in enumerate(call.steps, 1)),
            ("expected", Text(expected, style="green" if expect.outcome == "accept" else "yellow")),
            ("because", expect.why),
            ("rule", expect.rule),
        ]
    )


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


def observation_detail(observation: Observation) -> RenderableType:
    """Everything that was seen of a case."""
    parts: list[RenderableType] = [Text.assemble("\n", ("seen on ", "bold"), (observation.target, "bold"))]
    if observation.skipped or observation.error:
        parts.append(indented(Text(observation.skipped or observation.error)))
    for number, seen in enumerate(observation.calls, 1):
        parts.append(indented(_seen(number, seen)))
    return Group(*parts)


def _seen(number: int, seen: Seen) -> RenderableType:
    rows: list[tuple[str, str]] = []

    def row(label: str, text: str) -> None:
        rows.append((label, text))

    ended = f"{seen.ended} {seen.detail}".rstrip()
    status = f", code {seen.code}" if seen.ended == "returned" else ""
    row(f"call {number}", f"{ended}{status}, {seen.seconds * 1e6:,.0f} us")
    if seen.message:
        row("text", shown(seen.message.encode("utf-8", "backslashreplace"), 400))
    if seen.output is not None:
        source = f", the content of {', '.join(seen.reads)}" if seen.reads else ""
        shown_by = {"bytes": "", "result": ", executed, as the result shows", "open": ", as far as an open tells"}[seen.shown_by]
        row("output", f"{seen.output.size:,} bytes{source}{shown_by}" + (" (NULL)" if seen.output.null else ""))
    for touched in seen.touched:
        row(touched.what, f"{' = '.join(touched.names)} ({touched.place})")
    for change in seen.changes:
        row("changed", f"{change.path} ({change.place}): {_state(change.before)} -> {_state(change.after)}")
    for path in seen.leaks:
        row("leaked", path)
    for path in seen.plaintext:
        row("plaintext", path)
    for callback in seen.callbacks:
        row("callback", _invocation(callback))
    for index, step in enumerate(seen.steps, 1):
        row(f"step {index}", _step_seen(step))
    memory = seen.memory
    row("memory", f"{memory.allocated} allocated, {memory.freed} freed, {memory.live} bytes live, peak {memory.peak:,} bytes")
    if seen.race:
        race = seen.race
        row(
            "race",
            f"{race.rounds} rounds against {race.turns} turns of the attacker: {race.inside} inside, {race.refused} refused, "
            f"{race.outside} outside, {race.torn} torn",
        )
    if threads := seen.threads:
        words = f"{threads.calls} calls: {threads.right} right, {threads.wrong} wrong, {threads.failed} failed"
        words += f", {threads.alone} that end so alone, too" if threads.alone else ""
        row("threads", f"{words}; {threads.crossed} callbacks crossed, {threads.most_in_flight} at most at work at once")
        if threads.evidence:
            row("first", shown(threads.evidence.encode("utf-8", "backslashreplace"), 400))
    for report in seen.reports:
        row("report", report_words((report,)))
    return labelled(rows)


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
    end = "…" if seen.ended is None else f"{seen.ended * 1e6:,.0f}"
    return f"{', '.join(words)}, {seen.started * 1e6:,.0f} to {end} us"


def _state(state: State) -> str:
    if state.kind == "absent":
        return "absent"
    return (
        f"{state.kind} of {state.size:,} bytes, inode {state.inode}"
        if state.kind == "file"
        else f"{state.kind}, inode {state.inode}"
    )
