"""``python -m epctx``."""

from epctx.cli import main

main(prog_name="epctx")
