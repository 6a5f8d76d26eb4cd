"""``python -m epctx_corpora freeze [FOLDER]``: write the corpora anew, after attacks or the specification were changed."""

from __future__ import annotations

import sys
from pathlib import Path

from epctx.errors import EpctxError
from epctx_corpora import HERE, freeze


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit code."""
    match arguments:
        case ["freeze"]:
            folder = HERE
        case ["freeze", given]:
            folder = Path(given)
        case _:
            print("usage: python -m epctx_corpora freeze [FOLDER]", file=sys.stderr)
            return 2
    try:
        written = freeze(folder)
    except EpctxError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    for path in written:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
