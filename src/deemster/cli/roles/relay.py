"""`deemster relay`: carries jobs to the queue."""

from deemster.cli.roles.start import start
from deemster.wiring.relay import run_relay


def relay() -> None:
    """Carry accepted submissions from the database to the queue.

    One is enough; a second one takes over when the first dies.
    """
    start("relay", run_relay)
