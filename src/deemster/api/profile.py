"""What someone did, and may still do today: looked up for them alone, and remembered (C3)."""

import json
from dataclasses import asdict

from deemster.api.models.accounts import ProfileOut
from deemster.api.state import AppState
from deemster.cache.cache import Loaded
from deemster.cache.kinds import PROFILE
from deemster.domain.account import Account
from deemster.store import counters
from deemster.store.counters import AccountCounts
from deemster.store.pool import connection


async def profile_of(state: AppState, caller: Account) -> ProfileOut:
    """Only the counts are remembered: what someone is, or may, is the caller's to say."""

    async def look() -> Loaded:
        async with connection(state.pool) as acquired:
            deeds, day_left_s = await counters.account_counts(acquired, caller.id)
        # What was handed in today is nothing at midnight.
        keep_s = min(PROFILE.kept_s, day_left_s)
        return Loaded(json.dumps(asdict(deeds)).encode(), keep_s=keep_s)

    entry = await state.cache.get_private(PROFILE, caller, "", look, subject=caller.id)
    assert entry.body is not None, "everyone has deeds, if only none"
    deeds = AccountCounts(**json.loads(entry.body))
    quota = caller.quota(state.settings.daily_quota)
    return ProfileOut(
        submits=deeds.submits,
        accepted=deeds.accepted,
        solved=deeds.solved,
        tried=deeds.tried,
        daily_quota=quota,
        left_today=None if quota is None else max(0, quota - deeds.today),
    )
