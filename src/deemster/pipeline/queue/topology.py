"""Names of queues by environment, and how long jobs, locks and pauses last."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from deemster.domain.errors import Refused

ENVIRONMENT: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
LOWEST_PRIORITY: Final = 2_097_152
"""BullMQ's limit: 1 goes first, and 0 would go before them all."""
BATCH: Final = 200
"""Jobs sent in one call: Redis does nothing else meanwhile."""
NEVER_GIVE_UP: Final = 1_000_000
"""How often a job may lose its worker: the database counts the attempts."""


@dataclass(frozen=True, slots=True)
class Keep:
    """How many finished jobs stay for inspection; the database has the history (Q12)."""

    count: int
    age_s: int


KEEP_COMPLETED: Final = Keep(count=1000, age_s=3600)
KEEP_FAILED: Final = Keep(count=5000, age_s=7 * 24 * 3600)


@dataclass(frozen=True, slots=True)
class ConsumerTimes:
    """Intervals of a consumer's periodic work."""

    poll_s: float = 2.0
    """Pause between two looks for work without a wake-up, because wake-ups may get lost."""
    lock_s: float = 15.0
    """Duration of the first lock on a job, until its handler sets another (Q5)."""
    stalled_s: float = 5.0
    """A dead worker's job comes back after its lock has expired and at most two of these."""
    ahead_s: float | None = None
    """A job that was claimed ahead goes back if no slot is free after this time, so that
    another worker can have it. None: no job is claimed before a slot is free."""
    slowest_retry_s: float = 2.0
    """Longest pause between tries while the store is down."""


def checked_environment(env: str) -> str:
    if not ENVIRONMENT.fullmatch(env):
        raise Refused(
            f"The environment name {env!r} is not valid: use up to 40 lower-case letters, "
            "digits, '-' and '_', starting with a letter or digit."
        )
    return env


def redis_prefix(env: str) -> str:
    return f"deemster:{checked_environment(env)}"


def postgres_schema(env: str) -> str:
    """Names differ for any two environments: no environment's name has a '$'."""
    return f"queue_{checked_environment(env).replace('-', '$')}"


def without_secrets(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
