"""Tells about environment variables that look like settings, but are none."""

import structlog

from deemster.cli.output import print_error
from deemster.settings.origins import unknown_variables

log = structlog.get_logger()


def print_unknown_variables() -> None:
    for name in unknown_variables():
        print_error(f"{name} is not a setting and is ignored: unset it or correct its name.")


def log_unknown_variables() -> None:
    for name in unknown_variables():
        log.warning(
            "settings.unknown_variable",
            variable=name,
            reason="It is not a setting and is ignored: unset it or correct its name.",
        )
