"""Puts the commands together; what they share is how they end."""

import os
import sys
from typing import Annotated

import typer

from deemster import __version__
from deemster.cli import bench, doctor, languages, problem, run, settings
from deemster.domain.errors import DeemsterError

EXIT_OURS = 2
"""Deemster itself could not do what was asked."""

app = typer.Typer(
    name="deemster",
    help="A self-hosted online judge: runs untrusted code in a cage and says what happened.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(run.run)
app.command()(doctor.doctor)
app.command()(languages.languages)
app.add_typer(problem.app, name="problem")
app.add_typer(bench.app, name="bench")
app.command()(settings.settings)


def show_version(wanted: bool) -> None:
    if wanted:
        print(f"deemster {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Which it is."),
    ] = False,
) -> None:
    pass


def main() -> None:
    hold_standard_descriptors()
    try:
        app()
    except DeemsterError as fault:
        print(f"deemster: {fault}", file=sys.stderr)
        raise SystemExit(EXIT_OURS) from None


def hold_standard_descriptors() -> None:
    """Fills closed ones, or the next file opened would become the standard output."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
