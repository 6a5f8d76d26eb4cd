"""Worlds: built on a ground of their own, changed, watched, compared, and cleared away without following a link."""

from epctx.world.entries import CannotBuild, Given, ModelFile, mark_of_content
from epctx.world.ground import Ground
from epctx.world.live import LiveWorld
from epctx.world.plot import Plot

__all__ = ["CannotBuild", "Given", "Ground", "LiveWorld", "ModelFile", "Plot", "mark_of_content"]
