"""Settings: what a project says once about its target and how that is judged, in ``epctx.toml`` or ``[tool.epctx]`` of
``pyproject.toml``.

The keys are the long names of the options of ``epctx check``, and ``target``. The file is read, checked, and refused in one
sentence. It is part of a project, and so says nothing that is a matter of who runs it: it can neither switch the box off nor have
anything written outside its own directory.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_args, get_type_hints

import msgspec
from msgspec import Meta

from epctx.case import Sanitizer, Struct
from epctx.case_file import MAX_FILE, contents
from epctx.errors import UsageError
from epctx.oracle import PROFILES, stances
from epctx.target.spec import relocated

FOUND, PYPROJECT = "epctx.toml", "pyproject.toml"
"""The files that are looked for in the working directory; of the second it is the table ``[tool.epctx]``."""

JOBS, PATIENCE = 256, 600
"""At most so many workers, and so many seconds."""

REFUSED = {
    "unboxed": "whether the target is boxed is up to whoever runs it, not to a file of a project; give --unboxed by hand",
    "config": "a settings file does not lead to another one; give --config by hand",
}
"""Options that are no keys, and why."""

Several: TypeAlias = str | list[str]
"""One text, or a list of them."""


def _about(description: str, form: str, **limits: Any) -> Meta:
    """What a key is for, and, in a sentence that says what it must be, its form."""
    return Meta(description=description, extra={"form": form}, **limits)


class Settings(Struct, frozen=True):
    """What a settings file says; a key that it leaves out is None. Paths are as the working directory has them."""

    target: Annotated[
        str | None, _about("The target, by its name as `epctx check` takes it.", "a text, such as 'header:my.h'")
    ] = None
    profile: Annotated[
        str | None,
        _about("Which rules must hold.", f"one of {', '.join(PROFILES)}", extra_json_schema={"enum": list(PROFILES)}),
    ] = None
    policy: Annotated[
        dict[str, str] | None,
        _about(
            "How rules that loaders differ on are judged: accept, refuse or report.",
            "a table of rules in quotes and what is done, such as \"contain.hard-link\" = 'refuse'",
        ),
    ] = None
    baseline: Annotated[Several | None, _about("Files of known findings.", "the path of a file, or a list of them")] = None
    only: Annotated[
        Several | None,
        _about("Run only cases whose id matches, and the controls.", "a glob such as 'links/*', or a list of them"),
    ] = None
    skip: Annotated[
        dict[str, Annotated[str, Meta(pattern=r"\S")]] | None,
        _about(
            "Cases that do not run: globs, each with the reason.", "a table of globs and reasons, such as 'links/*' = 'ticket 12'"
        ),
    ] = None
    cases: Annotated[
        Several | None,
        _about("Run the cases of these files and folders, and the controls.", "the path of a file, or a list of them"),
    ] = None
    jobs: Annotated[
        Annotated[int, Meta(ge=1, le=JOBS)] | None, _about("Workers that run cases at once.", f"a number from 1 to {JOBS}")
    ] = None
    patience: Annotated[
        Annotated[float, Meta(gt=0, le=PATIENCE)] | None,
        _about("Seconds that each call may take at least, for a target that is slow.", f"a number of seconds up to {PATIENCE}"),
    ] = None
    sanitize: Annotated[
        Sanitizer | None,
        _about("The sanitizer that driver and target are built for.", f"one of {', '.join(get_args(Sanitizer))}"),
    ] = None
    report: Annotated[
        Several | None, _about("Reports to write, as FORMAT:FILE.", "a text such as 'sarif:epctx.sarif', or a list of them")
    ] = None
    source: Annotated[
        str | None, _about("The file that findings are about, as FILE or FILE:LINE.", "the path of a file, and :LINE after it")
    ] = None
    json: Annotated[str | None, _about("Save the run in this file, as JSON lines.", "the path of a file")] = None

    def options(self) -> dict[str, str | int | float | list[str]]:
        """What is said, by the long name of the option, as the command line takes it."""
        said = {key: value for key in self.__struct_fields__ if (value := getattr(self, key)) is not None}
        said |= {key: several(said[key]) for key in ("baseline", "only", "cases", "report") if key in said}
        if self.policy is not None:
            said["policy"] = [f"{rule}={stance}" for rule, stance in self.policy.items()]
        if self.skip is not None:
            said["skip"] = [f"{glob}: {reason}" for glob, reason in self.skip.items()]
        return said


class SettingsFile(Struct, frozen=True):
    """Settings, and the path of the file that they were read from."""

    path: str
    settings: Settings


def find(directory: Path) -> SettingsFile | None:
    """Read the settings of a project by its directory; None if it has none, UsageError if they are wrong, or there twice."""
    own, shared = directory / FOUND, directory / PYPROJECT
    text = shared.read_bytes() if shared.is_file() else b""
    table = _table(text, str(shared)) if b"epctx" in text else None
    if os.path.lexists(own):
        if table is not None:
            raise UsageError(f"There are settings in {own} and in [tool.epctx] of {shared}; keep one of them.")
        return read(own)
    return None if table is None else _checked(table, text.decode(), shared)


def read(path: Path) -> SettingsFile:
    """Read a settings file, or the table in a ``pyproject.toml``; UsageError for whatever is wrong with it."""
    data = contents(str(path))
    if len(data) > MAX_FILE:
        raise UsageError(f"{path}: larger than {MAX_FILE >> 20} MiB, which no settings need.")
    table = _table(data, str(path))
    if table is None:
        raise UsageError(f"{path}: there is no table [tool.epctx] in it.")
    return _checked(table, data.decode(), path)


def schema() -> dict[str, Any]:
    """The JSON Schema of a settings file, for editors."""
    (made,), components = msgspec.json.schema_components([Settings], ref_template="#/$defs/{name}")
    own = components.pop("Settings")
    assert not components, made
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **own, "title": f"{FOUND} of epctx"}


def _table(data: bytes, path: str) -> Mapping[str, Any] | None:
    """The table with the settings in a TOML file, None if there is none."""
    try:
        whole = tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start} is not UTF-8, which TOML must be.") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not TOML: {error}.") from None
    if os.path.basename(path) != PYPROJECT:
        return whole
    tool = whole.get("tool")
    table = tool.get("epctx") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise UsageError(f"{path}: tool.epctx must be a table.")
    return table


def _checked(table: Mapping[str, Any], text: str, path: Path) -> SettingsFile:
    """The settings of a table, each of the right type and among the words that there are, paths seen from here."""
    hints = get_type_hints(Settings, include_extras=True)
    values: dict[str, Any] = {}
    for key, written in table.items():
        where = _where(path, text, key)
        if key not in hints:
            raise UsageError(f"{where}: {_unknown(key, list(hints))}")
        try:
            values[key] = msgspec.convert(written, hints[key])
        except msgspec.ValidationError:
            raise UsageError(f"{where}: {key} must be {hints[key].__metadata__[0].extra['form']}.") from None
        if key == "profile" and written not in PROFILES:
            near = get_close_matches(written, PROFILES, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(PROFILES)}."
            raise UsageError(f"{where}: there is no profile {written!r}; {hint}")
        if key == "policy":
            try:
                stances(tuple(f"{rule}={stance}" for rule, stance in written.items()))
            except UsageError as error:
                raise UsageError(f"{where}: {error}") from None
    return SettingsFile(str(path), msgspec.convert(_from_here(values, text, path), Settings))


def _unknown(key: str, keys: list[str]) -> str:
    if key in REFUSED:
        return f"{key} is no setting: {REFUSED[key]}."
    near = get_close_matches(key, keys, 1)
    return f"there is no key {key!r}; " + (f"did you mean {near[0]!r}?" if near else f"there are {', '.join(keys)}.")


def _from_here(values: dict[str, Any], text: str, path: Path) -> dict[str, Any]:
    """The values with paths, which the file has relative to its own directory, as the working directory has them."""
    directory = path.parent
    moved = dict(values)
    if "target" in values:
        moved["target"] = relocated(values["target"], directory)
    for key in ("baseline", "cases"):
        if key in values:
            moved[key] = [str(directory / name) for name in several(values[key])]
    if "source" in values:
        moved["source"] = str(directory / values["source"])
    if "json" in values:
        moved["json"] = _inside(values["json"], directory, _where(path, text, "json"))
    if "report" in values:
        where = _where(path, text, "report")
        parts = [report.partition(":") for report in several(values["report"])]
        moved["report"] = [f"{form}{colon}{name and _inside(name, directory, where)}" for form, colon, name in parts]
    return moved


def _inside(name: str, directory: Path, where: str) -> str:
    """The path of a file to write, which must lie in the directory of the settings, wherever links lead."""
    if not (directory / name).resolve().is_relative_to(directory.resolve()):
        raise UsageError(f"{where}: {name} is outside the directory of this file; name a file in it, or give the option by hand.")
    return str(directory / name)


def several(value: Several | None) -> list[str]:
    """One text or a list of them as a list; none as an empty one."""
    if value is None:
        return []
    return [value] if isinstance(value, str) else value


def _where(path: Path, text: str, key: str) -> str:
    """The file, and the line in which a key of the settings is first given, if that can be told."""
    start = text.find("tool.epctx") if path.name == PYPROJECT else 0
    quoted = re.escape(key)
    given = re.compile(rf"^[ \t]*(?:\[(?:tool\.epctx\.)?)?[\"']?{quoted}[\"']?\s*[=.\]]", re.MULTILINE)
    found = given.search(text, max(start, 0))
    return f"{path}:{text.count(chr(10), 0, found.start()) + 1}" if found else str(path)
