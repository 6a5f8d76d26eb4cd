"""What the page shows of one case when it is opened: its world with what was expected and touched, its calls, what happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from epctx.case import Call, Case, Expect, Struct, shown
from epctx.observation import Observation, Seen
from epctx.oracle import PROFILES, Verdict, expectations, path_text
from epctx.report.record import Header, Line
from epctx.report.terminal import COMPANY, replay_command
from epctx.report.tree import tree
from epctx.report.words import Event, call_rows, call_words, ending_words, events, outcome_rows, sum_rows
from epctx.spec import model_directory

EVENTS = {
    "open": "opened",
    "create": "created",
    "modify": "modified",
    "delete": "deleted",
    "move": "moved",
    "attributes": "attributes changed",
}


class Branch(NamedTuple):
    """A line of the drawn world; ``inside`` is whether the model directory has it, ``marks`` are kinds with their words."""

    depth: int
    name: str
    about: str
    kind: str
    inside: bool
    marks: tuple[tuple[str, str], ...]


class Broke(NamedTuple):
    """A rule that a call broke, or a note on it."""

    rule: str
    call: int
    expected: str
    happened: str
    file: str
    fails: bool


class CallSeen(NamedTuple):
    """What was seen of a call: events in their order, and what it gave back and was counted, as labels and texts."""

    timeline: tuple[Event, ...]
    rows: tuple[tuple[str, str], ...]


class Side(Struct, frozen=True):
    """What one run saw of the case."""

    result: str
    broke: tuple[Broke, ...]
    tree: tuple[Branch, ...]
    calls: tuple[CallSeen, ...]
    again: str
    """The command that shows it again, or, where ``copies`` is false, why there is none."""
    copies: bool = True


class Detail(Struct, frozen=True):
    """A case in full, with what each run that is reported saw of it."""

    intent: str
    aims: tuple[str, ...]
    given: str
    calls: tuple[tuple[tuple[str, str], ...], ...]
    sides: tuple[Side, ...]


def detail(case: Case, *runs: tuple[Header, Line]) -> Detail:
    """A case as each of some runs saw it; what was expected is what the last of them says."""
    expects = _expects(case, runs[-1][0])
    calls = [call_rows(n, call, expect) for n, (call, expect) in enumerate(zip(case.calls, expects, strict=True), 1)]
    given = shown(case.model.given) or "(bytes, no path)"
    return Detail(case.intent, case.rules, given, tuple(map(tuple, calls)), tuple(_side(head, line) for head, line in runs))


def _expects(case: Case, head: Header) -> Sequence[Expect]:
    return expectations(case, head.judged_by or PROFILES.get(head.profile, PROFILES["spec"]))


def _side(head: Header, line: Line) -> Side:
    verdict, calls = line.verdict, line.observation.calls
    return Side(
        verdict.result,
        tuple(Broke(f.rule, f.call, f.expected, f.happened, f.file, f.fails) for f in verdict.findings),
        tuple(_branches(line.case, _expects(line.case, head), line.observation, verdict)),
        tuple(
            CallSeen(tuple(_timeline(number, call, seen)), (*outcome_rows(seen), *sum_rows(seen)))
            for number, (call, seen) in enumerate(zip(line.case.calls, calls, strict=False), 1)
        ),
        replay_command(line.case.id, head) if verdict.confirmed else COMPANY,
        verdict.confirmed,
    )


def _branches(case: Case, expects: Sequence[Expect], observation: Observation, verdict: Verdict) -> Iterator[Branch]:
    marks: dict[str, dict[tuple[str, str], None]] = {}

    def mark(path: str, kind: str, words: str) -> None:
        marks.setdefault(path, {})[kind, words] = None

    for expect in expects:
        if expect.file is not None:
            mark(path_text(expect.file), "expected", "expected" if expect.outcome == "accept" else "allowed")
    for seen in observation.calls:
        for touched in seen.touched:
            for name in touched.names:
                mark(name, "touched", EVENTS[touched.what])
        for change in seen.changes:
            mark(change.path, "touched", "changed")
        for kind, paths in (("leak", seen.leaks), ("plaintext", seen.plaintext)):
            for path in paths:
                mark(path, "bad", {"leak": "bytes leaked", "plaintext": "plaintext seen"}[kind])
    files = {path for finding in verdict.findings if finding.fails for path in finding.file.split(", ")}
    base = model_directory(case)
    within = None if base is None else path_text(base)
    for node in tree(case, marks):
        inside = within is not None and _lies_in(node.path, within)
        kinds = {kind for kind, _ in marks.get(node.path, ())}
        bad = node.path in files and "touched" in kinds
        found = tuple(("bad" if bad and kind == "touched" else kind, words) for kind, words in marks.get(node.path, ()))
        about = ", ".join(filter(None, (node.about, "model directory" if node.path == within else "")))
        yield Branch(node.depth, node.name, about, node.kind, inside, found)


def _lies_in(path: str, directory: str) -> bool:
    if path.startswith(("../", "/")) or path == "..":  # above the world, or elsewhere
        return False
    return not directory or path == directory or path.startswith(f"{directory}/")


def _timeline(number: int, call: Call, seen: Seen) -> Iterator[Event]:
    yield Event(f"call {number}", call_words(call), 0.0)
    yield from events(seen)
    yield Event("end", ending_words(seen), seen.seconds * 1e6)
