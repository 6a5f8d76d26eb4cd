"""A program that says its part of a conversation, as long as it is asked what is in there; else it ends with status 9."""

from __future__ import annotations

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    for who, message in json.load(file):
        if who == "<":
            print(json.dumps(message), flush=True)
        elif (asked := json.loads(sys.stdin.readline())) != message:
            sys.exit(f"asked {asked}, and not {message}")
