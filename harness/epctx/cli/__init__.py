"""The command line: one small module for each command; a user's mistake is one sentence and an exit code, never a traceback."""

from __future__ import annotations

import importlib
import io
import os
import sys
import traceback
from difflib import get_close_matches

import click

from epctx.errors import INTERRUPTED, EpctxError, HarnessError, UsageError

COMMANDS = (
    "check",
    "smoke",
    "init",
    "replay",
    "list",
    "show",
    "explain",
    "report",
    "diff",
    "export",
    "fuzz",
    "corpus",
    "published",
    "selftest",
    "bench",
)
"""In the order in which --help shows them; each is ``command`` in the module ``epctx.cli.NAME_command``."""

NO_READER = 128 + 13
"""Exit code where the reader of our output went away, as shells have it for SIGPIPE."""


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
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name; where there is none, the one that may have been meant."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0], COMMANDS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"the commands are {', '.join(COMMANDS)}."
            raise click.UsageError(f"There is no command {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run, and end with an error's own exit code."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except EpctxError as error:
            click.echo(f"epctx: {error}", err=True)
            settings = ctx.meta.get("epctx.settings")
            if settings and error.exit_code == UsageError.exit_code:
                click.echo(f"epctx: settings are taken from {settings}; --no-config leaves them alone.", err=True)
            sys.exit(error.exit_code)
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise  # click's own
        except KeyboardInterrupt:
            click.echo("epctx: interrupted", err=True)
            sys.exit(INTERRUPTED)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else what is left fails again when Python ends
            sys.exit(NO_READER)
        except Exception as error:
            traceback.print_exc()
            click.echo(f"epctx: this is a fault of epctx itself ({error!r}); please report it with the lines above.", err=True)
            sys.exit(HarnessError.exit_code)


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="epctx", message="%(prog)s %(version)s")
def main() -> None:
    """Test whether an EPContext loader keeps hostile models in their place.

    \b
    epctx check                   judge the bundled reference helper
    epctx check header:my.h       judge your own helper
    epctx explain contain.parent  what a rule demands, and why
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # whatever a name holds, and whatever the terminal can show
