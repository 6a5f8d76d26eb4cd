"""What a C++ header tells of a helper in it: the namespaces in which a function is declared."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from epctx.case_file import MAX_FILE

READ = "ReadEpContextData"
"""The function that each helper has."""
SUFFIXES = (".h", ".hh", ".hpp", ".hxx", ".inc")
LOOKED_AT = 5000
"""So many files of a directory are looked at for headers with that function."""

_WORDS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
    rf"""|(?P<space>\bnamespace\b\s*(?P<name>[A-Za-z_][\w:\s]*?)?\s*{{)|(?P<mark>[{{}}])|(?P<read>\b{READ}\s*\()""",
    re.DOTALL | re.VERBOSE,
)


def namespaces(text: str) -> list[str]:
    """The namespaces in which ``ReadEpContextData`` stands, in the order of the text; "" for one that stands in none."""
    open_: list[str | None] = []
    found: dict[str, None] = {}
    for word in _WORDS.finditer(text):
        if word["space"]:
            open_.append(re.sub(r"\binline\b|\s", "", word["name"] or ""))
        elif word["mark"] == "{":
            open_.append(None)
        elif word["mark"] == "}" and open_:
            open_.pop()
        elif word["read"] and None not in open_:  # a call stands in the body of a function
            found["::".join(filter(None, open_))] = None
    return list(found)


def headers(directory: Path) -> list[Path]:
    """The headers below a directory that have such a function in a namespace, hidden directories apart."""
    return [file for file in _files(directory) if namespaces(contents(file))]


def contents(file: Path) -> str:
    """The text of a header, as far as it is one; OSError."""
    with file.open("rb") as opened:
        return opened.read(MAX_FILE).decode("utf-8", "replace")


def _files(directory: Path) -> Iterator[Path]:
    looked = 0
    for folder, below, names in os.walk(directory):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(names):
            looked += 1
            if looked > LOOKED_AT:
                return
            if name.endswith(SUFFIXES) and (file := Path(folder, name)).is_file():
                yield file
