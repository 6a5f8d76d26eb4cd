"""``python -I <this directory> LOADER SETTINGS``: serve requests with a loader, whose settings are a JSON object.

With a third argument, a directory, have the loader make there what has to be made beforehand.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Make this package known without its parent directory, in which there may be packages of another environment; then go on."""
    spec = importlib.util.spec_from_file_location("epctx_driver", HERE / "__init__.py", submodule_search_locations=[str(HERE)])
    assert spec
    sys.path.remove(str(HERE))
    sys.modules["epctx_driver"] = importlib.util.module_from_spec(spec)
    name, settings = sys.argv[1], json.loads(sys.argv[2])
    if len(sys.argv) > 3:
        importlib.import_module(f"epctx_driver.{name}").make(sys.argv[3], **settings)
    else:
        importlib.import_module("epctx_driver.serve").serve(name, settings)


if __name__ == "__main__":
    main()
