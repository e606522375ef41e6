"""Imports a class list that was uploaded, for routes and pages (K4)."""

import asyncio
from typing import Final

from starlette.requests import Request

from deemster.api.app_state import AppState, app_state
from deemster.api.authentication import actor_of
from deemster.api.log_in_links import judge_url
from deemster.api.models.user_import import ImportedUserOut, ImportOut, UserImportQuery
from deemster.api.user_import.class_list import read_class_list
from deemster.api.user_import.log_ins import (
    ImportedClass,
    ImportPlan,
    PreparedClass,
    given_passwords,
    import_class,
    prepare_class,
)
from deemster.domain.account import Account
from deemster.domain.errors import Refused
from deemster.domain.limits import MIB
from deemster.store.account_import import ImportOutcome
from deemster.store.pool import transaction

MAX_BYTES: Final = 8 * MIB
MAX_GIVEN_PASSWORDS: Final = 100
"""Each takes a core for a fifth of a second."""
SHEET_POLICY: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
}


async def prepare_list(
    request: Request, content: bytes, query: UserImportQuery
) -> PreparedClass:
    state = app_state(request)
    rows = read_class_list(content)
    plan = ImportPlan(
        base_url=judge_url(request),
        credentials=query.credentials,
        link_days=query.link_days,
        renew=query.renew,
    )
    hashes = await hash_given(state, given_passwords(rows))
    return await asyncio.to_thread(prepare_class, rows, hashes, plan)


async def import_list(request: Request, caller: Account, prepared: PreparedClass) -> ImportOut:
    """In a transaction of its own."""
    state = app_state(request)
    async with transaction(state.pool) as acquired:
        done = await import_class(acquired, prepared, actor_of(request, caller))
    state.credentials.forget(done.ended)
    return import_out(done)


async def hash_given(state: AppState, passwords: list[str]) -> dict[str, str]:
    if len(passwords) > MAX_GIVEN_PASSWORDS:
        raise Refused(
            f"The list has more than {MAX_GIVEN_PASSWORDS} passwords, which would take long to "
            "hash: leave the column out to have passwords generated, or run "
            "`deemster user import`."
        )
    hashes = {}
    for password in passwords:
        async with state.auth.passwords.turn():
            hashes[password] = await state.auth.passwords.hash(password)
    return hashes


def import_out(done: ImportedClass) -> ImportOut:
    return ImportOut(
        created=done.count(ImportOutcome.CREATED),
        renewed=done.count(ImportOutcome.RENEWED),
        kept=done.count(ImportOutcome.KEPT),
        users=[
            ImportedUserOut.model_validate(each, from_attributes=True) for each in done.log_ins
        ],
    )
