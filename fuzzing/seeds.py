"""``python seeds.py FOLDER``: seed corpora and dictionaries of the fuzz targets, as OSS-Fuzz and ClusterFuzzLite take them."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from epctx.attack import families
from epctx.case_file import dumps
from epctx.fuzz.seeds import listed

EVERY = 10
"""Of the listed cases every tenth is a seed: they differ in names above all."""


def main(folder: Path) -> None:
    """Write them all."""
    tokens = files("epctx_corpora").joinpath("tokens.dict").read_bytes()
    cases = [case for family in families().values() for case in family.cases()]
    _pack(folder, "fuzz_case_file", (dumps(case).encode() for case in cases[::EVERY]))
    _pack(folder, "fuzz_prediction", listed())
    _pack(folder, "fuzz_dictionary", [tokens[start : start + 400] for start in range(0, len(tokens), 400)])
    for name in ("fuzz_case_file", "fuzz_prediction"):
        (folder / f"{name}.dict").write_bytes(tokens)


def _pack(folder: Path, name: str, seeds: Iterable[bytes]) -> None:
    with zipfile.ZipFile(folder / f"{name}_seed_corpus.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for number, seed in enumerate(seeds):
            packed.writestr(zipfile.ZipInfo(f"{number:05}"), seed)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
