"""Whatever a name, a path, a reason or a target holds: each format says it, escaped, and nothing of it becomes markup."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace
from tests.report.runs import HEAD, finding, line, run

from epctx.case import name_of, visible
from epctx.report import jsonl
from epctx.report.comparison import compare
from epctx.report.junit import junit
from epctx.report.markdown import comparison, markdown
from epctx.report.record import Run
from epctx.report.sarif import sarif

SPECIAL = "`|<>&\"'[](){}*_#~@!$\\:./-=+\t\n\r\0\x1b\x7f\x85\u2028\u202e\u2066\ufeff\ufffeäあ😀"
HOSTILE = st.text(st.one_of(st.sampled_from(SPECIAL), st.characters(exclude_categories=["Cs"])), min_size=1, max_size=40)
ARGUMENT = st.text(st.one_of(st.sampled_from(SPECIAL), st.sampled_from("\udc80\udcff")), min_size=1, max_size=20)
"""A word of a command line, whose bytes need not be UTF-8."""
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
OWN_TAGS = {"<details>", "</details>", "<summary>", "</summary>", "<code>", "</code>"}
BREAKS = [
    "]]>&<b>",
    "a\n\n```\n# x\n<img src=x onerror=y>",
    "x`y|z",
    "{0} [a](http://b) http://c @d www.e",
    "--> \u202e\0\x1b[31m",
]


def whole(text: str, word: str) -> Run:
    lines = [
        line("links/bad", finding("contain.parent", text, file=visible(text)), name=name_of(text.encode())),
        line("links/known", finding("contain.parent", text), known={"contain.parent": text}),
        line("links/noted", finding("write.atomic", text, fails=False)),
        line("links/skipped", result="skip", reason=text),
        line("links/lost", result="error", reason=text),
    ]
    head = replace(HEAD, target=f"lib:{word}", skipped={"names/left-out": word}, baselines=(word,), source=word)
    return run(*lines, head=head)


def printable(text: str) -> bool:
    return all(one.isprintable() for one in text.split("\n"))


@given(HOSTILE, ARGUMENT)
@example(BREAKS[0], "x")
@example(BREAKS[1], "\udcff")
@example(BREAKS[2], "|")
@example(BREAKS[3], "`")
@example(BREAKS[4], "<i>")
@settings(max_examples=60, deadline=None)
def test_every_format_survives(text: str, word: str) -> None:
    made = whole(text, word)
    xml = junit(made)
    root = ElementTree.fromstring(xml)
    assert printable(xml)
    assert visible(text) in "".join(root.itertext())

    document = json.loads(sarif(made))
    assert all(map(printable, _texts(document)))
    messages = "".join(result["message"]["text"] for result in document["runs"][0]["results"])
    assert visible(text) in messages.replace("\\](", "](").replace("{{", "{").replace("}}", "}")

    for summary in (markdown(made), comparison(compare(made, whole("x", word)))):
        assert printable(summary)
        _only_our_markup(summary)
    assert MARKDOWN.render(markdown(made)).count("<tr>") == 2

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        with jsonl.JsonLines(path) as saved:
            saved.write(made.header)
            for one in made.lines:
                saved.write(one)
            saved.write(made.footer)
        back = jsonl.read(path)
    assert list(back.lines) == list(made.lines)
    assert back.header.target == made.header.target.encode("utf-8", "backslashreplace").decode()


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(text for one in value.values() for text in _texts(one))]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    return [value] if isinstance(value, str) else []


def _only_our_markup(summary: str) -> None:
    for block in MARKDOWN.parse(summary):
        for token in (block, *(block.children or ())):
            assert token.type not in ("link_open", "image", "em_open", "strong_open", "s_open", "hr", "blockquote_open")
            if token.type in ("html_block", "html_inline"):
                assert set(re.findall(r"<[^>]*>?", token.content)) <= OWN_TAGS
