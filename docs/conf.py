"""How the documentation is built: `tox -e docs`, or `sphinx-build -W -n docs OUT`."""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "epctx"
author = "the epctx contributors"
version = release = version_of("epctx")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_click", "sphinx_copybutton", "epctx_reference"]
exclude_patterns = ["examples", "_build"]
default_role = "code"
nitpicky = True

html_theme = "furo"
html_show_copyright = False
html_title = f"epctx {version}"
html_static_path = ["_static"]
html_css_files = ["epctx.css"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
myst_links_external_new_tab = False
copybutton_prompt_text = "$ "

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": True}
# What the standard library and other packages define is described elsewhere, and nothing here may need a network.
nitpick_ignore_regex = [("py:.*", r"(?!epctx\b).*"), ("py:.*", r"epctx\..*\b(DrafterT|Play)")]
