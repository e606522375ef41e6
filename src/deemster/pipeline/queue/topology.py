"""Names and numbers of the queues: what an environment owns, what is kept, the pace."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from deemster.domain.errors import Refused

ENVIRONMENT: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
LOWEST_PRIORITY: Final = 2_097_152
"""BullMQ's: 1 goes first, and 0 would pass them all."""
BATCH: Final = 200
"""Jobs sent at once: Redis does nothing else meanwhile."""
NEVER_GIVE_UP: Final = 1_000_000
"""How often a job may lose its worker. The attempts are counted in the database."""


@dataclass(frozen=True, slots=True)
class Keep:
    """Which finished jobs stay for a look; the audit trail is in the database (Q12)."""

    count: int
    age_s: int


KEEP_COMPLETED: Final = Keep(count=1000, age_s=3600)
KEEP_FAILED: Final = Keep(count=5000, age_s=7 * 24 * 3600)


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds between the things that a consumer does by the clock."""

    poll_s: float = 2.0
    """A look without having been called: calls may get lost."""
    lease_s: float = 15.0
    """The first lock on a job, until its handler asks for another (Q5)."""
    stalled_s: float = 5.0
    """A lost worker's job comes back after its lease and at most two of these."""
    slowest_retry_s: float = 2.0
    """Between tries while the store is down."""


def checked_environment(env: str) -> str:
    if not ENVIRONMENT.fullmatch(env):
        raise Refused(
            f"The environment {env!r} can't name queues: use up to 40 small letters, digits, "
            "'-' and '_', a letter or digit first."
        )
    return env


def redis_prefix(env: str) -> str:
    return f"deemster:{checked_environment(env)}"


def postgres_schema(env: str) -> str:
    """No two environments share one: '$' is in no environment's name."""
    return f"queue_{checked_environment(env).replace('-', '$')}"


def without_secrets(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
