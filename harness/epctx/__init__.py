"""epctx: a test and fuzzing harness for the security of EPContext loaders."""

from importlib.metadata import version

__version__ = version("epctx")
