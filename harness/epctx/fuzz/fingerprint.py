"""What makes two findings the same: the rule, how it was broken, and the shape of the smallest case that breaks it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from epctx.case import Call, Callback, Case, Content, Model, Name, Node, raw
from epctx.observation import Observation
from epctx.oracle import Profile, Verdict, expectations

ON_TEXTS = ("name.log-safe",)
"""Rules on what the text of an error says: why there is one, and which name it took, does not matter."""
LONG = 255
"""A name of more bytes is a long one, of which only the beginning has a form."""


class Sign(NamedTuple):
    """What can be told of a finding before its case is shrunk: findings with other signs are not looked at as one."""

    rule: str
    op: str
    source: str
    outcome: str
    decides: str
    """The rule by which the specification decides the call."""
    wanted: str
    """What it says: accept, refuse or either."""

    def alike(self, other: Sign) -> bool:
        """Whether the ``other`` may stand for this one: the same rule is broken in the same way, by whatever call.

        A good call that is refused is one and the same thing, whichever rule says that it is good. A model's node is read as a
        call reads, and may be followed by others. What is not safe is so whether the call is accepted or not.
        """
        walked = (self.op, other.op) == ("load", "read")
        same = self.rule == other.rule or (self._strict and other._strict)
        returned = {self.outcome, other.outcome} <= {"accepted", "refused"} and (walked or self.rule.startswith("safe."))
        return same and (self.op == other.op or walked) and (self.outcome == other.outcome or returned)

    @property
    def _strict(self) -> bool:
        return self.rule == self.decides and (self.wanted, self.outcome) == ("accept", "refused")


def signs(case: Case, observation: Observation, verdict: Verdict, profile: Profile) -> dict[Sign, int]:
    """The signs of a verdict's findings, each with the index of the call that it is about."""
    found: dict[Sign, int] = {}
    decided = expectations(case, profile, observation.calls) if verdict.fails else ()
    for finding in verdict.findings:
        if finding.fails:
            call, expect, outcome = case.calls[finding.call], decided[finding.call], verdict.outcomes[finding.call]
            why = ("", "", "") if finding.rule in ON_TEXTS else (call.source, expect.rule, expect.outcome)
            found.setdefault(Sign(finding.rule, call.op, why[0], outcome, *why[1:]), finding.call)
    return found


def fingerprint(sign: Sign, case: Case) -> str:
    """Twelve hex digits that stay the same from run to run and from release to release: for the sign, and the shape of a case."""
    own = () if sign.rule in ON_TEXTS else shape(case)
    return hashlib.sha256(repr((*sign, own)).encode()).hexdigest()[:12]


def shape(case: Case) -> tuple[object, ...]:
    """What is left of a case without its words and numbers: the kinds of its entries, its options, and the form of its names.

    Threads are not bound to do the same twice, so of theirs there is only that they are.
    """
    if any(call.threads for call in case.calls):
        return ("threads", *sorted({share.op for call in case.calls if call.threads for share in call.threads.shares}))
    kinds = tuple(sorted(type(entry).__name__ for entry in case.world.entries))
    model = () if case.model.given == Model().given else (form(case.model.given), case.world.cwd != "")
    nodes, calls = tuple(map(_node, case.model.nodes)), tuple(map(_call, case.calls))
    return kinds, model, case.limits.file_size is not None, nodes, calls


def form(name: Name) -> str:
    """A name with its words made one: ``../outside/secret.bin`` is ``../w/w``, and ``..foo`` is ``..w``."""
    data = raw(name)
    text = data[:LONG].decode("utf-8", "backslashreplace").replace("{root}", "/root")
    parts = ["w" if re.fullmatch(r"\w+(\.\w+)*", part, re.ASCII) else re.sub(r"\w+", "w", part) for part in text.split("/")]
    return "/".join(parts) + ("…" if len(data) > LONG else "")


def _call(call: Call) -> tuple[object, ...]:
    plain = Call(call.op)
    names = tuple(form(name) for name in call.names)
    fallback = call.fallback if call.fallback is UNSET or call.fallback is None else form(call.fallback)
    options = tuple(_other(call, plain, but=("name", "payload", "fallback", "read_callback", "write_callback", "steps")))
    payload = _size(call.payload) if call.op == "write" else ""
    callbacks = tuple(map(_callback, (call.read_callback, call.write_callback)))
    steps = tuple((s.do, s.options is None, s.config is None, s.function is None, s.without) for s in call.steps)
    return call.op, names, repr(fallback), options, payload, callbacks, steps


def _callback(callback: Callback | None) -> tuple[object, ...]:
    if callback is None:
        return ()
    return ("asked", _size(callback.content), *_other(callback, Callback(), but=("content",)))


def _node(node: Node) -> tuple[object, ...]:
    types = [(a.name, tuple(name for name, _ in _fields(a) if name != "name")) for a in node.attributes]
    return node.domain, node.op_type, tuple(types), tuple(form(a.text) for a in node.attributes if a.text is not None)


def _size(content: Content | None) -> str:
    """A size as people say it: those at the edges are their own kind."""
    if content is None:
        return "null"
    usual = Content("").size
    return str(content.size) if content.size < 2 else "usual" if content.size <= usual else "more"


def _other(data: msgspec.Struct, plain: msgspec.Struct, but: tuple[str, ...] = ()) -> Iterator[str]:
    """The names of the fields that are not as they are in ``plain``."""
    return (name for name, value in _fields(data) if name not in but and value != getattr(plain, name))


def _fields(data: msgspec.Struct) -> Iterator[tuple[str, Any]]:
    defaults = {f.name: f.default for f in msgspec.structs.fields(data)}
    return ((name, getattr(data, name)) for name, default in defaults.items() if getattr(data, name) is not default)
