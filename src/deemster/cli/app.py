"""The `deemster` command itself: its global options, and how errors become exit codes."""

import os
import signal
from typing import Annotated, NoReturn

import typer

from deemster import __version__
from deemster.cli.commands import LazyGroup
from deemster.cli.exit_codes import ExitCode
from deemster.cli.output import print_error
from deemster.domain.errors import DeemsterError
from deemster.privileges.drop import claim_process
from deemster.sandbox.launched_runner import inherit_launcher
from deemster.wiring.process import die_with_parent

app = typer.Typer(
    name="deemster",
    cls=LazyGroup,
    help="A self-hosted online judge: runs untrusted code in a sandbox and reports the result.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def print_version(requested: bool) -> None:
    if requested:
        print(f"deemster {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    parent: Annotated[
        int | None,
        typer.Option("--parent", hidden=True, help="End when the process with this id ends."),
    ] = None,
    launcher: Annotated[
        int | None,
        typer.Option("--launcher", hidden=True, help="Socket of the runners' launcher."),
    ] = None,
) -> None:
    if parent is not None:
        die_with_parent(parent)
    if launcher is not None:
        inherit_launcher(launcher)


def main() -> None:
    open_standard_descriptors()
    reset_signals()
    claim_process()
    run()


def run() -> None:
    try:
        app()
    except DeemsterError as fault:
        fail(fault)
    except BaseExceptionGroup as faults:
        known = faults.subgroup(DeemsterError)
        if known is None:
            raise
        fail(first_of(known))


def fail(fault: BaseException) -> NoReturn:
    print_error(fault)
    raise SystemExit(ExitCode.UNABLE) from None


def first_of(faults: BaseException) -> BaseException:
    while isinstance(faults, BaseExceptionGroup):
        faults = faults.exceptions[0]
    return faults


def reset_signals() -> None:
    """A parent may have blocked SIGTERM, or ignored SIGCHLD, which hides how children end.

    An ignored SIGINT or SIGHUP stays ignored, which is what `nohup` is for.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def open_standard_descriptors() -> None:
    """Opens those that are closed, or the next file opened would become the standard output."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
