"""Lists, pauses, drains, resumes and revokes judge hosts, for routes and pages (M4)."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request

from deemster.api.app_state import AppState, app_state
from deemster.api.authentication import actor_of
from deemster.api.models.judge_hosts import JudgeHostOut, PauseIn, host_out
from deemster.domain.account import Account
from deemster.domain.errors import Conflict
from deemster.domain.judge_host import JudgeHostId
from deemster.store import audit, judge_hosts
from deemster.store.pool import Connection, connection, transaction

Change = Callable[[Connection, JudgeHostId], Awaitable[bool]]


async def list_hosts(state: AppState) -> list[JudgeHostOut]:
    """Those that are not revoked, by name."""
    async with connection(state.pool) as acquired:
        return [host_out(each) for each in await judge_hosts.list_all(acquired)]


async def pause_host(
    request: Request, caller: Account, host: str, asked: PauseIn
) -> JudgeHostOut:
    return await change_host(
        *(request, caller, host, "judge_host.pause"),
        lambda acquired, found: judge_hosts.pause(acquired, found, asked.reason),
        reason=asked.reason,
    )


async def resume_host(request: Request, caller: Account, host: str) -> JudgeHostOut:
    return await change_host(request, caller, host, "judge_host.resume", judge_hosts.resume)


async def drain_host(request: Request, caller: Account, host: str) -> JudgeHostOut:
    async def drain(acquired: Connection, found: JudgeHostId) -> bool:
        if not await judge_hosts.drain(acquired, found):
            raise Conflict("The judge host does not run: pause it if it must get no tasks.")
        return True

    return await change_host(request, caller, host, "judge_host.drain", drain)


async def revoke_host(request: Request, caller: Account, host: str) -> JudgeHostOut:
    return await change_host(request, caller, host, "judge_host.revoke", judge_hosts.revoke)


async def change_host(
    request: Request, caller: Account, host: str, act: str, change: Change, **details: Any
) -> JudgeHostOut:
    async with transaction(app_state(request).pool) as acquired:
        found = await judge_hosts.lock(acquired, host)
        await change(acquired, found.id)
        actor = actor_of(request, caller)
        await audit.record(acquired, actor, act, found.id, name=found.name, **details)
        after = await judge_hosts.get(acquired, found.id)
    assert after is not None, "hosts are never deleted"
    return host_out(after)
