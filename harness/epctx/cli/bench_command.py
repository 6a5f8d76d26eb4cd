"""``epctx bench``: what a judged case costs, beside the bare helper; and how soon campaigns find something."""

from __future__ import annotations

import click
from rich.table import Table

from epctx.cli import bench_fuzz_command, options
from epctx.fuzz.rate import rate
from epctx.fuzz.yardstick import CALLS, measure
from epctx.report.console import Output
from epctx.run.bench import bench


class Measurements(click.Group):
    """Measurements, the first of which need not be named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments, with the name of the first measurement where there is none."""
        named = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if named else ["cases", *args])


@click.group(cls=Measurements, short_help="Measure what judging a case costs, and how soon campaigns find something.")
def command() -> None:
    """Measure epctx itself. Without the name of a measurement it is `cases`: what judging a case costs.

    \b
    epctx bench weak:S7   judged cases a second, beside the bare helper
    epctx bench fuzz      how soon campaigns find faults that are known
    epctx bench libfuzzer calls a second of that engine, beside a plain libFuzzer executable
    """


command.add_command(bench_fuzz_command.command, "fuzz")


@command.command("cases", short_help="Measure what judging a case costs.")
@click.argument("targets", nargs=-1)
@click.option(
    "--seconds",
    default=2.0,
    show_default=True,
    type=click.FloatRange(0.1, 60),
    metavar="N",
    help="How long each figure is measured.",
)
def cases(targets: tuple[str, ...], seconds: float) -> None:
    """Measure TARGETS (by default weak:S7 and reference): reads of the bare helper in a C++ loop, and judged cases on one worker,
    listed ones and those of a campaign.

    The ratio is what counts; single rates drift with the machine.
    """
    console, results, rates = Output(), [], []
    for target in targets or ("weak:S7", "reference"):
        launch = options.prepared(target, console)
        with console.busy(f"measuring {target}"):
            results.append(bench(launch, seconds))
            rates.append(rate(launch, seconds))
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("per second", *(r.target for r in results)):
        table.add_column(column, justify="left" if column == "per second" else "right")
    table.add_row("bare helper, C++ loop", *(f"{r.bare:,.0f}" for r in results))
    table.add_row("judged cases, world changed", *(f"{r.changed:,.0f}" for r in results))
    table.add_row("judged cases, world rebuilt", *(f"{r.rebuilt:,.0f}" for r in results))
    table.add_row("ratio changed / bare", *(f"{r.ratio:.2f}" for r in results), style="bold")
    table.add_row("ratio rebuilt / bare", *(f"{r.rebuilt / r.bare:.2f}" for r in results))
    table.add_row()
    table.add_row("campaign, one worker", *(f"{r.cases:,.0f}" for r in rates))
    table.add_row("calls of these", *(f"{r.calls:,.0f}" for r in rates))
    table.add_row("on two workers", *(f"{r.calls_on_two:,.0f}" for r in rates))
    table.add_row("ratio calls / bare", *(f"{r.ratio:.2f}" for r in rates), style="bold")
    table.add_row()
    table.add_row("a case's time in microseconds", style="bold")
    for stage in results[0].stages:
        table.add_row(stage, *(f"{r.stages[stage]:.1f}" for r in results))
    console.print(table)


@command.command("libfuzzer", short_help="Measure the engine libfuzzer beside a plain libFuzzer executable.")
@click.argument("targets", nargs=-1)
@click.option("--calls", default=CALLS, show_default=True, type=click.IntRange(256), metavar="N", help="Calls for each figure.")
def libfuzzer(targets: tuple[str, ...], calls: int) -> None:
    """Measure TARGETS (by default weak:S7 and reference): calls a second of the engine libfuzzer, with its worlds, watches and
    books, and of a plain libFuzzer executable around the reads of the same library.
    """
    console = Output()
    table = Table("calls a second", box=None, header_style="bold", pad_edge=False)
    for column in ("plain libFuzzer", "engine", "ratio"):
        table.add_column(column, justify="right")
    for target in targets or ("weak:S7", "reference"):
        with console.busy(f"measuring {target}"):
            measured = measure(target, calls)
        table.add_row(target, f"{measured.plain:,.0f}", f"{measured.engine:,.0f}", f"{measured.ratio:.2f}")
    console.print(table)
