"""For each rule a weak form and the right one, as code: what a weak target does, and in place of what.

Nothing is copied: the code is cut out of the sources of the weak targets and of the reference helper, which are compiled and
tested. A definition is found by its name, as clang-format leaves it: it begins at the left and ends with a brace there.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Literal

from epctx.case import Struct
from epctx.errors import HarnessError
from epctx.target.build import NATIVE
from epctx.target.weakness import Weakness, weaknesses

HELPER, NODES = "reference/ep_context_data.h", "reference/ep_context_node.h"

REPLACED = {
    "read": (HELPER, "ReadEpContextData"),
    "write": (HELPER, "WriteEpContextDataWithFileFallback"),
    "load": (NODES, "ReadEpContextNodes"),
    "move": (HELPER, "EpContextData"),
    "delete_output": (HELPER, "EpContextData"),
}
"""What stands in the reference helper for each function that a weak target may replace as a whole."""


class Code(Struct, frozen=True):
    """Some lines of a source file, whose path in the harness is ``file``."""

    file: str
    language: Literal["cpp", "python"]
    text: str


class Example(Struct, frozen=True):
    """How a weak target breaks a rule, and how the reference does it.

    Where nothing is ``right`` the weak form is a condition within the right one, and to be left out.
    """

    weakness: Weakness
    weak: tuple[Code, ...]
    right: tuple[Code, ...]


def example(rule: str) -> Example | None:
    """The example for a rule: of the weak targets that must break it the one with the least beside; None if there is none."""
    breaking = [w for w in weaknesses() if rule in w.breaks]
    if not breaking:
        return None
    return example_of(min(breaking, key=lambda w: (w.of != "helper", len(w.breaks), len(w.follows))))


@functools.cache
def example_of(weakness: Weakness) -> Example:
    """What is weak in this target, and what is right in its place.

    Raises:
        HarnessError: the sources do not have it any more in the form in which it is looked for.
    """
    weak, right = {"helper": _helper, "ep": _provider, "loader": _loader}[weakness.of](weakness)
    named = [_cut(HELPER if _definition(_source(HELPER), name) else NODES, name) for name in weakness.right]
    return Example(weakness, weak, tuple(named) or right)


# --- the helper -------------------------------------------------------------------------------------------------------------


def _helper(weakness: Weakness) -> tuple[tuple[Code, ...], tuple[Code, ...]]:
    opening = f'  table["{weakness.name}"] = '
    file = next((f for f in _files("weak") if f"\n{opening}" in _source(f)), None)
    if file is None:
        raise HarnessError(f"no source of the weak targets has the entry {weakness.name}")
    text = _source(file)
    entry = _statement(text, opening)
    fault = re.search(r"Faults::(\w+)", entry)
    used = [d for d in _definitions(text) if re.search(rf"g_faults\.{fault[1]}\b", d)] if fault else _used(text, entry)
    weak = Code(f"epctx/native/{file}", "cpp", "\n\n".join((*used, inspect.cleandoc("\n" + entry))))
    return (weak,), () if fault else tuple(_replaced(weak.text))


def _used(text: str, entry: str) -> Iterator[str]:
    """The definitions that an entry of the table uses, and those that they use and nothing else does."""
    named = {name: code for code in _definitions(text) for name in [_name(code)] if not name.startswith("Add")}
    entries = re.findall(r'^  table\["[^"]+"\] = .*?(?=^  table\[|^\})', text, re.MULTILINE | re.DOTALL)

    def uses(code: str) -> list[str]:
        return [name for name in named if re.search(rf"\b{name}\b", code)]

    direct = uses(entry)
    shared = {name for other in entries if not other.startswith(entry) for name in uses(other)}
    others = {name for known, code in named.items() if known not in direct for name in uses(code) if name != known}
    behind = {name for known in direct for name in uses(named[known])} - shared - others
    return (named[name] for name in named if name in behind or name in direct)


def _replaced(weak: str) -> Iterator[Code]:
    """The right forms of what a weak form replaces."""
    for member in dict.fromkeys(re.findall(r"\.defences\.(\w+) = ", weak)):
        found = re.search(rf"(?:^  //.*\n)*^  .*\b{member}\)?(?:\(.*\))? = ([\w:]+).*;$", _source(HELPER), re.MULTILINE)
        if found is None:
            raise HarnessError(f"the reference helper has no defence {member}")
        right = found[1].replace("native::", "linux_files::")
        if _definition(_source(HELPER), right):
            yield _cut(HELPER, right)
        else:
            yield Code(f"epctx/native/{HELPER}", "cpp", inspect.cleandoc("\n" + found[0]))
    for member in dict.fromkeys(re.findall(r"\b(?:b|behaviour)\.(read|write|load|move|delete_output) = ", weak)):
        yield _cut(*REPLACED[member])


# --- the execution provider, and the loader ---------------------------------------------------------------------------------


def _provider(weakness: Weakness) -> tuple[tuple[Code, ...], tuple[Code, ...]]:
    flaw = re.search(rf'"{weakness.name}", +(Flaw::\w+)', _source("ep/settings.cc"))
    if flaw is None:
        raise HarnessError(f"the bundled execution provider has no flaw {weakness.name}")
    found = [d for d in _definitions(_source("ep/ep.cc")) if re.search(rf"\b{flaw[1]}\b", d)]
    return (Code("epctx/native/ep/ep.cc", "cpp", "\n\n".join(map(functools.partial(_around, flaw[1]), found))),), ()


def _around(flaw: str, definition: str) -> str:
    """The part of a definition that is about a flaw: the statements that name it, and the first line."""
    lines = definition.splitlines()
    head = next(i for i, line in enumerate(lines) if line.endswith("{"))
    kept = {*range(head + 1), len(lines) - 1}
    for number, line in enumerate(lines):
        if flaw in line:
            kept.update(range(max(number - 2, 0), min(number + 4, len(lines))))
    shown = []
    for number, line in enumerate(lines):
        if number in kept:
            shown.append(line)
        elif shown[-1] != "  // ...":
            shown.append("  // ...")
    return "\n".join(shown)


def _loader(weakness: Weakness) -> tuple[tuple[Code, ...], tuple[Code, ...]]:
    bundled = _bundled_loader()
    weak: type = bundled.WEAK[weakness.name]
    good: type = bundled.BundledLoader
    changed = [name for kind in weak.__mro__[: weak.__mro__.index(good)] for name in vars(kind) if name in vars(good)]
    right = [inspect.getsource(vars(good)[name]) for name in dict.fromkeys(changed) if inspect.isfunction(vars(good)[name])]
    file = "epctx_driver/bundled_external.py"
    return (
        (Code(file, "python", inspect.getsource(weak).rstrip()),),
        (Code(file, "python", "\n".join(inspect.cleandoc("\n" + text) + "\n" for text in right).rstrip()),),
    )


def _bundled_loader() -> ModuleType:
    from epctx_driver import bundled_external  # imports onnx, which takes its time

    return bundled_external


# --- sources ----------------------------------------------------------------------------------------------------------------


def _files(folder: str) -> list[str]:
    return sorted(str(path.relative_to(NATIVE)) for path in (NATIVE / folder).glob("*.cc"))


@functools.cache
def _source(file: str) -> str:
    return (NATIVE / file).read_text(encoding="utf-8")


def _statement(text: str, opening: str) -> str:
    """The statement that begins so, to the semicolon where all braces are closed."""
    rest = text[text.index(f"\n{opening}") + 1 :]
    depth = 0
    for end, character in enumerate(rest):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == ";" and depth == 0:
            return rest[: end + 1]
    raise HarnessError(f"a statement does not end: {opening}")


_HEAD = re.compile(r"^(?:(?:class|struct) (\w+) ?(?:[:{]|final)|(?:[\w:<>,*&\[\]]+ +)*?[*&]?((?:\w+::)?~?\w+)\(.*)")


def _definitions(text: str) -> list[str]:
    """All functions and classes that are defined at the left, with the comments right before them."""
    lines, found = text.splitlines(), []
    number = 0
    while number < len(lines):
        end = _end(lines, number) if _HEAD.match(lines[number]) else None
        if end is None:
            number += 1
            continue
        start = number
        while start > 0 and re.match(r"//(?! ---)|template <| {10}.*>$", lines[start - 1]):
            start -= 1
        found.append("\n".join(lines[start : end + 1]))
        number = end + 1
    return found


def _end(lines: list[str], start: int) -> int | None:
    """The last line of the definition that begins in a line; None where it is only declared, or something else."""
    for number in range(start, len(lines)):
        line = lines[number]
        if number == start or line.startswith(" "):
            if line.endswith("{"):
                return next(n for n in range(number + 1, len(lines)) if lines[n].startswith("}"))
            if line.endswith(("}", "};")):
                return number
            if line.endswith(";"):
                return None
        else:
            return None
    return None


def _name(definition: str) -> str:
    """What a definition is called."""
    heads = (_HEAD.match(line) for line in definition.splitlines() if not line.startswith(("//", "template")))
    return next((head[1] or head[2] for head in heads if head), "")


def _definition(text: str, name: str) -> str | None:
    """The longest definition of that name, which a namespace may come before; None if there is none."""
    namespace, _, plain = name.rpartition("::")
    if namespace:
        text = text[text.rindex(f"\nnamespace {namespace} {{") :]
        text = text[: text.index(f"\n}}  // namespace {namespace}")]
    return max((d for d in _definitions(text) if _name(d) == plain), key=len, default=None)


def _cut(file: str, name: str) -> Code:
    found = _definition(_source(file), name)
    if found is None:
        raise HarnessError(f"{file} does not define {name}")
    return Code(f"epctx/native/{file}", "cpp", found)
