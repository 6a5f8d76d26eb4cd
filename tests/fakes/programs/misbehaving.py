"""Programs for the target `exec`: `misbehaving.py HOW` is one that does what HOW says, and all else as it should be.

With `refusing` for a second argument, calls are answered as they should be unless they are refused.
"""

from __future__ import annotations

import base64
import json
import mmap
import os
import signal
import sys
import time
from typing import Any

HOW, ALWAYS = sys.argv[1], sys.argv[2:3] != ["refusing"]
FOREVER = 3600


def say(message: str, **fields: Any) -> None:
    print(json.dumps({"message": message, **fields}), flush=True)


def name_of(given: Any) -> bytes:
    return given.encode() if isinstance(given, str) else base64.b64decode(given["base64"])


def path_of(call: dict[str, Any]) -> bytes:
    """A careful loader's file, more or less."""
    os.chdir(name_of(call["cwd"]))
    name = name_of(call["name"] if call.get("fallback") is None else call["fallback"])
    if not name:
        raise ValueError("the name is empty")
    if call["trusted"]:
        return name
    if call["model"] is None or os.path.isabs(name):
        raise ValueError("the name leads out of the model's directory")
    base = os.path.realpath(os.path.dirname(name_of(call["model"])))
    path = os.path.realpath(os.path.join(base, name))
    if not path.startswith(base + b"/"):
        raise ValueError("the name leads out of the model's directory")
    return path


def answered(call: dict[str, Any]) -> dict[str, Any]:
    """The right answer to a call."""
    try:
        path = path_of(call)
        if call["op"] == "write":
            with open(path, "wb") as file:
                file.write(base64.b64decode(call["payload"]))
            return {"message": "result", "id": call["id"]}
        if os.path.exists(path) and not os.path.isfile(path) and HOW != "opens anything":
            raise ValueError("this is no regular file")
        with open(path, "rb") as file:
            return {"message": "result", "id": call["id"], "payload": base64.b64encode(file.read()).decode()}
    except (OSError, ValueError) as error:
        code = 1 if isinstance(error, FileNotFoundError) else 2
        return {"message": "error", "id": call["id"], "code": code, "text": str(error)}


def misbehave(call: dict[str, Any]) -> None:
    """What is done in place of the right answer."""
    number, content = call["id"], base64.b64encode(b"made up").decode()
    if HOW == "hangs":
        time.sleep(FOREVER)
    elif HOW == "spins":
        while True:
            pass
    elif HOW == "exits":
        print("no licence for this machine", file=sys.stderr, flush=True)
        os._exit(7)
    elif HOW == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif HOW == "stops midway":
        sys.stdout.write('{"message":"resu')
        sys.stdout.flush()
        os._exit(0)
    elif HOW == "closes its output":
        os.close(1)
        time.sleep(FOREVER)
    elif HOW == "lies":
        say("result", id=number, **({} if call["op"] == "write" else {"payload": content}))
    elif HOW == "answers another call":
        say("result", id=number + 1, payload=content)
    elif HOW == "answers twice":
        line = json.dumps(answered(call)) + "\n"
        sys.stdout.write(line + line)  # in one go, so that the second is there before the next call
        sys.stdout.flush()
    elif HOW == "gives numbers":
        say("result", id=number, payload=[109, 97])
    elif HOW == "gives no payload":
        say("result", id=number)
    elif HOW == "gives no base64":
        say("result", id=number, payload="made up")
    elif HOW == "adds a field":
        say("result", id=number, payload=content, seconds=1)
    elif HOW == "says an unknown word":
        say("done", id=number)
    elif HOW == "writes a log":
        print("reading \x1b[1mweights\x1b[0m", flush=True)
    elif HOW == "writes other bytes":
        os.write(1, b"\xff\xfe\n")
    elif HOW == "nests":
        print("[" * 100_000, flush=True)
    elif HOW == "calls back unasked":
        say("callback", id=number, name="weights.bin")
    elif HOW == "errs with OK":
        say("error", id=number, code=0, text="all is well")
    elif HOW == "floods":
        while True:
            os.write(1, b"tick\n" * 1000)
    elif HOW == "never ends a line":
        while True:
            os.write(1, b"tick" * 10_000)
    elif HOW == "floods its errors":
        for _ in range(40):
            os.write(2, b"a warning that nobody reads\n" * 1000)
        say(**answered(call))
    elif HOW == "leaves a child":
        if os.fork() == 0:
            sys.stdin.read()
        os._exit(3)
    elif HOW == "leaves a child for good":
        if os.fork() == 0:
            time.sleep(FOREVER)
        os._exit(3)
    elif HOW == "skips":
        say("skip", id=number, reason="no file is mounted here")
    else:
        say(**answered(call))


def main() -> None:
    if HOW == "reserves addresses":
        mmap.mmap(-1, 1 << 36, mmap.MAP_PRIVATE, 0)
    if HOW == "says something first":
        print("Loading the loader…", flush=True)
    if HOW == "never says hello":
        time.sleep(FOREVER)
    if HOW == "cannot work":
        say("error", text="the device is in use")
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["message"] == "hello":
            say("hello", protocol=2 if HOW == "speaks another version" else 1)
        elif asked["message"] == "describe":
            can = [] if HOW == "has no operation" else ["read"] if HOW == "only reads" else ["read", "write"]
            unsupported = {"callbacks": "not yet"} if HOW != "supports too much" else {"colours": "not yet"}
            say("describe", target=f"a program that {HOW}", can=can, unsupported=unsupported)
        elif asked["message"] == "call":
            right = None if ALWAYS else answered(asked)
            if right is None or right["message"] == "error":
                misbehave(asked)
            else:
                say(**right)
        else:
            break
    if HOW == "stays after its bye":
        say("bye")
        time.sleep(FOREVER)
    if HOW != "says no bye":
        say("bye")
    sys.exit(5 if HOW == "fails in the end" else 0)


if __name__ == "__main__":
    main()
