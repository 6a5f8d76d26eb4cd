"""The HTML page as a reader has it: in a headless Chromium, opened from a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from tests.browser.conftest import Reader
from tests.report import made

from epctx.case import Piece
from epctx.report.comparison import compare
from epctx.report.page import comparison, page
from epctx.report.record import Line, Run

if TYPE_CHECKING:
    from playwright.sync_api import Page

KNOWN = {"contain.symlink-file": "we know"}


def lines() -> list[Line]:
    return [
        *(made.line(made.case(f"links/leak[{n}]"), made.leaking(), known=KNOWN if n == 1 else {}) for n in range(30)),
        made.line(*made.asked()),
        made.line(made.case("traversal/up", summary="A name that climbs."), made.leaking()),
        *(made.line(made.case(f"names/good[{n}]"), made.REFUSED) for n in range(5)),
        made.line(made.case("types/device"), skipped="no device here"),
    ]


RUN = made.run(lines())
REPORT = page(RUN)
LEAK = "#contain.symlink-file/links/leak[3]"


def rows(shown: Page) -> list[str]:
    return list(shown.locator("#list .case code").all_inner_texts())


def count(shown: Page, text: str) -> None:
    shown.locator("#count", has_text=re.compile(f"^{re.escape(text)}$")).wait_for()


def focused(shown: Page) -> str:
    return str(shown.evaluate("document.activeElement.id || document.activeElement.innerText"))


def test_it_opens_from_a_file_and_says_the_verdict_first(reader: Reader) -> None:
    shown = reader.open(REPORT)
    assert shown.locator("h1").inner_text() == "weak:S7 does not hold"
    assert shown.title() == "weak:S7 does not hold · epctx"
    assert shown.locator(".counts li").all_inner_texts() == ["32\nfail", "5\npass", "1\nskip"]
    count(shown, "64 findings in 32 cases, 4 rules")
    assert reader.asked


def test_a_search_narrows_the_list_and_stays_in_the_address(reader: Reader) -> None:
    shown = reader.open(REPORT)
    shown.fill("#filter-text", "CLIMBS symlink-file")
    count(shown, "1 finding in 1 case, 1 rule")
    assert rows(shown) == ["traversal/up"]
    assert shown.url.endswith("#?text=CLIMBS+symlink-file")
    shown.reload()
    count(shown, "1 finding in 1 case, 1 rule")
    assert shown.input_value("#filter-text") == "CLIMBS symlink-file"
    shown.fill("#filter-text", "nothing like this")
    count(shown, "0 findings in 0 cases, 0 rules")
    shown.get_by_role("link", name="Clear the filters").click()
    count(shown, "64 findings in 32 cases, 4 rules")


def test_filters_go_together(reader: Reader) -> None:
    shown = reader.open(REPORT)
    shown.select_option("#filter-family", "links")
    count(shown, "60 findings in 30 cases, 2 rules")
    shown.select_option("#filter-rule", "contain.symlink-file")
    count(shown, "30 findings in 30 cases, 1 rule")
    shown.check("#filter-new")
    count(shown, "29 findings in 29 cases, 1 rule")
    assert shown.url.endswith("#?family=links&rule=contain.symlink-file&new=1")
    shown.click("#clear")
    shown.select_option("#filter-severity", "high")
    count(shown, "1 finding in 1 case, 1 rule")
    shown.click("#clear")
    shown.select_option("#filter-show", "skip")
    count(shown, "1 case")
    assert shown.locator("#list .about").all_inner_texts() == ["no device here"]


def test_a_group_gives_more_when_it_is_asked_to(reader: Reader) -> None:
    shown = reader.open(REPORT, "#?rule=contain.symlink-file")
    count(shown, "31 findings in 31 cases, 1 rule")
    before = shown.locator("#list .case").count()
    assert before < 31
    shown.get_by_role("button", name="Show 19 more of 31").click()
    assert shown.locator("#list .case").count() == 31
    assert "links/leak[12]" in focused(shown)


def test_a_cell_of_the_matrix_leads_to_its_findings(reader: Reader) -> None:
    shown = reader.open(REPORT)
    cell = shown.get_by_role("row", name="contain.symlink-file").get_by_role("link").first
    assert cell.inner_text().split() == ["◆", "30", "break", "it", "(critical)"]
    cell.click()
    count(shown, "30 findings in 30 cases, 1 rule")
    assert not shown.get_by_role("row", name="own.adopts").locator(".held").count()


@pytest.mark.parametrize("place", [LEAK, "#contain.symlink-file/links/leak%5B3%5D"])
def test_a_link_leads_to_a_finding(reader: Reader, place: str) -> None:
    shown = reader.open(REPORT, place)
    assert shown.locator("#case h1").inner_text() == "links/leak[3]"
    assert not shown.locator("#report").is_visible()
    assert shown.title() == "links/leak[3] · weak:S7 does not hold · epctx"
    evidence = shown.locator(".evidence").inner_text()
    assert "refused with code 2" in evidence
    assert "it was accepted with 96 bytes, the content of outside/secret.bin" in evidence
    touched = shown.locator(".entry.bad")
    assert touched.locator("code").inner_text() == "secret.bin"
    assert touched.locator(".mark").all_inner_texts() == ["opened", "bytes leaked"]
    assert shown.locator("li.inside > .entry code").all_inner_texts() == ["model/", "good.bin", "link", "model.onnx"]
    assert shown.locator(".timeline .label").all_inner_texts() == ["call 1", "open", "leaked", "end"]
    assert shown.get_by_role("heading", name="The rule contain.symlink-file").is_visible()
    shown.get_by_text("A weak form, and the right one").click()
    weak, right = shown.locator("figure").all()
    assert "final-link-unchecked" in weak.inner_text()
    assert right.inner_text().startswith("The right form epctx/native/reference/ep_context_data.h")
    shown.get_by_role("button", name="Copy").click()
    shown.get_by_text("copied").wait_for()
    assert shown.evaluate("navigator.clipboard.readText()") == "epctx replay 'links/leak[3]' weak:S7"


def test_from_a_finding_to_the_next_and_back(reader: Reader) -> None:
    shown = reader.open(REPORT, LEAK + "?text=leak")
    assert shown.locator(".pager .where").inner_text() == "4 of 60"
    shown.get_by_role("link", name="Next").click()
    shown.get_by_role("heading", name="links/leak[4]").wait_for()
    shown.go_back()
    shown.get_by_role("heading", name="links/leak[3]").wait_for()
    shown.get_by_role("link", name="safe.no-outside-read").click()
    shown.locator(".eyebrow", has_text="safe.no-outside-read").last.wait_for()
    shown.get_by_role("link", name="All findings").click()
    assert shown.locator("#report").is_visible()
    assert shown.input_value("#filter-text") == "leak"
    assert "links/leak[3]" in focused(shown)


def test_a_link_to_what_is_not_there_says_so(reader: Reader) -> None:
    shown = reader.open(REPORT, "#no.rule/no/case")
    assert shown.get_by_role("alert").inner_text() == "This report has nothing of that name."
    assert shown.locator("h1").first.is_visible()


def test_everything_goes_by_keys(reader: Reader) -> None:
    shown = reader.open(REPORT)
    shown.keyboard.press("Tab")
    assert focused(shown) == "Skip to the report"
    shown.keyboard.press("/")
    shown.locator("#filter-text:focus").wait_for()
    shown.keyboard.type("climbs/")
    count(shown, "0 findings in 0 cases, 0 rules")
    shown.keyboard.press("Backspace")
    count(shown, "2 findings in 1 case, 2 rules")
    for _ in range(10):
        shown.keyboard.press("Tab")
        if shown.locator("a.case:focus").count():
            break
    outline = shown.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    shown.keyboard.press("Enter")
    shown.locator("#case-title:focus").wait_for()
    assert shown.locator("#case-title").inner_text() == "traversal/up"
    shown.keyboard.press("Escape")
    shown.locator("a.case:focus").wait_for()
    assert "traversal/up" in focused(shown)


def luminance(shown: Page) -> float:
    """How light the page's background is, from 0 to 1."""
    return float(
        shown.evaluate(
            """() => {
                const canvas = new OffscreenCanvas(1, 1).getContext("2d");
                canvas.fillStyle = getComputedStyle(document.body).backgroundColor;
                canvas.fillRect(0, 0, 1, 1);
                return canvas.getImageData(0, 0, 1, 1).data.slice(0, 3).reduce((a, b) => a + b) / 765;
            }"""
        )
    )


@pytest.mark.parametrize("dark", [False, True])
def test_the_theme_is_the_systems_until_another_is_chosen(reader: Reader, dark: bool) -> None:
    shown = reader.open(REPORT, dark=dark)
    assert (luminance(shown) < 0.5) is dark
    shown.get_by_role("button", name="Light theme" if dark else "Dark theme").click()
    assert (luminance(shown) < 0.5) is not dark
    for _ in range(20):  # a busy browser may read its notes again before they are written down
        shown.reload()
        if (luminance(shown) < 0.5) is not dark:
            break
    else:
        pytest.fail("the theme that was chosen is forgotten")


def test_a_comparison_shows_both_sides(reader: Reader) -> None:
    before = [made.line(line.case, made.REFUSED) if n < 2 else line for n, line in enumerate(lines())]
    after = [made.line(line.case, made.REFUSED) if line.case.family == "traversal" else line for line in lines()]
    compared = compare(made.run(before, target="weak:S6"), made.run(after))
    shown = reader.open(comparison(compared))
    assert shown.locator("h1").inner_text() == "It got worse: 4 new findings"
    count(shown, "6 changes in 3 cases")
    shown.select_option("#filter-show", "better")
    count(shown, "2 changes in 1 case")
    shown.locator("a.case").first.click()
    assert shown.locator("#case h1").inner_text() == "traversal/up"
    first, second = shown.locator(".side").all()
    assert first.get_by_role("heading", name="Before: weak:S6").is_visible()
    assert first.locator(".entry.bad code").inner_text() == "secret.bin"
    assert second.locator(".evidence").inner_text() == "it was refused with code 2: it leads out of the model directory"
    assert not second.locator(".entry.bad").count()


HOSTILE = "</script><script>document.title='pwned'</script><img src=x onerror=\"alert(1)\">'\u202edrow\x1b[2J`"


def hostile() -> Run:
    name = (Piece(hex="ff00fe"), Piece(text=HOSTILE))
    case = replace(made.case(f"links/{HOSTILE}", name), summary=HOSTILE)
    seen = replace(made.leaking(), message=HOSTILE, detail=HOSTILE, leaks=(HOSTILE, "outside/secret.bin"))
    return made.run([made.line(case, seen, known={"contain.symlink-file": HOSTILE})], target=HOSTILE, notes=(HOSTILE,))


def test_who_opens_a_case_while_typing_stays_there(reader: Reader) -> None:
    shown = reader.open(REPORT)
    type_and_click = """() => {
        const text = document.getElementById("filter-text");
        text.value = "leak";
        text.dispatchEvent(new Event("input", {bubbles: true}));
        document.querySelector("a.case").click();
    }"""
    shown.evaluate(type_and_click)
    shown.locator("#case h1").wait_for()
    shown.wait_for_timeout(200)
    assert shown.locator("#case h1").is_visible()


def test_hostile_names_are_texts(reader: Reader) -> None:
    shown = reader.open(page(hostile()))
    shown.fill("#filter-text", "img src=x")
    shown.locator("a.case").first.click()
    shown.locator("#case h1").wait_for()
    text = shown.locator("body").inner_text()
    assert "\\xff\\x00\\xfe</script><script>" in text
    assert not {"\u202e", "\x1b"}.intersection(text)
    assert shown.locator("#case h1").inner_text().startswith("links/</script><script>document.title='pwned'</script><img src=x")
    assert "\\u202edrow\\u001b[2J" in shown.locator("#case h1").inner_text()
    assert not shown.locator("img").count()
    assert shown.locator("script").count() == 4
    assert shown.title() != "pwned"


def test_it_reads_without_scripts(reader: Reader) -> None:
    shown = reader.open(REPORT, scripts=False)
    assert shown.locator("h1").inner_text() == "weak:S7 does not hold"
    text = shown.locator("main").inner_text()
    for words in (
        "links/leak[29]",
        "it was given other.bin; it was accepted with 32 bytes",
        "no device here",
        "namespaces: a box",
    ):
        assert words in text
    assert not shown.locator("#filters").is_visible()
    assert shown.get_by_role("row", name="contain.symlink-file").first.is_visible()


@pytest.mark.parametrize("place", ["", LEAK, "#callbacks/asked"])
def test_it_fits_a_narrow_screen(reader: Reader, place: str) -> None:
    shown = reader.open(REPORT, place, width=360)
    assert shown.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("dark", [False, True], ids=("light", "dark"))
@pytest.mark.parametrize("place", ["", LEAK, "#own.adopts/callbacks/asked", "comparison", "#?text=nothing"])
def test_a_screen_reader_finds_its_way(reader: Reader, dark: bool, place: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed (dependency group browser)")
    text = comparison(compare(made.run(lines()[1:]), RUN)) if place == "comparison" else REPORT
    shown = reader.open(text, place if place.startswith("#") else "", dark=dark)
    if shown.locator("summary").count():
        shown.click("summary")
    found = axe.Axe().run(shown)
    problems = [
        (violation["id"], [node["html"] for node in violation["nodes"]][:3]) for violation in found.response["violations"]
    ]
    assert problems == []


def test_thousands_of_findings_are_no_more_to_draw(reader: Reader) -> None:
    """What is drawn at first does not grow with the findings, and the last of them is there by its link."""
    many = [made.line(made.case(f"links/leak[{n}]"), made.leaking()) for n in range(10_000)]
    shown = reader.open(page(made.run(many)))
    count(shown, "20,000 findings in 10,000 cases, 2 rules")
    assert shown.evaluate("document.querySelectorAll('*').length") < 1000
    shown.evaluate("location.hash = 'safe.no-outside-read/links/leak[9999]'")
    shown.get_by_role("heading", name="links/leak[9999]").wait_for()
    assert shown.locator(".pager .where").inner_text() == "20,000 of 20,000"
