"""Ends the log-in of a browser, and reads the profile of its account, for routes and pages."""

import json
from dataclasses import asdict

from deemster.api.app_state import AppState
from deemster.api.models.accounts import ProfileOut, SessionOut, me_out
from deemster.cache.cache import Loaded
from deemster.cache.kinds import PROFILE
from deemster.domain.account import ALL_SCOPES, Account
from deemster.store import counters, sessions
from deemster.store.counters import AccountCounts
from deemster.store.pool import connection
from deemster.store.sessions import NewSession


async def close_session(state: AppState, digest: bytes) -> None:
    async with connection(state.pool) as acquired:
        await sessions.end(acquired, digest)
    state.credentials.forget([digest])


async def read_profile(state: AppState, caller: Account) -> ProfileOut:
    """Caches only the counts: role and quota are those of this request (C3)."""

    async def load() -> Loaded:
        async with connection(state.pool) as acquired:
            counts, day_left_s = await counters.account_counts(acquired, caller.id)
        # The count of today starts anew at midnight.
        keep_s = min(PROFILE.kept_s, day_left_s)
        return Loaded(json.dumps(asdict(counts)).encode(), keep_s=keep_s)

    entry = await state.cache.get_private(PROFILE, caller, "", load, subject=caller.id)
    assert entry.body is not None, "every account has counts"
    counts = AccountCounts(**json.loads(entry.body))
    quota = caller.quota(state.settings.daily_quota)
    return ProfileOut(
        submits=counts.submits,
        accepted=counts.accepted,
        solved=counts.solved,
        tried=counts.tried,
        daily_quota=quota,
        left_today=None if quota is None else max(0, quota - counts.today),
    )


def session_out(state: AppState, account: Account, session: NewSession) -> SessionOut:
    return SessionOut(
        user=me_out(account),
        scopes=sorted(ALL_SCOPES),
        csrf_token=state.auth.cookies.csrf_token(session.digest),
        expires_at=session.expires_at,
    )
