"""Reads problems through the cache, for routes and compatible APIs (C1)."""

from typing import Final

from deemster.api.http.body import to_json
from deemster.api.http.paging import DEFAULT_LIMIT, MAX_LIMIT, cut
from deemster.api.models.problems import (
    ProblemOut,
    ProblemPage,
    ProblemQuery,
    problem_item,
    problem_out,
    with_mine,
)
from deemster.api.state import AppState
from deemster.cache.cache import CacheEntry, Loaded
from deemster.cache.kinds import MY_PROBLEMS, PROBLEM, PROBLEM_LIST
from deemster.domain.account import Account, Role
from deemster.domain.errors import NotFound
from deemster.domain.ids import ProblemId
from deemster.store import counters, problems
from deemster.store.pool import Connection, connection

MAX_ID_CHARS: Final = 128
CACHED_LIMITS: Final = (DEFAULT_LIMIT, MAX_LIMIT)


async def cached_page(state: AppState, caller: Account, query: ProblemQuery) -> CacheEntry:
    """A `ProblemPage` as JSON."""
    after = ProblemId(query.last_id) if query.last_id else None

    async def load() -> Loaded:
        async with connection(state.pool) as acquired:
            found = await problems.page(
                acquired,
                after=after,
                limit=query.limit + 1,
                drafts=query.drafts,
                owner=caller.id if query.drafts and caller.role is not Role.ADMIN else None,
            )
            is_known = after is None or await problems.exists(acquired, after)
            page, cursor = cut(found, query.limit, lambda item: item.id)
            items = [problem_item(item) for item in page]
            if query.mine:
                ids = [item.id for item in page]
                solved = await counters.tried_problems(acquired, caller.id, ids)
                items = [with_mine(each, solved.get(ProblemId(each.id))) for each in items]
        # Invented limits and cursors must not fill the cache.
        is_cached = query.limit in CACHED_LIMITS and is_known
        found_page = ProblemPage(items=items, next_cursor=cursor)
        return Loaded(to_json(found_page), keep_s=None if is_cached else 0)

    version = await state.cache_invalidation.problems_version()
    selector = f"{query.limit}:{after or ''}"
    if query.mine or query.drafts:
        selector = f"{version}:{selector}:{query.mine:d}{query.drafts:d}"
        return await state.cache.get_private(
            MY_PROBLEMS, caller, selector, load, subject=caller.id
        )
    return await state.cache.get(PROBLEM_LIST, selector, load, version=version)


async def managed_problems(
    state: AppState, caller: Account, query: ProblemQuery
) -> ProblemPage:
    """Problems that the caller may change: of authors their own, of admins all."""
    after = ProblemId(query.last_id) if query.last_id else None
    async with connection(state.pool) as acquired:
        found = await problems.page(
            acquired,
            after=after,
            limit=query.limit + 1,
            drafts=query.drafts,
            owner=caller.id if caller.role is not Role.ADMIN else None,
        )
    page, cursor = cut(found, query.limit, lambda item: item.id)
    return ProblemPage(items=[problem_item(item) for item in page], next_cursor=cursor)


async def problem_for(state: AppState, caller: Account, problem_id: str) -> CacheEntry | None:
    """A `ProblemOut` as JSON; None: the problem is not published, and `draft_for` shows it."""
    try:
        return await cached_problem(state, problem_id)
    except NotFound:
        if not caller.role.includes(Role.AUTHOR):
            raise
        return None


async def draft_for(state: AppState, caller: Account, problem_id: str) -> ProblemOut:
    """Shows a problem that is not published to its author and to admins."""
    problem = checked_id(problem_id)
    async with connection(state.pool) as acquired:
        summary = await problems.get(acquired, problem)
        if (
            summary is None
            or summary.retired
            or summary.unlisted
            or not summary.is_open_to(caller)
        ):
            raise unknown_problem()
        submits, accepted = await counters.problem_counts(acquired, problem)
    return problem_out(summary, submits=submits, accepted=accepted)


async def cached_problem(state: AppState, problem_id: str) -> CacheEntry:
    """A `ProblemOut` as JSON."""
    problem = checked_id(problem_id)

    async def load() -> Loaded | None:
        async with connection(state.pool) as acquired:
            summary = await problems.get(acquired, problem)
            hidden = summary is None or summary.retired or not summary.published
            if summary is None or hidden or summary.unlisted:
                return None
            submits, accepted = await counters.problem_counts(acquired, problem)
        return Loaded(to_json(problem_out(summary, submits=submits, accepted=accepted)))

    version = await state.cache_invalidation.problems_version()
    entry = await state.cache.get(PROBLEM, problem, load, version=version)
    if entry.body is None:
        raise unknown_problem()
    return entry


async def known_problem(acquired: Connection, problem_id: str) -> ProblemId:
    """Refuses an id that no problem has. A retired problem is known."""
    problem = checked_id(problem_id)
    if not await problems.exists(acquired, problem):
        raise unknown_problem()
    return problem


def checked_id(problem_id: str) -> ProblemId:
    if len(problem_id) > MAX_ID_CHARS or not problem_id.isprintable():
        raise unknown_problem()
    return ProblemId(problem_id)


def unknown_problem() -> NotFound:
    return NotFound("There is no such problem: see GET /v1/problems.")
