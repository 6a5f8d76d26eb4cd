"""Case files: cases as JSON, one in a ``.json`` file or one on each line of a ``.jsonl`` file.

Case files are untrusted. Whatever is wrong with one, the answer is a ``CaseError`` of one sentence that says what is wrong,
where, and what would be right; nothing is created, and no size that a file claims is believed before it was checked.
"""

from __future__ import annotations

import codecs
import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from epctx.case import FORMAT, Case, shown
from epctx.case_check import validate
from epctx.errors import CaseError

__all__ = ["MAX_FILE", "contents", "dumps", "files", "loads", "read", "schema", "validate", "write"]

MAX_FILE = 16 << 20
"""Largest case file that is read, in bytes."""


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    """The first line of a file of many cases."""

    epctx: int
    family: str = ""


class _Version(msgspec.Struct):
    """The part of a case that is looked at first, since another version may have other fields."""

    epctx: int | None = None


_Document = msgspec.defstruct("_Document", [("epctx", int, FORMAT)], bases=(Case,), frozen=True)
"""A case in a file of its own, which carries the version of the format."""

_case = msgspec.json.Decoder(_Document)
_version = msgspec.json.Decoder(_Version)
_header = msgspec.json.Decoder(_Header)


def dumps(case: Case) -> str:
    """A case as one line of JSON, its keys in the order of the struct, what is as by default left out."""
    return msgspec.json.encode(case).decode()


def loads(text: str | bytes, where: str = "case") -> Case:
    """The case that ``text`` holds, validated. ``where`` leads the sentence of the ``CaseError`` that is raised otherwise."""
    data = _bytes(text, where)
    try:
        _check_version(_version.decode(data).epctx, where)
        document = _case.decode(data)
        json.loads(data, object_pairs_hook=_unique)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise CaseError(_sentence(data, error, where)) from None
    case = Case(*(getattr(document, field) for field in Case.__struct_fields__))
    validate(case, where)
    return case


def read(path: str | os.PathLike[str]) -> list[Case]:
    """All cases of a ``.json`` file (one) or a ``.jsonl`` file (one a line, after an optional header), validated.

    Raises CaseError, also for a file that cannot be read, is too large, or holds an id twice.
    """
    name = str(path)
    data = contents(name)
    if name.endswith(".json"):
        return [loads(data, name)]
    if not name.endswith(".jsonl"):
        raise CaseError(f"{name}: a case file is called .json (one case) or .jsonl (one on each line)")
    lines = _text(data, name).split("\n")
    family, cases, seen = "", [], dict[str, int]()
    for number, line in enumerate(lines, 1):
        where = f"{name}:{number}"
        if not line.strip():
            continue
        if number == 1 and (header := _head(line, where)) is not None:
            family = header.family
            continue
        case = loads(line, where)
        if family and case.family != family:
            raise CaseError(f"{where}: the case {case.id} is not of the family {family} that the header names")
        if (first := seen.setdefault(case.id, number)) != number:
            raise CaseError(f"{where}: the id {case.id} is already that of line {first}; an id names one case")
        cases.append(case)
    return cases


def files(path: Path) -> list[Path]:
    """The case files of a folder, by name; a path that is no folder is one of a case file. CaseError for a folder without any."""
    if not path.is_dir():
        return [path]
    try:
        found = sorted(entry for entry in path.iterdir() if entry.suffix in (".json", ".jsonl") and entry.name[0] != ".")
    except OSError as error:
        raise CaseError(f"{path}: cannot be read: {error.strerror}") from None
    if not found:
        raise CaseError(f"{path}: there is no case file in this folder; they are called .json (one case) or .jsonl")
    return found


def write(path: str | os.PathLike[str], cases: Iterable[Case]) -> None:
    """Write cases: a ``.json`` file takes exactly one, indented; a ``.jsonl`` file any number, after a header."""
    kept = list(cases)
    if str(path).endswith(".jsonl"):
        families = {case.family for case in kept}
        header = {"epctx": FORMAT} | ({"family": families.pop()} if len(families) == 1 else {})
        text = "\n".join([json.dumps(header, separators=(",", ":")), *map(dumps, kept)])
    elif len(kept) == 1:
        text = msgspec.json.format(f'{{"epctx":{FORMAT},{dumps(kept[0])[1:]}', indent=2)
    else:
        raise CaseError(f"{path}: a .json file holds one case, not {len(kept)}; use .jsonl")
    Path(path).write_text(text + "\n", encoding="utf-8")


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a case: of a ``.json`` file, or a line of a ``.jsonl`` file."""
    (reference,), definitions = msgspec.json.schema_components([_Document], ref_template="#/$defs/{name}")
    own = definitions.pop("_Document")
    version = {"const": FORMAT, "description": "Version of the case format; may be left out on the lines of a .jsonl file."}
    own["properties"] = {"epctx": version} | {key: value for key, value in own["properties"].items() if key != "epctx"}
    description = (Case.__doc__ or "").strip()
    assert reference == {"$ref": "#/$defs/_Document"}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "epctx case", "description": description}
    whole = head | {key: value for key, value in own.items() if key not in head} | {"$defs": dict(sorted(definitions.items()))}
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(whole))
    return plain


# --- reading carefully ------------------------------------------------------------------------------------------------------


def contents(name: str, most: int | None = MAX_FILE + 1) -> bytes:
    """The bytes of a regular file that a user named, the first ``most`` of them. CaseError if it cannot be read."""
    try:
        # without O_NONBLOCK a FIFO would hold us
        fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise CaseError(f"{name}: this is not a regular file")
            with open(fd, "rb", closefd=False) as file:
                return file.read(most)
        finally:
            os.close(fd)
    except OSError as error:
        raise CaseError(f"{name}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise CaseError(f"{shown(name)}: a file name cannot hold a NUL") from None


def _bytes(text: str | bytes, where: str) -> bytes:
    if isinstance(text, str):
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise CaseError(
                f"{where}: character {error.start} is an unpaired surrogate; write such bytes as a piece in hex"
            ) from None
    else:
        data = text
        _text(data, where)
    if len(data) > MAX_FILE:
        raise CaseError(f"{where}: larger than {MAX_FILE >> 20} MiB, which no case needs; sizes are declared, not spelled out")
    return data


def _text(data: bytes, where: str) -> str:
    if len(data) > MAX_FILE:
        raise CaseError(f"{where}: larger than {MAX_FILE >> 20} MiB, which no case file needs; split it")
    if data.startswith(codecs.BOM_UTF8):
        raise CaseError(f"{where}: starts with a byte order mark, which JSON must not; save it without")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CaseError(f"{where}: line {line}: byte {error.start} is not UTF-8; write such bytes as a piece in hex") from None


def _check_version(version: int | None, where: str) -> None:
    if version is not None and version != FORMAT:
        raise CaseError(f"{where}: the case is of format {version}, and this epctx reads format {FORMAT} only")


def _head(line: str, where: str) -> _Header | None:
    """The header, if the line is one: an object with a version and without the fields of a case."""
    try:
        header = _header.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    _check_version(header.epctx, where)
    return header


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        raise _DoubledKey(f"the key {double[:60]!r} stands twice in one object")
    return out


class _DoubledKey(ValueError):
    """A key is there twice; which one counts would depend on the reader."""


def _sentence(data: bytes, error: Exception, where: str) -> str:
    """What is wrong with a text that could not be decoded."""
    if isinstance(error, RecursionError):
        return f"{where}: nested too deeply for a case"
    if isinstance(error, msgspec.ValidationError):
        what, _, path = str(error).partition(" - at ")
        place = path.strip("`") + ": " if path else ""
        return f"{where}: {place}{what[:1].lower()}{what[1:]}; the schema docs/schema/case.schema.json says what a case holds"
    if isinstance(error, _DoubledKey):
        return f"{where}: {error}; keep one of them"
    try:
        json.loads(data, parse_constant=_no_constant)
    except json.JSONDecodeError as found:
        end = " (cut off?)" if found.msg.startswith("Unterminated") or found.pos >= len(data.rstrip()) - 1 else ""
        return f"{where}: line {found.lineno}, column {found.colno}: not JSON: {found.msg[:1].lower()}{found.msg[1:]}{end}"
    except RecursionError:
        return f"{where}: nested too deeply for a case"
    except ValueError as found:
        return f"{where}: {found}"
    return f"{where}: a string holds an unpaired surrogate; write such bytes as a piece in hex"


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")
