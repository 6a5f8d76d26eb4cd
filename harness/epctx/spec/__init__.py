"""The specification as a pure function: what a name means in a declared world, and what a loader has to do about it."""

from epctx.spec.follow import follow
from epctx.spec.predict import predict
from epctx.spec.scene import from_memory, model_directory

__all__ = ["follow", "from_memory", "model_directory", "predict"]
