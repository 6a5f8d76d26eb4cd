"""The HTML page as a file: what it says without a script, what is in it, and that nothing in a run can get out of its place."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from msgspec.structs import replace
from tests.report import made

from epctx.case import Case
from epctx.report.comparison import compare
from epctx.report.page import comparison, page
from epctx.report.record import Run

FAILING = made.line(made.case("links/a"), made.leaking())
HELD = made.line(made.case("links/b"), made.REFUSED)
HOSTILE = "</script><script>alert(1)</script><!-- \u202e\x1b[2J'\" & <img src=x onerror=alert(1)>"


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the text of each by its id."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(dict(attrs).get("id") or tag)

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[self._open[-1]] = self.texts.get(self._open[-1], "") + data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def test_what_it_says_without_a_script() -> None:
    text = page(made.run([FAILING, HELD, made.line(made.case("types/c"), skipped="no device here")]))
    assert "weak:S7 does not hold</h1>" in text
    assert "1 of 2 cases breaks rules of profile spec." in text
    assert "A symbolic link inside that resolves outside is refused, on read and on write." in text
    assert "it was accepted with 96 bytes, the content of outside/secret.bin" in text
    assert "no device here" in text
    assert "namespaces: a box" in text


@pytest.mark.parametrize(
    ("run", "claim"),
    [
        (made.run([HELD]), "weak:S7 holds"),
        (made.run([]), "no verdict on weak:S7"),
        (
            made.run([replace(FAILING, known=dict.fromkeys(("contain.symlink-file", "safe.no-outside-read"), "old"))]),
            "does not hold, but",
        ),
    ],
)
def test_the_verdict_comes_first(run: Run, claim: str) -> None:
    heading = re.search(r"<h1 id=\"claim\">(.*?)</h1>", page(run))
    assert heading
    assert claim in heading[1]


def test_nothing_in_it_comes_from_elsewhere() -> None:
    elements = Elements(page(made.run([FAILING])))
    for _, attributes in elements.tags:
        for name, value in attributes.items():
            if name in ("src", "href", "action", "poster", "srcset", "data"):
                assert value is not None
                assert value.startswith(("#", "data:"))
    assert "url(" not in elements.texts["style"]
    assert "@import" not in elements.texts["style"]


def test_the_policy_lets_only_its_own_script_and_style_run() -> None:
    elements = Elements(page(made.run([FAILING])))
    policy = next(meta["content"] for meta in elements.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert allowed["default-src"] == "'none'"
    assert "unsafe" not in policy
    text = page(made.run([FAILING]))
    for element, directive in (("style", "style-src"), ("script", "script-src"), ('script type="module"', "script-src")):
        body = re.search(rf"<{element}>(.*?)</", text, re.DOTALL)
        assert body
        found = base64.b64encode(hashlib.sha256(body[1].encode()).digest()).decode()
        assert f"'sha256-{found}'" in allowed[directive]


def hostile(case: Case) -> Run:
    seen = replace(made.leaking(), message=HOSTILE, leaks=(HOSTILE,), reads=(HOSTILE,))
    broken = made.line(case, seen, known={"contain.symlink-file": HOSTILE})
    skipped, lost = made.line(made.case("types/skipped"), skipped=HOSTILE), made.line(made.case("types/lost"), error=HOSTILE)
    return made.run([broken, skipped, lost], target=HOSTILE, box=HOSTILE, notes=(HOSTILE,), files=(HOSTILE,))


def pages_with_hostile_texts() -> Iterator[str]:
    case = made.case(f"links/{HOSTILE}", HOSTILE, HOSTILE)
    bad, good = hostile(case), made.run([made.line(case, made.REFUSED)], target=HOSTILE)
    yield page(bad)
    yield comparison(compare(bad, good))
    yield comparison(compare(good, bad))


@pytest.mark.parametrize("text", [*pages_with_hostile_texts()], ids=("run", "better", "worse"))
def test_hostile_texts_stay_texts(text: str) -> None:
    elements = Elements(text)
    assert [script.get("type") for script in elements.all("script")] == [None, "application/json", "application/json", "module"]
    assert not elements.all("img")
    assert not any(character in text for character in "\u202e\x1b")
    assert HOSTILE in json.loads(elements.texts["index"])["texts"]


def test_the_data_is_compact() -> None:
    """A finding costs what is its own: its texts that others have, too, are there once."""
    one, many = (
        len(page(made.run([made.line(made.case(f"links/{n}"), made.leaking()) for n in range(count)]))) for count in (1, 1001)
    )
    assert (many - one) / 1000 < 2000


def opened(text: str, line: int = 0) -> Any:
    return json.loads(Elements(text).texts["details"].split("\n")[line])


def test_the_world_has_the_expected_and_the_touched_file_marked() -> None:
    good = made.case("links/good", "good.bin")
    found = opened(page(made.run([made.line(good, made.leaking())])))
    (side,) = found["sides"]
    branches = {branch[1]: branch for branch in side["tree"]}
    assert list(branches) == ["{root}", "model/", "good.bin", "link", "model.onnx", "outside/", "secret.bin"]
    assert branches["good.bin"][5] == [["expected", "expected"]]
    assert branches["secret.bin"][5] == [["bad", "opened"], ["bad", "bytes leaked"]]
    assert [name for name, branch in branches.items() if branch[4]] == ["model/", "good.bin", "link", "model.onnx"]
    assert side["again"] == "epctx replay links/good weak:S7"


def test_the_timeline_has_calls_callbacks_and_events_with_their_times() -> None:
    case, seen = made.asked()
    (side,) = opened(page(made.run([made.line(case, seen)])))["sides"]
    start, back, end = side["calls"][0][0]
    assert start == ["call 1", "read engine.bin", 0.0, None]
    assert back[0] == "callback"
    assert back[1].startswith("read other.bin, 32 bytes, registration 1, thread 1")
    assert back[2:] == pytest.approx([20, 80])
    assert end == ["end", "returned, code 0", pytest.approx(100), None]


def test_a_comparison_has_what_both_runs_saw() -> None:
    text = comparison(compare(made.run([made.line(FAILING.case, made.REFUSED)], target="weak:before"), made.run([FAILING])))
    assert "It got worse: 2 new findings</h1>" in text
    before, after = opened(text)["sides"]
    assert (before["result"], after["result"]) == ("pass", "fail")
    assert "weak:before" in before["again"]
    better = comparison(compare(made.run([FAILING]), made.run([made.line(FAILING.case, made.REFUSED)])))
    assert "Nothing got worse</h1>" in better
