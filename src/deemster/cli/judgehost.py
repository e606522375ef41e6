"""`deemster judgehost`: judges on this machine for a server elsewhere."""

from typing import Annotated

import typer

from deemster.cli.options import Slots
from deemster.cli.roles import start, start_as_service_user
from deemster.cli.unknown_variables import log_unknown_variables
from deemster.domain.errors import Refused
from deemster.settings import load_settings
from deemster.telemetry import configure


def judgehost(
    context: typer.Context,
    server: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="URL of a Deemster server, such as https://judge.example.org.",
            show_default=False,
        ),
    ] = None,
    domjudge: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="URL of a DOMjudge server, such as https://contest.example.org/domjudge.",
            show_default=False,
        ),
    ] = None,
    slots: Slots = None,
) -> None:
    """On another machine: run a judge host, with its server's URL and a key or password.

    With `--server URL` this machine judges for a Deemster server. An admin of the server makes
    the key with `deemster host add NAME`. Write it to a file of mode 0600, and set
    `DEEMSTER_JUDGEHOST_KEY_FILE` to its path. After SIGTERM the judge host takes no more tasks
    and ends when its last result is sent; after a second SIGTERM it ends at once, and others
    judge its submissions.

    With `--domjudge URL` this machine is a judgehost of a DOMjudge server. The settings
    `domjudge_user` and `domjudge_password` are those of a user with the role `judgehost`. Each
    slot is a judgehost of its own: HOST-0, HOST-1, and so on. After SIGTERM the running test
    cases end, and the server gets the rest of the work back.
    """
    if server is not None and domjudge is not None:
        raise Refused("A judge host has one server: use either `--server` or `--domjudge`.")
    if domjudge is not None:
        judge_for_domjudge(context, domjudge, slots)
    else:
        judge_for_deemster(server, slots)


def judge_for_deemster(url: str | None, slots: int | None) -> None:
    """Without a URL, the setting `judgehost_server` has it."""
    from deemster.wiring.judge_host import read_credentials, run_judge_host

    settings = load_settings(judgehost_server=url)
    configure(settings.log_level, "judgehost")
    log_unknown_variables()
    # Before this process becomes a user who can't read the file of the key.
    settings = read_credentials(settings)
    start_as_service_user(
        "judgehost", settings, lambda entered: run_judge_host(entered, slots), runner=True
    )


def judge_for_domjudge(context: typer.Context, url: str, slots: int | None) -> None:
    from deemster.wiring.domjudge_host import run_domjudge_hosts

    start(
        "judgehost",
        lambda settings: run_domjudge_hosts(settings, url, slots),
        context=context,
        runner=True,
        needs_database=False,
    )
