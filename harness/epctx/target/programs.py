"""Programs in any language as targets: the kind ``exec``."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

from msgspec.structs import replace

from epctx.box.root import SYSTEM
from epctx.case import Case, File, content_of
from epctx.errors import UsageError
from epctx.target import adapters
from epctx.target.launch import Launch
from epctx.target.spec import TargetSpec
from epctx_driver.messages import LARGEST_PAYLOAD

ENDLESS = 1 << 40
"""Bytes of a file that no program takes as a whole."""


def program(spec: TargetSpec) -> Launch:
    """exec:COMMAND, a program in any language that speaks JSON in lines (see docs/start/program.md); ?path=DIR is a directory
    that it needs, env=NAME=VALUE something in its environment, chunking=ordered that it writes in pieces"""
    spec.allow("path", "env", "chunking")
    command = _command(spec)
    needed = [_directory(spec, path) for path in spec.options.get("path", ())]
    readable = tuple(dict.fromkeys((*_around(command), *needed)))
    settings = {"command": command, "environment": _environment(spec)}
    return replace(adapters.launch(spec, "program", settings, readable, program=True), source=_source(command))


def obstacle(case: Case) -> str:
    """Why a case cannot be run on a program, whose lines have an end; else nothing."""
    sizes = [content_of(entry).size for entry in case.world.entries if isinstance(entry, File)]
    for call in case.calls:
        contents = (call.payload, *(callback.content for callback in (call.read_callback, call.write_callback) if callback))
        sizes += [content.size for content in contents if content]
    if any(LARGEST_PAYLOAD < size < ENDLESS for size in sizes):
        return f"a line to or from a program has room for {LARGEST_PAYLOAD >> 20} MiB of content"
    return ""


def _command(spec: TargetSpec) -> list[str]:
    """The words of the command: the program's path, and arguments, of which those that name something here are absolute paths."""
    try:
        words = shlex.split(spec.what)
    except ValueError as error:
        raise UsageError(f"Target {spec.text!r} has no command that can be taken apart: {error}.") from None
    if not words:
        raise UsageError(f"Target {spec.text!r} names no program; write exec:COMMAND, as in 'exec:node adapter.js'.")
    found = shutil.which(words[0])
    if found is None:
        where = "is no program that can be run" if os.sep in words[0] else "is not among the programs that are installed (PATH)"
        raise UsageError(f"Target {spec.text!r}: {words[0]} {where}.")
    return [os.path.abspath(found), *map(_argument, words[1:])]


def _argument(word: str) -> str:
    """A word as it is; if it names something in the working directory, which the program is not in, by its absolute path."""
    return word if word.startswith("-") or not word or not os.path.exists(word) else os.path.abspath(word)


def _around(command: list[str]) -> list[str]:
    """The directories that a program certainly needs: its own, that of its environment, and those of its arguments."""
    found = []
    for path in (command[0], os.path.realpath(command[0])):
        folder = os.path.dirname(path)
        home = os.path.dirname(folder)
        found.append(home if os.path.basename(folder) == "bin" and os.path.isdir(f"{home}/lib") else folder)
    for word in command[1:]:
        if os.path.isabs(word) and os.path.exists(word):
            found += [path if os.path.isdir(path) else os.path.dirname(path) for path in (word, os.path.realpath(word))]
    return [path for path in found if path != os.sep and not any(Path(path).is_relative_to(top) for top in SYSTEM)]


def _source(command: list[str]) -> str:
    """The file of its user that the program is, or that its interpreter is given."""
    files = (word for word in (*command[1:], command[0]) if os.path.isabs(word) and os.path.isfile(word))
    return next((file for file in files if not any(Path(file).is_relative_to(top) for top in SYSTEM)), "")


def _directory(spec: TargetSpec, path: str) -> str:
    if not os.path.isdir(path):
        raise UsageError(f"Target {spec.text!r}: there is no directory {path}.")
    return os.path.abspath(path)


def _environment(spec: TargetSpec) -> dict[str, str]:
    """What the program finds in its environment beside what each target does."""
    found = {}
    for setting in spec.options.get("env", ()):
        name, equals, value = setting.partition("=")
        if not name or not equals:
            raise UsageError(f"Target {spec.text!r}: {setting!r} sets nothing; write env=NAME=VALUE.")
        found[name] = value
    return found
