"""Runs made for tests of reports: what is seen is made up, what it means is judged as ever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from epctx.case import Call, Callback, Case, Content, File, Link, Name, World
from epctx.observation import CallbackSeen, Memory, Observation, Output, Seen, Touched, content_digest
from epctx.oracle import PROFILES, judge
from epctx.report.record import Header, Line, Run, footer

PROFILE = PROFILES["spec"]
HEAD = Header("weak:S7", "spec", 0, "namespaces: a box", "1.32.0", "0.1.0", "2026-01-01T00:00:00+00:00", judged_by=PROFILE)
SECRET = Content("outside/secret.bin", 96)
REFUSED = Seen("returned", code=2, message="it leads out of the model directory", output=Output(0, "", null=True), seconds=5e-5)


def case(id: str, name: Name = "link", summary: str = "A read through a link to a file outside is refused.") -> Case:
    """A case with a link from the model directory to a file outside."""
    entries = (File("model/good.bin"), Link("model/link", "../outside/secret.bin"), File("outside/secret.bin", SECRET))
    return Case(id, summary, "hostile", ("contain.symlink-file",), World(entries), (Call("read", name),))


def leaking() -> Seen:
    """A read that gave the file outside."""
    return Seen(
        "returned",
        output=Output(96, content_digest(SECRET)),
        reads=("outside/secret.bin",),
        leaks=("outside/secret.bin",),
        touched=(Touched("open", ("outside/secret.bin",), "outside"),),
        memory=Memory(allocated=1, freed=1, peak=96),
        seconds=1e-4,
    )


def asked() -> tuple[Case, Seen]:
    """A case whose read goes through a callback, and what came of it: the callback was asked by another name."""
    content = Content("callback", 32)
    made = replace(case("callbacks/asked", "engine.bin"), calls=(Call("read", "engine.bin", read_callback=Callback(content)),))
    back = CallbackSeen("read", b"other.bin".hex(), 32, registration=1, thread=1, started=2e-5, ended=8e-5)
    return made, Seen("returned", output=Output(32, content_digest(content)), callbacks=(back,), seconds=1e-4)


def line(case: Case, *seen: Seen, known: Mapping[str, str] = {}, skipped: str = "", error: str = "") -> Line:
    """What was seen of a case, judged."""
    observation = Observation(case.id, HEAD.target, "/tmp/world", seen, skipped=skipped, error=error)
    return Line(0, case, judge(case, observation, PROFILE), observation, dict(known))


def run(lines: Sequence[Line], **head: object) -> Run:
    """A run with these lines; ``head`` are other values for its header."""
    numbered = [replace(line, index=n) for n, line in enumerate(lines)]
    verdicts = [line.verdict for line in numbered]
    known = sum(line.verdict.fails and all(f.rule in line.known for f in line.verdict.findings if f.fails) for line in numbered)
    foot = footer(verdicts, [line.observation for line in numbered], 1.5, known=known)
    return Run(replace(HEAD, cases=len(numbered), **head), numbered, foot)
