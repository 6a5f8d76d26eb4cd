"""Becomes a command that is guarded: ``python -I launcher.py SEARCH SOCKET COMMAND [ARGUMENT...]``.

SEARCH is where its parent looks for modules, whatever the environment of the command says.
"""

from __future__ import annotations

import os
import socket
import sys

if __name__ == "__main__":
    sys.path[:] = sys.argv[1].split(os.pathsep)
    from epctx.lookout import guard

    report = socket.socket(fileno=int(sys.argv[2]))
    report.set_inheritable(False)
    guard(report)
    os.execvp(sys.argv[3], sys.argv[3:])
