"""`deemster up`: the whole service on this machine, with one command."""

from pathlib import Path
from typing import Annotated

import typer
import uvloop

from deemster.cli.up.supervisor import supervise
from deemster.settings import load_settings


def up(
    port: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=65535,
            help="Of the API; 0 takes any that is free. [default: 8000]",
            show_default=False,
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Where the API listens; 0.0.0.0 is everywhere. [default: 127.0.0.1]",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where everything is kept. By default what `deemster settings` shows.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
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
    """Start the whole service: a database, the API, and what judges submissions.

    The first start makes the database, an admin and ten sample problems. Whatever dies is
    started again. Ctrl-C ends everything, in order; a second Ctrl-C at once. For example:

        deemster up
        deemster up --port 8080 --host 0.0.0.0 --data /srv/judge --workers 4
    """
    kept = (data or load_settings().data_dir).resolve()
    settings = load_settings(port=port, host=host, data_dir=kept, slots=workers)
    uvloop.run(supervise(settings))
