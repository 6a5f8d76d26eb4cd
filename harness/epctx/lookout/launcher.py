"""Becomes a command that is guarded: ``python launcher.py SOCKET COMMAND [ARGUMENT...]``."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # as a script, in a Python that looks nowhere else for it

from epctx.lookout.doors import guard

if __name__ == "__main__":
    report = socket.socket(fileno=int(sys.argv[1]))
    report.set_inheritable(False)
    guard(report)
    os.execvp(sys.argv[2], sys.argv[2:])
