"""The page put together: a template, a style, scripts and data, all in one file, under a policy that lets nothing else run.

What comes from a run is hostile: it is escaped by the template, or is data that a browser does not take for a script, and
which the scripts write as texts only. The policy is the second lock: only the scripts that are named by their hashes run, and
nothing is loaded from anywhere.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from epctx.case import visible
from epctx.report.comparison import Comparison
from epctx.report.page import index, overview
from epctx.report.page.index import Index
from epctx.report.page.overview import Overview
from epctx.report.record import Run

_ODD = re.compile("[<\x7f-\U0010ffff]")

SCRIPTS = ("dom.js", "data.js", "route.js", "list.js", "finding.js", "main.js")
"""The parts of the script, which make one module together."""


def page(run: Run) -> str:
    """One self-contained HTML page for people: overview, families by rules, every finding with its world."""
    return _rendered(overview.of_run(run), *index.of_run(run.header, run.lines))


def comparison(compared: Comparison) -> str:
    """One self-contained HTML page for people: what got worse and better, each case as both runs saw it."""
    return _rendered(overview.of_comparison(compared), *index.of_comparison(compared))


def _rendered(about: Overview, rows: Index, details: Sequence[bytes]) -> str:
    style, theme, script = _resource("page.css"), _resource("theme.js"), "\n".join(map(_resource, SCRIPTS))
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            overview=about,
            style=Markup(style),
            theme=Markup(theme),
            script=Markup(script),
            style_hash=_hash(style),
            script_hashes=Markup(" ").join((_hash(theme), _hash(script))),
            index=_data([msgspec.json.encode(rows)]),
            details=_data(details),
        )
    )


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("epctx.report.page", "."),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = "{:,}".format
    environment.filters["prose"] = prose
    environment.filters["plural"] = lambda count, noun: f"{count:,} {noun}" + ("" if count == 1 else "s")
    return environment


def _finalized(value: object) -> object:
    """Values as the template prints them: texts without what is not to be seen, or turns others around."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def prose(text: str) -> Markup:
    """A text of ours in which names stand between backticks, as HTML."""
    parts = [Markup("<code>{}</code>" if n % 2 else "{}").format(part) for n, part in enumerate(text.split("`"))]
    return Markup("").join(parts)


@functools.cache
def _resource(name: str) -> str:
    return files("epctx.report.page").joinpath(name).read_text("utf-8")


def _hash(text: str) -> Markup:
    return Markup(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'")


def _data(lines: Iterable[bytes]) -> Markup:
    """Lines of JSON for an element that is not run: what is not ASCII is written out, so that they are what they look like, and
    so is ``<``, without which nothing in them can end the element."""
    return Markup(_ODD.sub(_escaped, b"\n".join(lines).decode()))


def _escaped(found: re.Match[str]) -> str:
    return "\\u003c" if found[0] == "<" else json.dumps(found[0])[1:-1]
