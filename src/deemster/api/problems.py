"""Reads problems through the cache, for routes and compatible APIs (C1)."""

import json
from collections.abc import Iterable, Mapping
from typing import Final

from deemster.api.app_state import AppState
from deemster.api.http.body import to_json
from deemster.api.http.paging import DEFAULT_LIMIT, MAX_LIMIT, cut
from deemster.api.models.problems import (
    ProblemOut,
    ProblemPage,
    ProblemQuery,
    own_item,
    problem_item,
    problem_out,
)
from deemster.cache.cache import CacheEntry, Loaded
from deemster.cache.kinds import MY_PROBLEMS, PROBLEM, PROBLEM_LIST
from deemster.domain.account import Account, Role
from deemster.domain.errors import NotFound
from deemster.domain.ids import AccountId, ProblemId
from deemster.domain.problem_listing import ProblemResult, ProblemSort
from deemster.store import counters, problems
from deemster.store.pool import Connection, connection
from deemster.store.problems import (
    ProblemFilter,
    ProblemListItem,
    ProblemSummary,
    ProblemTitle,
)

MAX_ID_CHARS: Final = 128
CACHED_LIMITS: Final = (DEFAULT_LIMIT, MAX_LIMIT)
MAX_COMMON_TAGS: Final = 100
FILTERS: Final = {"q", "tag", "difficulty", "result", "sort"}


async def cached_page(state: AppState, caller: Account, query: ProblemQuery) -> CacheEntry:
    """A `ProblemPage` as JSON."""
    after = ProblemId(query.last_id) if query.last_id else None
    is_own = query.mine or query.drafts or query.result is not None

    async def load() -> Loaded:
        async with connection(state.pool) as acquired:
            found = await problems.page(
                acquired,
                query.wanted(drafts_owner(caller) if query.drafts else None),
                after=after,
                limit=query.limit + 1,
                account=caller.id if is_own else None,
            )
            is_known = after is None or await problems.exists(acquired, after)
        page, cursor = cut(found, query.limit, lambda item: item.id)
        items = [own_item(item) if query.mine else problem_item(item) for item in page]
        # Invented limits, cursors and searches must not fill the cache.
        is_cached = query.limit in CACHED_LIMITS and is_known and not query.is_filtered
        found_page = ProblemPage(items=items, next_cursor=cursor)
        return Loaded(to_json(found_page), keep_s=None if is_cached else 0)

    version = await state.cache_invalidation.problems_version()
    selector = f"{query.limit}:{after or ''}"
    if query.is_filtered or query.sort is not ProblemSort.ID:
        selector += f":{query.model_dump_json(include=FILTERS)}"
    if is_own:
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
        wanted = query.wanted(drafts_owner(caller))
        found = await problems.page(acquired, wanted, after=after, limit=query.limit + 1)
    page, cursor = cut(found, query.limit, lambda item: item.id)
    return ProblemPage(items=[problem_item(item) for item in page], next_cursor=cursor)


def drafts_owner(caller: Account) -> AccountId | None:
    """Whose problems the caller may change; None: all."""
    return caller.id if caller.role is not Role.ADMIN else None


async def common_tags(state: AppState) -> list[str]:
    """Tags of published problems, the most frequent first."""

    async def load() -> Loaded:
        async with connection(state.pool) as acquired:
            found = await problems.common_tags(acquired, limit=MAX_COMMON_TAGS)
        return Loaded(json.dumps(found).encode())

    version = await state.cache_invalidation.problems_version()
    entry = await state.cache.get(PROBLEM_LIST, "tags", load, version=version)
    tags: list[str] = json.loads(entry.body or b"[]")
    return tags


async def problem_titles(
    state: AppState, wanted: Iterable[str]
) -> Mapping[ProblemId, ProblemTitle]:
    """Titles of problems whose ids the caller may know."""
    async with connection(state.pool) as acquired:
        return await problems.titles(acquired, map(ProblemId, wanted))


async def next_unsolved(
    state: AppState, caller: Account, problem: str
) -> ProblemListItem | None:
    """A problem to go on with: the next harder one that the caller has not tried, else the
    easiest, else the easiest that the caller tried in vain.
    """
    steps = (
        (ProblemId(problem), ProblemResult.OPEN),
        (None, ProblemResult.OPEN),
        (None, ProblemResult.TRIED),
    )
    async with connection(state.pool) as acquired:
        for after, result in steps:
            wanted = ProblemFilter(result=result, sort=ProblemSort.DIFFICULTY)
            found = await problems.page(
                acquired, wanted, after=after, limit=1, account=caller.id
            )
            if found:
                return found[0]
    return None


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
    async with connection(state.pool) as acquired:
        summary = await visible_summary(acquired, caller, problem_id)
        counts = await counters.problem_counts(acquired, summary.id)
    return problem_out(summary, counts)


async def visible_summary(
    acquired: Connection, caller: Account, problem_id: str
) -> ProblemSummary:
    found = await problems.get(acquired, checked_id(problem_id))
    if found is None or found.retired or found.unlisted or not found.is_open_to(caller):
        raise unknown_problem()
    return found


async def cached_problem(state: AppState, problem_id: str) -> CacheEntry:
    """A `ProblemOut` as JSON."""
    problem = checked_id(problem_id)

    async def load() -> Loaded | None:
        async with connection(state.pool) as acquired:
            summary = await problems.get(acquired, problem)
            hidden = summary is None or summary.retired or not summary.published
            if summary is None or hidden or summary.unlisted:
                return None
            counts = await counters.problem_counts(acquired, problem)
        return Loaded(to_json(problem_out(summary, counts)))

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
