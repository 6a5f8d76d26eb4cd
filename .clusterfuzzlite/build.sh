#!/bin/bash -eu
# Builds the fuzz targets of Python, with their seed corpora and dictionaries.
pip3 install .
for target in fuzzing/fuzz_*.py; do
  compile_python_fuzzer "$target" --collect-data epctx --collect-data epctx_corpora --collect-submodules epctx_attacks \
    --copy-metadata epctx
done
python3 fuzzing/seeds.py "$OUT"
