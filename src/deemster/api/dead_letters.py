"""Lists, shows, requeues and discards dead letters, for routes and pages (Q7)."""

from starlette.requests import Request

from deemster.api.app_state import AppState, app_state
from deemster.api.authentication import actor_of
from deemster.api.http.paging import cut, parse_number
from deemster.api.models.dead_letters import (
    DeadLetterOut,
    DeadLetterPage,
    DeadLetterQuery,
    dead_letter_item,
    dead_letter_out,
)
from deemster.domain.account import Account
from deemster.domain.errors import NotFound
from deemster.pipeline.verdict import dead_letter_actions
from deemster.store import dead_letters
from deemster.store.pool import Connection, connection, transaction


async def list_dead_letters(state: AppState, query: DeadLetterQuery) -> DeadLetterPage:
    """Newest first."""
    async with connection(state.pool) as acquired:
        found = await dead_letters.page(
            acquired,
            include_resolved=query.state == "all",
            before=query.last_number,
            limit=query.limit + 1,
        )
    page, cursor = cut(found, query.limit, lambda letter: str(letter.id))
    items = [dead_letter_item(letter) for letter in page]
    return DeadLetterPage(items=items, next_cursor=cursor)


async def show_dead_letter(state: AppState, number: str) -> DeadLetterOut:
    async with connection(state.pool) as acquired:
        return await read_dead_letter(acquired, parse_dead_letter_number(number))


async def requeue_dead_letter(request: Request, caller: Account, number: str) -> None:
    state = app_state(request)
    async with transaction(state.pool) as writing:
        actor = actor_of(request, caller)
        await dead_letter_actions.requeue(
            writing, parse_dead_letter_number(number), actor=actor
        )
    state.cache_invalidation.forget_submissions()


async def discard_dead_letter(request: Request, caller: Account, number: str) -> DeadLetterOut:
    """Its submission stays failed."""
    letter = parse_dead_letter_number(number)
    async with transaction(app_state(request).pool) as writing:
        await dead_letter_actions.discard(writing, letter, actor=actor_of(request, caller))
        return await read_dead_letter(writing, letter)


async def read_dead_letter(acquired: Connection, number: int) -> DeadLetterOut:
    letter = await dead_letters.get(acquired, number)
    if letter is None:
        raise unknown_dead_letter()
    history = await dead_letters.history(acquired, letter.work)
    return dead_letter_out(letter, history)


def parse_dead_letter_number(number: str) -> int:
    found = parse_number(number)
    if found is None:
        raise unknown_dead_letter()
    return found


def unknown_dead_letter() -> NotFound:
    return NotFound("There is no such dead letter: see GET /v1/admin/dead-letters?state=all.")
