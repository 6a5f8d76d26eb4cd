"""``python -I <this directory> LOADER SETTINGS``: serve requests with a loader, whose settings are a JSON object."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Make this package known without its parent directory, in which there may be packages of another environment; then serve."""
    spec = importlib.util.spec_from_file_location("epctx_driver", HERE / "__init__.py", submodule_search_locations=[str(HERE)])
    assert spec
    sys.path.remove(str(HERE))
    sys.modules["epctx_driver"] = importlib.util.module_from_spec(spec)
    serve = importlib.import_module("epctx_driver.serve")
    serve.serve(sys.argv[1], json.loads(sys.argv[2]))


if __name__ == "__main__":
    main()
