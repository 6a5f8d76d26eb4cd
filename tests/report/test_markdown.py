"""The summary for a CI: the verdict first, then what was found, and never too long."""

from __future__ import annotations

from tests.report.runs import HEAD, MIXED, finding, line, run

from epctx.report.comparison import compare
from epctx.report.markdown import comparison, markdown


def test_the_verdict_is_first_then_the_rules_by_severity() -> None:
    lines = markdown(MIXED).splitlines()
    assert lines[0] == (
        "### ❌ header:src/my.h?namespace=mine does not hold: 4 of 6 cases break rules of profile ort-1.31, 3 of them new"
    )
    assert lines[2] == (
        "1 crash, 1 error, 3 fail, 1 note, 1 pass, 1 skip; 1 of 4 known; 1.5 s. "
        "ONNX Runtime 1.32.0, judged by the contract of the design document; epctx 0.1.0, boxed."
    )
    table = lines[4:9]
    assert [row.split(" | ")[:3] for row in table[2:]] == [
        ["| `contain.parent`", "critical", "2"],
        ["| `safe.no-outside-read`", "critical", "1"],
        ["| `safe.no-crash`", "high", "1"],
    ]


def test_a_finding_is_folded_and_has_its_command() -> None:
    assert (
        "<details><summary><code>safe.no-outside-read</code>, 1 case</summary>\n"
        "\n"
        "`links/bad`\n"
        "\n"
        "```text\n"
        "call     read ../x\n"
        "expected refused\n"
        "happened it gave a secret\n"
        "file     outside/secret.bin\n"
        "again    epctx replay links/bad 'header:src/my.h?namespace=mine'\n"
        "```\n"
        "\n"
        "</details>\n"
    ) in markdown(MIXED)


def test_reasons_are_counted() -> None:
    text = markdown(MIXED)
    for title, reason in {
        "1 errors of the harness": "1 × sizes/lost: no room left",
        "2 known findings": "1 × ticket 12",
        "2 skipped cases": "1 × needs root",
        "1 notes": "1 × write.atomic, for example names/noted: it left a file",
    }.items():
        assert f"<summary>{title}</summary>\n\n- " in text
        assert f"- {reason}\n" in text


def test_a_target_that_holds() -> None:
    text = markdown(run(line("links/good")))
    assert text.startswith("### ✅ header:src/my.h?namespace=mine holds: every rule of profile ort-1.31 held in 1 case\n")
    assert "<details>" not in text


def test_a_summary_is_short_whatever_was_found() -> None:
    many = [
        line(f"links/bad[{n}]", finding("contain.parent", "x" * 5_000), known={"contain.parent": f"{n}" * 500})
        for n in range(500)
    ] + [line(f"links/skip[{n}]", result="skip", reason=f"{n} " * 3_000) for n in range(500)]
    text = markdown(run(*many, *(line(f"names/{n}", finding("own.moves", "y" * 5_000)) for n in range(500))))
    assert len(text.encode()) < 256 << 10
    assert "- and 480 more reasons" in text
    assert "… (5,000 characters)" in text


def test_a_comparison_says_what_is_worse_and_what_is_better() -> None:
    before = run(
        line("links/a", finding("contain.parent")), line("links/b"), line("links/c"), line("links/d", finding("own.moves"))
    )
    after = run(line("links/a"), line("links/b", finding("safe.no-hang", "it hung")), line("links/c"), line("links/d"))
    target = "`header:src/my.h?namespace=mine`"
    assert comparison(compare(before, after)) == (
        f"### ❌ {target} → {target}: 1 worse, 2 better, 0 changed otherwise\n"
        "\n"
        "4 cases judged in both runs.\n"
        "\n"
        "| worse | severity | cases |\n"
        "| --- | --- | --- |\n"
        "| `safe.no-hang` | high | 1 |\n"
        "\n"
        "| better | severity | cases |\n"
        "| --- | --- | --- |\n"
        "| `contain.parent` | critical | 1 |\n"
        "| `own.moves` | medium | 1 |\n"
        "\n"
        "<details><summary><code>safe.no-hang</code>, 1 case worse</summary>\n"
        "\n"
        "`links/b`\n"
        "\n"
        "```text\n"
        "before   it was refused with code 2: no\n"
        "after    it hung\n"
        "```\n"
        "\n"
        "</details>\n"
    )
    assert HEAD.target in comparison(compare(after, after))
