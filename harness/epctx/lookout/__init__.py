"""The lookout: plaintext is seen in files while things happen, also in those that are removed again at once.

``run_watched`` puts a command under it, for anybody's own tests.
"""

from epctx.lookout.doors import guard, guarded_process, why_no_doors
from epctx.lookout.lookout import Lookout, Sighting
from epctx.lookout.watched import Watched, run_watched

__all__ = ["Lookout", "Sighting", "Watched", "guard", "guarded_process", "run_watched", "why_no_doors"]
