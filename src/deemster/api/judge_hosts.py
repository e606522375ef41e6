"""Lists judge hosts, for routes and pages (M4)."""

from deemster.api.models.judge_hosts import JudgeHostOut, host_out
from deemster.api.state import AppState
from deemster.store import judge_hosts
from deemster.store.pool import connection


async def list_hosts(state: AppState) -> list[JudgeHostOut]:
    """Those that are not revoked, by name."""
    async with connection(state.pool) as acquired:
        return [host_out(each) for each in await judge_hosts.list_all(acquired)]
