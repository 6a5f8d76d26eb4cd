"""The command line: one small module for each command; a user's mistake is one sentence and an exit code, never a traceback."""

from __future__ import annotations

import importlib
import sys

import click

from epctx.errors import EpctxError

COMMANDS = ("check", "replay", "list", "show", "explain", "export", "selftest", "bench")
"""In the order in which --help shows them; each is ``command`` in the module ``epctx.cli.NAME_command``."""


class Commands(click.Group):
    """Loads a command when it is asked for, and turns epctx's errors into one sentence and their exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in a useful order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, loaded now."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"epctx.cli.{cmd_name}_command").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name; click suggests none for lazily loaded ones, so this says which there are."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"There is no command {args[0]!r}; the commands are {', '.join(COMMANDS)}.", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run, and end with an error's own exit code."""
        try:
            return super().invoke(ctx)
        except EpctxError as error:
            click.echo(f"epctx: {error}", err=True)
            sys.exit(error.exit_code)
        except BrokenPipeError:
            sys.stderr.close()  # the reader of our output went away; that is no fault of anyone
            sys.exit(0)


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="epctx")
def main() -> None:
    """Test whether an EPContext loader keeps hostile models in their place.

    \b
    epctx check                   judge the bundled reference helper
    epctx check header:my.h       judge your own helper
    epctx explain contain.parent  what a rule demands, and why
    """


if __name__ == "__main__":
    main()
