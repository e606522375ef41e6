"""`/admin/dead-letters`: what could not be judged, and why; requeue or discard it (Q7, O8)."""

from typing import Final

from starlette.responses import Response

from deemster.api.dead_letters import (
    discard_dead_letter,
    list_dead_letters,
    requeue_dead_letter,
    show_dead_letter,
)
from deemster.api.models.dead_letters import DeadLetterQuery
from deemster.web.page import PageRequest, page_route

LETTERS: Final = "/admin/dead-letters"
LETTER: Final = LETTERS + "/{number}"


async def show_letters(page: PageRequest) -> Response:
    query = page.query(DeadLetterQuery)
    found = await list_dead_letters(page.state, query)
    return page.render("admin/dead_letters.html", found=found, state=query.state)


async def show_letter(page: PageRequest) -> Response:
    letter = await show_dead_letter(page.state, page.parameter("number"))
    return page.render("admin/dead_letter.html", letter=letter)


async def requeue(page: PageRequest) -> Response:
    number = page.parameter("number")
    await requeue_dead_letter(page.request, page.account, number)
    return page.redirect(f"{LETTERS}/{number}?done=requeued")


async def discard(page: PageRequest) -> Response:
    number = page.parameter("number")
    await discard_dead_letter(page.request, page.account, number)
    return page.redirect(f"{LETTERS}/{number}?done=discarded")


ROUTES: Final = [
    page_route(LETTERS, show_letters),
    page_route(LETTER, show_letter),
    page_route(LETTER + "/requeue", requeue, "POST"),
    page_route(LETTER + "/discard", discard, "POST"),
]
