"""`deemster keeper`: the watchdog."""

from deemster.cli.roles.start import start
from deemster.wiring.keeper import run_keeper


def keeper() -> None:
    """Rescue what dead workers left, send again what the queue lost, trim what is over.

    One is enough; more do no harm.
    """
    start("keeper", run_keeper)
