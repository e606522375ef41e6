"""`deemster judgehost`: judges on this machine for a server elsewhere."""

from typing import Annotated

import typer

from deemster.cli.options import Slots
from deemster.cli.roles import start
from deemster.domain.errors import Refused


def judgehost(
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
    """Run a judge host, which needs only the URL of its server and a password.

    With `--domjudge URL` this machine is a judgehost of a DOMjudge server. The settings
    `domjudge_user` and `domjudge_password` are those of a user with the role `judgehost`. Each
    slot is a judgehost of its own: HOST-0, HOST-1, and so on.

    After SIGTERM the running test cases end, and the server gets the rest of the work back.
    """
    if domjudge is None:
        raise Refused(
            "There is no server to judge for: name a DOMjudge server by `--domjudge URL`."
        )
    from deemster.wiring.domjudge_host import run_domjudge_hosts

    url = domjudge
    start("judgehost", lambda settings: run_domjudge_hosts(settings, url, slots))
