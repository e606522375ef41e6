"""The query parameter `wait`: how long requests wait for a result, and how many (H1)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import Query

from deemster.api.admission import RateLimited
from deemster.api.app_state import RETRY_S, AppState
from deemster.domain.account import Account

WaitQuery = Annotated[
    float,
    Query(
        ge=0,
        allow_inf_nan=False,
        description="Seconds to wait for the result. The server answers earlier, after its "
        "setting `longest_wait_s`, by default 30. A user may have as many waiting requests as "
        "its setting `waits_per_user` says, by default 100; others are answered 429.",
    ),
]


@contextmanager
def waiting_request(state: AppState, caller: Account, wait_s: float) -> Iterator[float]:
    """Yields how long a request may wait; refuses more waits than one user may have here."""
    most = state.settings.waits_per_user
    if state.feed.waits[caller.id] >= most:
        raise RateLimited(
            f"{most} of your requests wait for results already: end one, or ask without wait.",
            RETRY_S,
            limit=most,
        )
    with state.feed.count_wait(caller.id):
        yield min(wait_s, state.settings.longest_wait_s)
