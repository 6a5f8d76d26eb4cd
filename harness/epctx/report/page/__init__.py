"""The HTML page: one file without a neighbour, which works offline, with a keyboard, and to be read aloud."""

from epctx.report.page.render import comparison, page

__all__ = ["comparison", "page"]
