"""`deemster worker`: judges."""

from typing import Annotated

import typer

from deemster.cli.roles.start import start
from deemster.wiring.worker import run_worker


def worker(
    slots: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=1024,
            help="Programs judged at once, each on a core of its own; by default all cores "
            "but one.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Judge submissions, in the cage.

    SIGTERM drains it: it takes no more work and ends when the last program has; a second
    SIGTERM stops it at once, and what it was judging is judged by another.
    """
    start("worker", lambda settings: run_worker(settings, slots))
