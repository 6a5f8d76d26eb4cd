"""The box: how a target is kept from everything but its world, and what is done when it does not come back."""

from epctx.box.box import STRENGTHS, Box, Strength
from epctx.box.process import Ended, Process
from epctx.box.watchdog import Watchdog, free_fifos

__all__ = ["STRENGTHS", "Box", "Ended", "Process", "Strength", "Watchdog", "free_fifos"]
