"""`deemster api`: answers HTTP requests."""

from deemster.cli.roles.start import start
from deemster.wiring.api import run_api


def api() -> None:
    """Answer HTTP requests, on the address and port that `deemster settings` shows.

    Takes submissions, and tells what became of them. Run as many as you like.
    """
    start("api", run_api)
