"""Calls that are alike are judged alike: to ask the rules once for all of them comes to the same as to ask them each time."""

from __future__ import annotations

import random
from typing import Any

import pytest
from msgspec.structs import replace

from epctx.case import OK, Call, Callback, Case, Content, Expect, raw
from epctx.fuzz.choices import Dice
from epctx.fuzz.engine import cases
from epctx.fuzz.grammar import Grammar
from epctx.fuzz.mutate import listed
from epctx.observation import CallbackSeen, Change, Memory, Observation, Output, Seen, State, Touched, content_digest
from epctx.oracle import PROFILES, Verdict, expectations, judge, profile
from epctx.oracle.alike import held
from epctx.oracle.rule import path_text

ROOT = "/ground/world"
OTHER = Content("other")
JUDGED = [
    profile("spec"),
    profile("hardened", ("contain.hard-link=accept", "contain.model-link-cache=refuse")),
    profile("ort-1.31", chunking=True),
    PROFILES["effects"],
]


def as_expected(call: Call, expect: Expect) -> Seen:
    """What would be seen of a call that does just what is expected of it."""
    script = call.write_callback if call.op == "write" else call.read_callback
    accepted = expect.outcome != "refuse"
    name = raw(call.name or "", ROOT.encode()).partition(b"\0")[0].hex()
    callbacks: tuple[CallbackSeen, ...] = ()
    if script and call.name and call.accessors and not (call.op == "write" and call.payload is None and call.null_size):
        payload = call.payload or Content("", 0)
        if call.op == "write":
            callbacks = (CallbackSeen("write", name, payload.size, content_digest(payload), null=call.payload is None),)
        else:
            callbacks = (CallbackSeen("read", name, script.content.size if script.content else 0),)
    message = ""
    if not accepted:
        message = raw(script.text).decode("utf-8", "backslashreplace") if script and expect.rule.startswith("cb.err") else "no"
    output = None
    if call.op == "read":
        content = expect.content if accepted else None
        size = content.size if content else 0
        output = Output(size, content_digest(content) if content else "", null=not size, adopted=bool(script and size))
    touched: tuple[Touched, ...] = ()
    if accepted and not script and expect.file is not None:
        touched = (Touched("open", (path_text(expect.file),), "inside"),)
    memory = Memory(1, 1, caller_allocated=int(call.allocator == "caller"), statuses=1, statuses_released=1)
    code = OK if accepted else expect.status or 1
    return Seen("returned", code=code, message=message, output=output, touched=touched, memory=memory, callbacks=callbacks)


def turned(dice: random.Random, seen: Seen) -> Seen:
    """The same with one thing that is not as it was."""
    memory = seen.memory
    outside = Touched("open", ("outside/secret.bin",), "outside")
    written = Change("model/good.bin", "inside", State("file", 1, 0, 96, "a"), State("file", 1, 0, 96, content_digest(OTHER)))
    ways: list[dict[str, Any]] = [
        {"code": dice.choice((0, 1, 2, 3, 6, 9, 11))},
        {"message": dice.choice(("", "a\x1b[31m", "said", "refused\n"))},
        {"touched": (*seen.touched, outside)},
        {"touched": (*seen.touched, Touched("create", ("model/tmp",), "inside"))},
        {"touched": (Touched("open", ("model/good.bin",), "inside"),)},
        {"touched": ()},
        {"changes": (written,)},
        {"leaks": ("outside/secret.bin",)},
        {"reads": ("outside/secret.bin",)},
        {"plaintext": ("model/tmp",)},
        {"moves": ("the source still holds data",)},
        {"ended": dice.choice(("hang", "crash", "exception"))},
        {"unmeasured": True},
        {"callbacks": seen.callbacks * 2},
        {"callbacks": ()},
    ]
    counts: tuple[tuple[str, object], ...] = (
        ("allocated", 2),
        ("live", 96),
        ("bad_frees", 1),
        ("caller_allocated", 1),
        ("caller_allocated", 0),
        ("caller_released", True),
        ("peak", 1 << 40),
        ("largest", 1 << 50),
        ("statuses", 2),
        ("bad_releases", 1),
    )
    ways += [{"memory": replace(memory, **{field: value})} for field, value in counts]
    if seen.output is not None:
        outputs = {"size": 0}, {"size": 97}, {"digest": "b"}, {"null": True}, {"null": False}, {"adopted": False}
        ways += [{"output": replace(seen.output, **other)} for other in outputs]
        ways.append({"output": Output(OTHER.size, content_digest(OTHER), adopted=True)})
    if seen.callbacks:
        first, *others = seen.callbacks
        invocations: tuple[dict[str, Any], ...] = (
            {"name": "00"},
            {"size": 5},
            {"digest": "c"},
            {"state_ok": False},
            {"allocator_ok": False},
            {"null": True},
            {"late": True},
            {"direction": "read"},
            {"reentered": 1},
        )
        ways += [{"callbacks": (replace(first, **other), *others)} for other in invocations]
    return replace(seen, **dice.choice(ways))


def observations(dice: random.Random, case: Case, expects: tuple[Expect, ...]) -> list[Observation]:
    """What may be seen of a case: all as expected, and with something else in one of the calls or two."""
    calls = list(map(as_expected, case.calls, expects))
    found = [calls]
    for times in (1, 1, 2):
        other = list(calls)
        for _ in range(times):
            index = dice.randrange(len(other))
            other[index] = turned(dice, other[index])
        found.append(other)
    return [Observation(case.id, "target", ROOT, tuple(own)) for own in found]


def verdicts(seed: int, *, each: bool) -> list[Verdict]:
    dice, grammar = random.Random(seed), Grammar((), listed())
    made: list[Verdict] = []
    for case in cases(grammar, seed, 20)[:400]:
        for judged in JUDGED:
            for observation in observations(dice, case, expectations(case, judged)):
                made.append(judge(case, observation, judged, each=each))
    return made


@pytest.mark.parametrize("seed", range(3))
def test_calls_that_are_alike_are_judged_alike(seed: int) -> None:
    together, by_themselves = verdicts(seed, each=False), verdicts(seed, each=True)
    assert [one for one, other in zip(together, by_themselves, strict=True) if one != other] == []
    results = {verdict.result for verdict in together}
    assert {"pass", "fail", "note", "crash", "hang"} <= results
    assert len(held(JUDGED[0])) > 100  # so that rules were spared


def test_a_call_is_not_alike_one_that_nobody_looked_at() -> None:
    text = Callback(code=9, text="the key is gone")
    case = Grammar().case(Dice(1), "test/one")
    assert case is not None
    case = replace(case, calls=(Call("read", "n.bin", read_callback=text),))
    judged = profile("spec")
    good = as_expected(case.calls[0], expectations(case, judged)[0])
    for said, fails in (("the key is gone", False), ("the key is lost", True), ("the key is gone", False)):
        observation = Observation(case.id, "target", ROOT, (replace(good, code=9, message=said),))
        assert judge(case, observation, judged).fails == fails
