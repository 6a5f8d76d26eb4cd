"""Property tests of a loader and of what is around it: ``pytest docs/examples/property_tests.py``.

``TARGET`` in the environment names the loader that is tested; without it, it is the reference helper.
"""

from __future__ import annotations

import os

from hypothesis import given, settings

from epctx.case import Call, Case, Name, World, raw
from epctx.spec import predict
from epctx.strategies import Trial, cases, machine, names

TARGET = os.environ.get("TARGET", "reference")


def may_be_packed(name: bytes) -> bool:
    """The check of a packaging script, which sees names before any loader does."""
    return not name.startswith(b"/") and os.path.normpath(name).split(b"/")[0] != b".."


@given(names())
def test_what_leads_out_is_not_packed(name: Name) -> None:
    """What the specification refuses since it leads out is refused by the script, too."""
    (expected,) = predict(Case("own/name", "A name.", "hostile", (), World(), (Call("read", name),)))
    if expected.rule in ("contain.parent", "contain.absolute"):
        assert not may_be_packed(raw(name, b"/world"))


trial = Trial(TARGET)


@settings(max_examples=50, deadline=None)
@given(cases())
def test_the_loader_holds_in_any_case(case: Case) -> None:
    """Whatever the case, the loader does what all rules demand."""
    trial.hold(case)


TestPlay = machine(TARGET).TestCase
TestPlay.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)
