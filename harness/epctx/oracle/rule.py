"""What a rule is, what it looks at, and what it can say."""

from __future__ import annotations

import inspect
import posixpath
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from epctx.case import OK, Call, Case, Content, Expect, File, HardLink, Name, Struct, content_of, name_of, raw, shown
from epctx.observation import UNSAID, Report, Seen, State, content_digest
from epctx.oracle.cwe import WEAKNESSES
from epctx.oracle.profile import Profile, Tier
from epctx.spec import model_directory

Severity: TypeAlias = Literal["critical", "high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low")


class Broken(Struct, frozen=True):
    """The evidence that a rule was broken: what was expected, what happened, and the world path of the file concerned, if any."""

    expected: str
    happened: str
    file: str = ""


class Noted(Broken, frozen=True):
    """Something that a policy leaves open, for the report; never a failure."""


Ruling: TypeAlias = Broken | None
"""What a rule that applies says about one call: ``None`` means that it held."""

HELD: Ruling = None


class Look:
    """One call of a case beside what was expected and what was seen of it: what every rule is given.

    ``returned``: the call came back, ``accepted`` with success or ``refused`` with an error status. ``allowed`` is the world path
    of the one file that it may touch, "" for none; ``earlier`` what was seen of the calls before it.
    """

    def __init__(
        self, case: Case, index: int, expect: Expect, seen: Seen, profile: Profile, root: bytes, earlier: Sequence[Seen] = ()
    ) -> None:
        self.case, self.call = case, case.calls[index].as_used
        self.expect, self.earlier = _met(expect, seen), earlier
        self.seen, self.profile, self.root = seen, profile, root
        self.returned = seen.ended == "returned"
        self.accepted = self.returned and seen.code == OK
        self.refused = self.returned and seen.code != OK
        self.allowed = "" if self.expect.file is None else path_text(self.expect.file)

    @property
    def happened(self) -> str:
        """How the call ended, in words."""
        seen = self.seen
        if seen.ended != "returned":
            return {"hang": "it did not return", "crash": "it crashed", "exception": "it threw"}[seen.ended] + (
                f" ({seen.detail})" if seen.detail else ""
            )
        if seen.code != OK:
            code = f" with code {seen.code}" if self.profile.scope == "contract" and seen.code != UNSAID else ""
            return f"it was refused{code}: {shown(seen.message.encode('utf-8', 'backslashreplace'), 160)}"
        if seen.shown_by == "result":
            return f"the content of {', '.join(seen.reads)} was loaded and executed: the result is that of it"
        if seen.shown_by == "open":
            return f"it opened {seen.reads[0]}"
        if seen.output is None:
            return "it was accepted"
        source = f", the content of {', '.join(seen.reads)}" if seen.reads else ""
        return f"it was accepted with {seen.output.size} bytes{source}"

    @property
    def allowed_names(self) -> frozenset[str]:
        """All names of the inode that this call may touch: a hard link to an outside file is that file, under a name inside.

        A load may touch each hard link, since any of its names may be that of one (contain.hard-link judges those).
        """
        names = {self.allowed} if self.allowed else set()
        if self.call.op == "load":
            names.update(path_text(e.path) for e in self.case.world.entries if isinstance(e, HardLink))
        if not names:
            return frozenset()
        for known in (*(t.names for t in self.seen.touched), self.seen.reads):
            if names.intersection(known):
                names.update(known)
        return frozenset(names)

    @property
    def strays(self) -> tuple[str, ...]:
        """World paths that were changed although the expectation does not name them (nor the inode that it names)."""
        if not self.seen.changes:
            return ()
        if self.call.source == "caller" and self.expect.outcome != "refuse" and not self.allowed:
            return ()  # a trusted caller names any file, also one that has no world path
        own = self.allowed_names if self.expect.outcome != "refuse" else frozenset()
        return tuple(c.path for c in self.seen.changes if c.path not in own)

    @property
    def exact(self) -> bool:
        """Whether the bytes that were read, or that the written file holds, are those expected (where they are known)."""
        content = self.expect.content
        if content is None or self.call.op == "load":  # what a loader does with the bytes of a node is its own affair
            return True
        if self.call.op == "write":
            after = [c.after for c in self.seen.changes if c.path == self.allowed]
            return not after or (after[-1].size == content.size and after[-1].digest == content_digest(content))
        output, left = self.seen.output, self.left(self.allowed)
        if output is None:
            return False
        if left is not None:  # be it what was to be written or not
            return output.size == left.size and (not left.digest or output.digest == left.digest)
        return output.size == content.size and output.digest == content_digest(content)

    def left(self, path: str) -> State | None:
        """What the calls before this one left at a world path, as it was seen; None if they did not change it."""
        changes = (change for seen in reversed(self.earlier) for change in seen.changes)
        return next((change.after for change in changes if change.path == path), None)

    def held(self, path: str, content: Content) -> bool:
        """Whether the file at a world path held just this before the call."""
        if (left := self.left(path)) is not None:
            return left.kind == "file" and left.size == content.size and (not left.size or left.digest == content_digest(content))
        files = (e for e in self.case.world.entries if isinstance(e, File) and path_text(e.path) == path)
        return any(before == content or before.size == content.size == 0 for before in map(content_of, files))

    def decided(self) -> Ruling:
        """The plain judgement of the rule that decides a call: refused and nothing changed, or accepted on the right file."""
        expect, seen = self.expect, self.seen
        if not self.returned:
            return Broken(self.expectation, self.happened, self.allowed)
        if self.by_text:
            words = f"{self.happened}: the name was taken by its text, which stays in the model directory"
            return Noted(self.expectation, words, self.allowed)
        if self.call.threads is not None:  # how the calls ended is counted, and judged by thread.no-cross-talk
            return HELD
        if expect.outcome == "refuse":
            if self.accepted:
                return Broken(self.expectation, self.happened, ", ".join(seen.reads or self.strays))
            if self.strays:
                return Broken(
                    f"{self.expectation}, and nothing changes", f"{self.happened}, but changed {self.strays[0]}", self.strays[0]
                )
            return HELD
        if self.refused:
            return HELD if expect.outcome == "either" else Broken(self.expectation, self.happened, self.allowed)
        if self.call.op != "write" and self.seen.changes:
            path = self.seen.changes[0].path
            return Broken(f"{self.expectation}, and nothing changes", f"{self.happened}, but changed {path}", path)
        if self.call.race is not None:  # how the rounds ended is counted, and judged by contain.race
            return HELD
        if self.call.op == "write":
            return self._landed()
        if self.exact or not seen.reads or self.allowed in seen.reads:
            return HELD
        return Broken(self.expectation, self.happened, seen.reads[0])

    @property
    def by_text(self) -> bool:
        """Whether a loader that is judged by its effects took the ``..`` of a name, or its first slash, off the text before the
        system saw it, and so came to another file of the model directory. That is not what the name means, but it is safe."""
        if self.profile.scope == "contract" or not self.accepted:
            return False
        name, base = raw(self.call.name or "", self.root), model_directory(self.case)
        if base is None or not (name.startswith(b"/") or b".." in name.split(b"/")):
            return False
        directory = raw(base)
        path = posixpath.normpath(directory + b"/" + name)
        seen = self.seen
        used = set(seen.reads) if self.call.op == "read" else {c.path for c in seen.changes if c.after.kind != "dir"}
        places = {*(t.place for t in seen.touched), *(c.place for c in seen.changes), "inside"}
        inside = path.startswith(directory + b"/") and len(places) == 1
        return inside and used == {path_text(name_of(path))} != {self.allowed}

    def _landed(self) -> Ruling:
        """Whether an accepted write went to the file that it names, and nowhere else."""
        if self.strays:
            return Broken(self.expectation, f"{self.happened}, but changed {self.strays[0]}", self.strays[0])
        if self.allowed and not self._same_before and not any(c.path == self.allowed for c in self.seen.changes):
            return Broken(self.expectation, f"{self.happened}, but {self.allowed} is as it was", self.allowed)
        return HELD

    @property
    def _same_before(self) -> bool:
        """Bytes that are replaced in place by the same ones look as if nothing had happened."""
        return self.expect.content is not None and self.held(self.allowed, self.expect.content)

    @property
    def expectation(self) -> str:
        """What the specification expects of this call, in words."""
        expect = self.expect
        if expect.outcome == "refuse":
            by_code = expect.status is not None and self.profile.scope == "contract"
            return "refused" + (f" with code {expect.status}" if by_code else "")
        words = "accepted" if expect.outcome == "accept" else "refused, or accepted"
        return words + (f" on {self.allowed}" if self.allowed else "")


def _met(expect: Expect, seen: Seen) -> Expect:
    """What is expected, or what may be in its place if it is that file which was read or changed."""
    if expect.instead is None or expect.instead.file is None:
        return expect
    file = path_text(expect.instead.file)
    return expect.instead if file in seen.reads or any(c.path == file for c in seen.changes) else expect


def path_text(path: Name) -> str:
    """A world path as observations write it: bytes that are not UTF-8 as backslash escapes."""
    return path if isinstance(path, str) else raw(path).decode("utf-8", "backslashreplace")


def report_words(reports: Sequence[Report]) -> str:
    """The first of some reports in words: what and where, and how many more there are."""
    first = reports[0]
    place = f" in {' from '.join(first.stack)}" if first.stack else ""
    other = "the same" if first.other == first.stack else " from ".join(first.other)
    other = f", against {other}" if other else ""
    return f"{first.summary}{place}{other}" + (f"; and {len(reports) - 1} more" if len(reports) > 1 else "")


def _always(_what: object) -> bool:
    return True


class Rule:
    """One clause of the specification.

    ``statement`` is the first paragraph of the docstring of the function that judges it, ``why`` the rest. A rule with a
    ``condition`` looks at every call that meets it, if it ``concerns`` such calls at all; any other one only at calls that the
    specification decides by it. An ``informational`` rule tells something for the report and is never broken.
    """

    __slots__ = ("_test", "concerns", "condition", "id", "informational", "severity", "source", "statement", "tier", "why")

    def __init__(
        self,
        id: str,
        tier: Tier,
        severity: Severity,
        source: str,
        calls: Callable[[Call], bool] | None,
        applies: Callable[[Look], bool] | None,
        test: Callable[[Look], Ruling],
        informational: bool = False,
    ) -> None:
        self.id, self.tier, self.severity, self.source = id, tier, severity, source
        self.concerns = calls or _always
        self.condition = applies or (_always if calls else None)
        self._test, self.informational = test, informational
        text = inspect.getdoc(test) or ""
        self.statement, _, self.why = (part.strip() for part in text.partition("\n\n"))

    @property
    def cwe(self) -> tuple[int, ...]:
        """The numbers of the weaknesses (CWE) that break it, the most fitting first."""
        return WEAKNESSES.get(self.id, ())

    def judge(self, look: Look) -> Ruling:
        """What the rule says about a call that it applies to. One that decides a call is also broken if the outcome is wrong."""
        if self.condition is None:
            return self._test(look)
        if look.expect.rule != self.id:
            return self._test(look)
        return look.decided() or (self._test(look) if self.concerns(look.call) and self.condition(look) else HELD)


RULES: dict[str, Rule] = {}
"""Every rule by its id, in the order in which they are written."""


def rule(
    id: str,
    tier: Tier,
    severity: Severity,
    source: str,
    calls: Callable[[Call], bool] | None = None,
    applies: Callable[[Look], bool] | None = None,
    informational: bool = False,
) -> Callable[[Callable[[Look], Ruling]], Callable[[Look], Ruling]]:
    """Register a function as the rule ``id``.

    By itself a rule looks at the calls that the specification decides by it (``expect.rule``); with ``calls`` or ``applies`` at
    every call for which both answer true. ``calls`` is what can be said before a call is made, whatever its name, and asked only
    once for calls that are alike. ``source`` names the clause: a heading of the design document, or where else it is from. An
    ``informational`` rule answers with ``Noted`` alone.
    """

    def register(test: Callable[[Look], Ruling]) -> Callable[[Look], Ruling]:
        if id in RULES:
            raise ValueError(f"two rules have the id {id}")
        RULES[id] = Rule(id, tier, severity, source, calls, applies, test, informational)
        return test

    return register
