"""Texts that an attacker may have written, in formats that give some characters a meaning."""

from __future__ import annotations

import re

from epctx.case import visible

MOST = 600
"""Characters of one text that are shown in a summary."""
_MARKUP = re.compile(r"[&<>`*_{}\[\]#|~@$^\\!]|:(?=//)|(?i:(?<=www)\.)")
"""What may mean something in Markdown within a line: markup, HTML, formulas, mentions, and what makes a link of an address."""
_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, however it is written."""


def clipped(text: str, most: int = MOST) -> str:
    """A text without what does not print, and not longer than a summary needs."""
    text = visible(text)
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"


def markdown(text: str) -> str:
    """A text as it is in Markdown and in its tables: no markup, link, mention or HTML can come of it."""
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", clipped(text))


def markdown_code(text: str) -> str:
    """A text as code in Markdown and in its tables."""
    text = clipped(text)
    if text and text.isascii() and not set("`|") & set(text) and text.strip() == text:
        return f"`{text}`"
    return f"<code>{markdown(text)}</code>"


def xml(text: str) -> str:
    """A text of several lines that XML can hold, what it cannot hold as escapes; still to be quoted by who writes XML."""
    return _XML.sub(lambda found: visible(found[0]), text)
