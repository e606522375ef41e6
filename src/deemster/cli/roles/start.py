"""How a role begins: with its settings, its log, and a loop to run in."""

from collections.abc import Callable, Coroutine
from typing import Any

import uvloop

from deemster.settings import Settings, load_settings
from deemster.telemetry import configure


def start(role: str, work: Callable[[Settings], Coroutine[Any, Any, None]]) -> None:
    settings = load_settings()
    configure(settings.log_level, role)
    uvloop.run(work(settings))
