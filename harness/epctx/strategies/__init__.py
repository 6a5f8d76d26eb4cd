"""What a campaign tries, as Hypothesis strategies for property tests of your own, and a state machine that plays with a
target::

    from epctx.strategies import machine, names

    @given(names())
    def test_no_name_leads_out(name: Name) -> None:
        assert not resolves_outside(raw(name))

    TestLoader = machine("lib:build/libmy_target.so").TestCase

Strategies follow the grammar of ``epctx fuzz``; what fails is shrunk by Hypothesis, towards a single call in a plain world.
They need Hypothesis, which ``epctx[hypothesis]`` brings along.
"""

try:
    import hypothesis  # noqa: F401
except ImportError:
    raise ImportError("epctx.strategies needs Hypothesis; install it with `pip install 'epctx[hypothesis]'`.") from None

from epctx.strategies.drawn import callbacks, cases, entries, names, worlds
from epctx.strategies.machine import machine
from epctx.strategies.trial import Broken, Trial

__all__ = ["Broken", "Trial", "callbacks", "cases", "entries", "machine", "names", "worlds"]
