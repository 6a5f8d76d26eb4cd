"""From an observation to a verdict: every rule looks at every call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec import UNSET

from epctx.case import Call, Callback, Case, Content, Expect, HardLink, Struct
from epctx.observation import Observation, Seen, content_digest
from epctx.oracle.alike import held, keep, likeness
from epctx.oracle.profile import Profile, Scope, Tier, in_scope
from epctx.oracle.rule import RULES, SEVERITIES, Broken, Look, Noted, Rule, Severity, path_text
from epctx.remember import remembered
from epctx.spec import follow, from_memory, predict

Result: TypeAlias = Literal["pass", "note", "fail", "hang", "crash", "skip", "error"]
_Conditional: TypeAlias = tuple[Rule, Callable[[Look], bool]]
Outcome: TypeAlias = Literal["accepted", "refused", "hang", "crash", "exception"]

SOME, NONE = Content("some", 1), Content("none", 0)


class Finding(Struct, frozen=True):
    """A rule that an observation breaks (``fails``), or what a rule outside the profile or a policy has to report."""

    rule: str
    tier: Tier
    severity: Severity
    call: int
    """Index of the call in the case."""
    expected: str
    happened: str
    file: str = ""
    fails: bool = True
    over_strict: bool = False
    """Whether it is that a loader judged by its effects refuses what the specification accepts: a note apart from the others."""


class Verdict(Struct, frozen=True):
    """What an observation means under a profile. ``outcomes`` is what was seen of each call, ``result`` what it comes to."""

    case: str
    result: Result
    outcomes: tuple[Outcome, ...] = ()
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    """Why the case was skipped, or what the harness failed at."""
    confirmed: bool = True
    """False for a case that failed in company and not when it ran alone: what ran before it may be the cause."""

    @property
    def fails(self) -> bool:
        """Whether a rule of the profile was broken."""
        return self.result in ("fail", "hang", "crash")


def judge(case: Case, observation: Observation, profile: Profile, *, each: bool = False) -> Verdict:
    """Judge what was seen of ``case`` by every rule. With ``each``, they are all asked anew also about calls that are alike."""
    if observation.skipped:
        return Verdict(case.id, "skip", reason=observation.skipped)
    if observation.error:
        return Verdict(case.id, "error", reason=observation.error)
    expects = expectations(case, profile, observation.calls)
    for expect in expects:
        if expect.rule not in RULES:
            return Verdict(
                case.id, "error", reason=f"a call is decided by the rule {expect.rule}, which this version cannot judge"
            )
    root = observation.root.encode("utf-8", "surrogateescape")
    findings: list[Finding] = []
    for index, seen in enumerate(observation.calls):
        earlier = observation.calls[:index]
        like = None if each else likeness(case, index, expects[index], seen, profile, root, earlier)
        if like is None or like not in held(profile):
            own = _rulings(Look(case, index, expects[index], seen, profile, root, earlier), index)
            findings += own
            if like is not None and not own:
                keep(profile, like)
    findings.sort(key=lambda f: (not f.fails, SEVERITIES.index(f.severity), f.call))
    return Verdict(case.id, _result(observation, findings), tuple(map(_outcome, observation.calls)), tuple(findings))


def _rulings(look: Look, index: int) -> list[Finding]:
    findings = []
    for rule in applicable(look):
        ruling = rule.judge(look)
        if ruling is not None:
            over_strict = rule.id == look.expect.rule and _over_strict(look, ruling)
            noted = isinstance(ruling, Noted) or over_strict or rule.id in look.profile.departures
            fails = not noted and (rule.tier in look.profile.tiers or rule.tier == "policy")
            findings.append(
                Finding(
                    rule.id, rule.tier, rule.severity, index, ruling.expected, ruling.happened, ruling.file, fails, over_strict
                )
            )
    return findings


def _over_strict(look: Look, ruling: Broken) -> bool:
    """Whether what is wrong is that a loader that is judged by its effects refused a name that it might serve.

    It need not serve every name to be safe, so that is told apart from what it does wrong.
    """
    usual = not isinstance(ruling, Noted) or look.case.intent != "hostile"
    return look.profile.scope == "effects" and look.refused and look.expect.outcome != "refuse" and usual


def applicable(look: Look) -> list[Rule]:
    """The rules that apply to a call: those with a condition of their own that it meets, and the one that decides it.

    All are of the profile's scope.
    """
    decider, scope = RULES[look.expect.rule], look.profile.scope
    others = [rule for rule, condition in _concerned(look.call, scope) if condition(look) and rule is not decider]
    return [decider, *others] if in_scope(decider.id, scope) else others


def _concerned(call: Call, scope: Scope) -> list[_Conditional]:
    """The rules of a scope with a condition of their own that say anything about such a call, each with the condition."""
    known = _concerned_by_scope(call)
    if scope not in known:
        known[scope] = _concerned_with_kind(_kind(call), scope)
    return known[scope]


@remembered()
def _concerned_by_scope(_call: Call) -> dict[Scope, list[_Conditional]]:
    return {}


def _kind(call: Call) -> Call:
    """The call that stands for all that are alike before they are made: that have a name, bytes, a text, whichever."""
    if call.threads or call.race or call.resize:
        return call
    return msgspec.structs.replace(
        call,
        name=call.name and "name",
        payload=_some(call.payload),
        null_size=0,
        fallback=UNSET,
        read_callback=_kind_of_callback(call.read_callback),
        write_callback=_kind_of_callback(call.write_callback),
        steps=(),
    )


def _kind_of_callback(callback: Callback | None) -> Callback | None:
    if callback is None:
        return None
    size = callback.size if callback.size is None else min(callback.size, 1)
    content = _some(callback.content)
    return msgspec.structs.replace(
        callback, content=content, code=min(callback.code, 1), text=callback.text and "text", size=size
    )


def _some(content: Content | None) -> Content | None:
    return content and (SOME if content.size else NONE)


@functools.lru_cache(maxsize=4096)
def _concerned_with_kind(kind: Call, scope: Scope) -> list[_Conditional]:
    own = [rule for rule in RULES.values() if rule.condition is not None and in_scope(rule.id, scope)]
    return [(rule, rule.condition) for rule in own if rule.concerns(kind) and rule.condition is not None]


def _result(observation: Observation, findings: list[Finding]) -> Result:
    if not any(f.fails for f in findings):
        return "note" if findings else "pass"
    endings = {seen.ended for seen in observation.calls}
    return "hang" if "hang" in endings else "crash" if endings & {"crash", "exception"} else "fail"


def _outcome(seen: Seen) -> Outcome:
    if seen.ended != "returned":
        return seen.ended
    return "refused" if seen.code else "accepted"


def expectations(case: Case, profile: Profile, seen: Sequence[Seen] = ()) -> tuple[Expect, ...]:
    """What is expected of each call of a case under a profile: its own expectation where it states one for POSIX, and for an ONNX
    Runtime that negotiates where that matters; else the specification's.

    With what was ``seen`` of the calls, each is expected to take the world as those before it left it, rightly or not.
    """
    if profile.from_memory:
        case = from_memory(case)
    as_stated = profile.platform == "posix" and (profile.negotiates or all(call.support is None for call in case.calls))
    predicted = functools.partial(predict, case, profile.platform, negotiates=profile.negotiates)
    expects = case.expect if case.expect and as_stated else predicted()
    if len(seen) < 2 or all(_as_planned(case, *one) for one in zip(case.calls, expects, seen[:-1], strict=False)):
        return expects
    came = [one.changes for one in seen]
    followed = follow(case, came, profile.platform, negotiates=profile.negotiates)
    return tuple(map(_instead, expects, predicted(), followed))


def _instead(expect: Expect, planned: Expect, followed: Expect) -> Expect:
    """What is expected where something else was ``planned`` for a call than now follows from those before it."""
    if followed == planned:
        return expect
    if followed.outcome == "refuse" and expect.outcome != "refuse":  # who refused to write there may refuse again, for its reason
        return msgspec.structs.replace(followed, status=None)
    return followed


def _as_planned(case: Case, call: Call, expect: Expect, seen: Seen) -> bool:
    """Whether a call certainly left what it was expected to leave, and no more."""
    if call.op != "write" or expect.file is None:
        return not seen.changes
    if expect.outcome != "accept" or expect.content is None or len(seen.changes) != 1:
        return False
    (change,) = seen.changes
    wanted = ("file", expect.content.size, content_digest(expect.content))
    written = change.path == path_text(expect.file) and (change.after.kind, change.after.size, change.after.digest) == wanted
    return written and not any(isinstance(entry, HardLink) for entry in case.world.entries)
