"""Proving a target before it is judged: one thing after the other that every usable one does, and what to mend if it does not.

What is proved is that the target can be called and answers; whether it is safe is for a check to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

import msgspec

from epctx.attack import Draft, read, scene, write
from epctx.box import Ended
from epctx.case import Callback, Case, Content, Limits, Struct, shown
from epctx.errors import TargetError
from epctx.observation import Observation
from epctx.oracle import Finding, Profile, Verdict, judge
from epctx.run import worker
from epctx.run.check import judging
from epctx.run.keeper import Conditions
from epctx.run.runner import Runner
from epctx.target import Launch

Came: TypeAlias = Literal["ok", "left out", "warning", "failed"]
END_SECONDS = 5.0
"""How long a driver may take to end once nothing is asked of it any more."""
PAYLOAD = Content("epctx smoke")
READY, UP, ENDS = "is made ready", "comes up", "ends by itself"


class Step(Struct, frozen=True):
    """One thing that was tried: what, what came of it, in words what was seen, and what to mend where it went wrong."""

    what: str
    came: Came
    seen: str = ""
    mend: str = ""


class Trial(Struct, frozen=True):
    """A case that a usable target passes. ``mend`` says what a target has to do, where it does not."""

    what: str
    draft: Draft
    mend: str
    warns: bool = False
    """Whether a target may fail it and be usable all the same."""


TRIALS = (
    Trial(
        "reads a file beside the model",
        scene(calls=read("good.bin")),
        "join the name to the directory of the model, whose path it is given, and give all bytes of that file",
    ),
    Trial(
        "refuses a missing file, with a text",
        scene(calls=read("missing.bin")),
        "return an error with a text (in Python: raise an exception) where there is no file, never empty data",
    ),
    Trial(
        "writes a file beside the model",
        scene(calls=write("new.bin", payload=PAYLOAD)),
        "put the whole payload into the file of that name before the call returns",
    ),
    Trial(
        "reads back what it wrote",
        scene(calls=(write("new.bin", payload=PAYLOAD), read("new.bin"))),
        "give the bytes that were written, and nothing before or after them",
    ),
    Trial(
        "asks the read callback, and no file",
        scene(calls=read("good.bin", callback=Callback(Content("callback")))),
        "where a callback is registered, call it once with the name as it is, and give what it gives",
        warns=True,
    ),
    Trial(
        "hands what it writes to the write callback",
        scene(calls=write("new.bin", payload=PAYLOAD, callback=Callback())),
        "where a callback is registered, call it once with the name as it is and the whole payload, and make no file",
        warns=True,
    ),
    Trial(
        "passes on that a callback fails",
        scene(calls=read("good.bin", callback=Callback(code=1, text="the key is gone"))),
        "return the callback's own code and text (in Python: let its exception through), and open no file instead",
        warns=True,
    ),
    Trial(
        "refuses ../outside/secret.bin",
        scene(calls=read("../outside/secret.bin")),
        "it is usable, and not safe: `epctx check` will say more",
        warns=True,
    ),
)
"""What is tried of each target, in this order."""


def smoke(runner: Runner, prepare: Callable[[], Launch]) -> Iterator[Step]:
    """Try a target step by step, each told as it is done; what cannot be brought up is not tried further.

    UsageError where it is named wrongly.
    """
    try:
        launch = prepare()
    except TargetError as error:
        yield Step(READY, "failed", mend=str(error))
        return
    yield Step(READY, "ok")
    try:
        conditions = runner.conditions(launch)
    except TargetError as error:
        yield Step(UP, "failed", mend=str(error))
        return
    yield Step(UP, "ok", _described(launch, conditions))
    profile = judging(launch, conditions)
    for trial in TRIALS:
        case = Case("smoke/trial", trial.what, "control", (), trial.draft.world, trial.draft.calls, limits=Limits(seconds=10))
        (_, observation), *_ = runner.run(launch, [case])
        yield _step(trial, case, observation, profile)
    why = runner.call(ended, msgspec.msgpack.encode(launch))
    mend = "let the process end when nothing is asked any more: no thread that goes on, nothing that fails while it is unloaded"
    yield Step(ENDS, "failed" if why else "ok", why, mend if why else "")


def usable(steps: list[Step]) -> bool:
    """Whether a target that came through these steps can be judged."""
    return all(step.came != "failed" for step in steps)


def ended(launch: bytes) -> str:
    """Have a driver of the packed target come up and end by itself; in words what is wrong with that, else nothing.

    For a worker.
    """
    kept = worker.keeper()
    session = kept.started(msgspec.msgpack.decode(launch, type=Launch), Limits())
    try:
        session.driver.link.close()
        how = session.process.wait(END_SECONDS)
        return "" if how == Ended() else f"{session.how_it_ended()}" if how else f"it was still there after {END_SECONDS:g} s"
    finally:
        kept.end(session)


def _described(launch: Launch, conditions: Conditions) -> str:
    met = conditions.met or f"with ONNX Runtime {conditions.ort}"
    return f"{met}; it has {', '.join(sorted(conditions.can))}" + ("; it declares ordered chunking" if launch.chunking else "")


def _step(trial: Trial, case: Case, observation: Observation, profile: Profile) -> Step:
    """What came of a trial."""
    verdict = judge(case, observation, profile)
    if verdict.result == "skip":
        return Step(trial.what, "left out", verdict.reason)
    if verdict.result == "error":
        return Step(trial.what, "failed", verdict.reason)
    wrong = _wrong(verdict)
    if wrong is None:
        return Step(trial.what, "ok", _seen(observation))
    return Step(trial.what, "warning" if trial.warns else "failed", f"{wrong.happened} ({wrong.rule})", trial.mend)


def _wrong(verdict: Verdict) -> Finding | None:
    """What was wrong: what breaks a rule, or that a good thing was refused."""
    return next((finding for finding in verdict.findings if finding.fails or finding.over_strict), None)


def _seen(observation: Observation) -> str:
    """What a target answered, in words."""
    last = observation.calls[-1]
    if last.code:
        code = f"code {last.code}: " if last.code > 0 else ""
        return code + shown(last.message.encode("utf-8", "backslashreplace"), 100)
    return f"{last.output.size} bytes" if last.output else ""
