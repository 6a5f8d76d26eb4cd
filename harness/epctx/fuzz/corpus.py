"""Corpora of finds: folders with a case in each file, which run again and again, so that what was mended stays so.

A case of such a folder has a name for good: the rule that it is about, and the fingerprint of the finding that it came from. What
the specification says of it is written down with it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from epctx import case_file
from epctx.case import Case
from epctx.errors import UsageError
from epctx.fuzz.encoding import decode, encode, nearest
from epctx.fuzz.fingerprint import Sign, fingerprint, signs
from epctx.fuzz.look import look, unpacked
from epctx.fuzz.store import Found, Setting, Store
from epctx.fuzz.work import Order
from epctx.observation import Observation
from epctx.oracle import RULES, Profile, judge
from epctx.run.runner import Runner
from epctx.spec import predict
from epctx.target import Launch

FAMILY = "regressions"
"""The family of cases that were found once."""

_NAMED = re.compile(r"[a-z]+/([a-z0-9-]+-[0-9a-f]{12})")
"""The id of a case that a campaign kept, or a corpus: a rule and a fingerprint."""

Became: TypeAlias = Literal["added", "known", "in company", "kept", "dropped", "shrunk", "passes"]


class Change(NamedTuple):
    """What became of a case, and why: it was added, is known already, or fails in company alone; or, where a corpus is minimised,
    it was kept, dropped or shrunk, or passes and is left as it is."""

    id: str
    became: Became
    why: str = ""


# --- cases of a corpus ------------------------------------------------------------------------------------------------------


def kept(case: Case, rule: str = "") -> Case:
    """A case as a corpus keeps it, about ``rule``, else the first that it aims at or that decides one of its calls.

    One that a corpus kept before stays as it is, but for what the specification says of it today.
    """
    expected = predict(case)
    telling = [expect.rule for expect in expected if expect.outcome != "accept"] or [expect.rule for expect in expected]
    about = rule or next(iter(case.rules), telling[0])
    rules = dict.fromkeys((about, *(case.rules if case.family == FAMILY else ()), *(expect.rule for expect in expected)))
    found = _NAMED.fullmatch(case.id)
    name = found[1] if found else f"{about.replace('.', '-')}-{_mark(case, about)}"
    refuses = any(expect.outcome != "accept" for expect in expected)
    statement = RULES[about].statement if about in RULES else about
    summary = case.summary if case.family == FAMILY else " ".join(statement.split())
    return replace(
        case,
        id=f"{FAMILY}/{name}",
        summary=summary,
        intent="hostile" if refuses else "benign",
        rules=tuple(rules),
        expect=expected,
    )


def _mark(case: Case, rule: str) -> str:
    """The fingerprint of a case that nobody saw fail yet."""
    expects = predict(case)
    index = next((n for n, expect in enumerate(expects) if expect.rule == rule), 0)
    call, expect = case.calls[index], expects[index]
    return fingerprint(Sign(rule, call.op, call.source, "", expect.rule, expect.outcome), case)


def same(case: Case) -> Case:
    """What two cases have in common that do the same."""
    return replace(case, id=f"{FAMILY}/case", summary="", intent="hostile", rules=(), expect=())


# --- folders ----------------------------------------------------------------------------------------------------------------


def read(folder: Path) -> dict[Path, Case]:
    """The cases of a folder by their files, which hold one each. CaseError if one is not valid."""
    return {path: case for path in sorted(folder.glob("[!.]*.json")) for case in case_file.read(path)}


def write(folder: Path, case: Case) -> Path:
    """Write a case into a folder, whole or not at all; its file. UsageError if it cannot be written."""
    path = folder / f"{case.id.partition('/')[2]}.json"
    _write(path, case)
    return path


def _write(path: Path, case: Case) -> None:
    made = path.with_name(f".{path.name}")
    with _told(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        case_file.write(made, [case])
        os.replace(made, path)


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}; name a folder that can be written to.") from None


# --- add and merge ----------------------------------------------------------------------------------------------------------


def finds(path: Path) -> Iterator[tuple[Case, Found | None]]:
    """The cases of a campaign's directory, of a finding's folder, of a case file, or of a folder with such files, each with the
    finding where it is one.

    UsageError if there is nothing of that, or something that is not valid.
    """
    if (path / "setting.json").is_file():
        store = Store(path, None)
        for found in store.found():
            yield _case(store.folder(found)), found
    elif (path / "finding.json").is_file():
        try:
            found = msgspec.json.decode((path / "finding.json").read_bytes(), type=Found)
        except (OSError, msgspec.MsgspecError) as error:
            raise UsageError(f"{path / 'finding.json'}: {error}; this is no finding of a campaign.") from None
        yield _case(path), found
    else:
        for file in case_file.files(path):
            for case in case_file.read(file):
                yield case, None


def _case(folder: Path) -> Case:
    (case,) = case_file.read(folder / "case.json")
    return case


def add(folder: Path, given: Iterable[tuple[Case, Found | None]]) -> Iterator[Change]:
    """Add cases to a folder, but for those that do what one of it does, or have the fingerprint of one. Of two with the same
    fingerprint the shorter one is there in the end."""
    there = {case.id: case for case in read(folder).values()}
    does = {same(case): case.id for case in there.values()}
    for case, found in given:
        if found is not None and not found.confirmed:
            yield Change(case.id, "in company", "it does not fail alone")
            continue
        made = kept(case, found.rule if found else "")
        other = there.get(made.id)
        if (twin := does.get(same(made))) is not None:
            yield Change(made.id, "known", "" if twin == made.id else f"as {twin}")
        elif other is not None and _size(other) <= _size(made):
            yield Change(made.id, "known")
        else:
            write(folder, made)
            there[made.id] = made
            does[same(made)] = made.id
            yield Change(made.id, "added", f"from {case.id}" if case.id != made.id else "")


def _size(case: Case) -> tuple[int, int]:
    return len(case.calls), len(case_file.dumps(same(case)))


# --- inputs of fuzzers ------------------------------------------------------------------------------------------------------


def as_inputs(cases: Iterable[Case]) -> tuple[set[bytes], int]:
    """The inputs of a fuzzer that are these cases, or their names by calls that are like theirs; and how many are exact."""
    inputs: set[bytes] = set()
    exact = 0
    for case in cases:
        data = encode(case)
        exact += data is not None
        inputs.update([data] if data is not None else nearest(case))
    return inputs, exact


def write_inputs(folder: Path, inputs: Iterable[bytes]) -> None:
    """Write inputs into a folder, each under its digest, as fuzzers do. UsageError if that cannot be."""
    with _told(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for data in inputs:
            (folder / hashlib.sha1(data, usedforsecurity=False).hexdigest()).write_bytes(data)


def of_inputs(paths: Iterable[Path]) -> tuple[list[Case], int]:
    """The cases that files of inputs are, and how many of those are none. UsageError for one that cannot be read."""
    made: dict[str, Case] = {}
    none = 0
    for path in paths:
        case = decode(case_file.contents(str(path)))
        if case is None:
            none += 1
        else:
            made[case.id] = case
    return list(made.values()), none


# --- minimise ---------------------------------------------------------------------------------------------------------------


def minimise(folder: Path, runner: Runner, launch: Launch, profile: Profile) -> Iterator[Change]:
    """Drop the cases of a folder that fail on a target only in ways in which others do, and shrink those that stay.

    What passes there says nothing about this target, and stays as it is. A case that was shrunk keeps its name.
    """
    there = read(folder)
    # what is expected of a case by its file is expected of no smaller one
    paths, cases = list(there), [replace(case, expect=()) for case in there.values()]
    order = msgspec.msgpack.encode(Order(launch, profile, Setting(launch.target, seed=0)))
    seen = dict(runner.run(launch, cases))
    ways = [signs(case, seen[n], judge(case, seen[n], profile), profile) for n, case in enumerate(cases)]
    covered: dict[Sign, str] = {}
    for n, case in sorted(enumerate(cases), key=lambda pair: _size(pair[1])):
        new = [sign for sign in ways[n] if sign not in covered]
        if not ways[n]:
            yield Change(case.id, "passes", "it is left as it is")
        elif not new:
            with _told(folder):
                paths[n].unlink()
            yield Change(case.id, "dropped", f"{covered[next(iter(ways[n]))]} fails in the same way")
        else:
            covered |= dict.fromkeys(new, case.id)
            smallest = _smallest(runner, order, profile, case, seen[n], new)
            if smallest is not None and _size(smallest) < _size(case):
                _write(paths[n], smallest)
                yield Change(case.id, "shrunk")
            else:
                yield Change(case.id, "kept")


def _smallest(
    runner: Runner, order: bytes, profile: Profile, case: Case, observation: Observation, ways: Sequence[Sign]
) -> Case | None:
    """The smallest case that fails in all these ways as the given one does, if looking for it comes to one."""
    pack = msgspec.msgpack.encode
    for looked in unpacked(runner.call(look, order, pack(case), pack(observation), ways[:1])):
        still = signs(looked.case, looked.observation, judge(looked.case, looked.observation, profile), profile)
        if looked.confirmed and set(ways) <= set(still):
            return replace(kept(replace(looked.case, rules=case.rules[:1])), id=case.id, summary=case.summary)
    return None
