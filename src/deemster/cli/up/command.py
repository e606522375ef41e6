"""Parses the options of `deemster up` and starts the supervisor."""

import os
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from deemster.cli.options import MAX_SLOTS, SLOTS_HELP
from deemster.cli.unknown_variables import print_unknown_variables
from deemster.cli.up.supervisor import supervise
from deemster.sandbox.launched_runner import launcher_in_use
from deemster.settings import load_settings
from deemster.wiring.privileges import enter_service
from deemster.wiring.process import end_with_launcher


def up(
    port: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=65535,
            help="Port of the API; 0 takes any free port. [default: 8000]",
            show_default=False,
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Address on which the API listens; 0.0.0.0 means all. [default: 127.0.0.1]",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Directory for persistent data. [default: as `deemster settings` shows]",
            show_default=False,
        ),
    ] = None,
    slots: Annotated[
        int | None,
        typer.Option(
            "--slots",
            "--workers",
            metavar="N",
            min=1,
            max=MAX_SLOTS,
            help=SLOTS_HELP,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Start the whole service on this machine: database, API, relay, worker and keeper.

    The first start creates the database, an admin and ten sample problems. A process that dies
    is started again. A dispatcher runs too if DEEMSTER_JUDGE_ON is hosts or hosts-first. Ctrl-C
    ends everything in order, a second Ctrl-C at once. For example:

        deemster up
        deemster up --port 8080 --host 0.0.0.0 --data /srv/judge --slots 4
    """
    print_unknown_variables()
    usual_data_dir = load_settings().data_dir
    data_dir = (data or usual_data_dir).resolve()
    settings = load_settings(port=port, host=host, data_dir=data_dir, slots=slots)
    entered = enter_service(settings, runner=True, listens=True)
    settings, weakness = entered.settings, entered.weakness
    if os.geteuid() != 0 and launcher_in_use() is None:
        from deemster.wiring.strongest_sandbox import choose_layers

        settings, weakness = uvloop.run(choose_layers(settings))
    uvloop.run(
        end_with_launcher(
            supervise(settings, weakness=weakness, names_data_dir=data_dir != usual_data_dir)
        )
    )
