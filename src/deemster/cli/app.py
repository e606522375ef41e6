"""Puts the commands together; what they share is how they end."""

import os
import signal
import sys
from typing import Annotated, NoReturn

import typer

from deemster import __version__
from deemster.cli.commands import Lazily
from deemster.domain.errors import DeemsterError
from deemster.wiring.process import die_with_parent

EXIT_OURS = 2
"""Deemster itself could not do what was asked."""

app = typer.Typer(
    name="deemster",
    cls=Lazily,
    help="A self-hosted online judge: runs untrusted code in a cage and says what happened.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    parent: Annotated[
        int | None,
        typer.Option("--parent", hidden=True, help="End with the process of this number."),
    ] = None,
) -> None:
    if parent is not None:
        die_with_parent(parent)


def main() -> None:
    """The entry point of the process: cleans up what it inherited, then runs the command."""
    hold_standard_descriptors()
    reset_signals()
    run()


def run() -> None:
    try:
        app()
    except DeemsterError as fault:
        end(fault)
    except BaseExceptionGroup as faults:
        ours = faults.subgroup(DeemsterError)
        if ours is None:
            raise
        end(first_of(ours))


def end(fault: BaseException) -> NoReturn:
    print(f"deemster: {fault}", file=sys.stderr)
    raise SystemExit(EXIT_OURS) from None


def first_of(faults: BaseException) -> BaseException:
    """Of all that failed together, one is told."""
    while isinstance(faults, BaseExceptionGroup):
        faults = faults.exceptions[0]
    return faults


def reset_signals() -> None:
    """A parent may have blocked SIGTERM, or ignored SIGCHLD, which hides how children end.

    An ignored SIGINT or SIGHUP stays ignored where nothing handles it: `nohup` means that.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def hold_standard_descriptors() -> None:
    """Fills closed ones, or the next file opened would become the standard output."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
