"""Imports a class list that was uploaded, for routes and pages (K4)."""

from dataclasses import dataclass
from typing import Final

from starlette.requests import Request

from deemster.api.authentication import actor_of
from deemster.api.models.user_import import ImportedUserOut, ImportOut, ImportQuery
from deemster.api.state import AppState, app_state
from deemster.api.user_import.class_list import ClassListRow, read_class_list
from deemster.api.user_import.log_ins import (
    ImportedClass,
    ImportPlan,
    given_passwords,
    import_class,
)
from deemster.domain.account import Account
from deemster.domain.errors import Refused
from deemster.domain.limits import MIB
from deemster.store.account_import import Outcome
from deemster.store.pool import Connection, transaction

MAX_BYTES: Final = 8 * MIB
MAX_GIVEN_PASSWORDS: Final = 100
"""Each takes a core for a fifth of a second."""
SHEET_POLICY: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
}


@dataclass(frozen=True, slots=True, repr=False)
class PreparedList:
    """A list whose lines are right, and whose passwords are hashed."""

    rows: list[ClassListRow]
    hashes: dict[str, str]
    plan: ImportPlan

    async def put(
        self, acquired: Connection, request: Request, caller: Account
    ) -> ImportedClass:
        actor = actor_of(request, caller)
        return await import_class(acquired, self.rows, self.hashes, self.plan, actor)


async def prepare_list(request: Request, content: bytes, query: ImportQuery) -> PreparedList:
    state = app_state(request)
    rows = read_class_list(content)
    plan = ImportPlan(
        base_url=state.settings.public_url or str(request.base_url),
        credentials=query.credentials,
        link_days=query.link_days,
        renew=query.renew,
    )
    return PreparedList(rows, await hash_given(state, given_passwords(rows)), plan)


async def import_list(request: Request, caller: Account, prepared: PreparedList) -> ImportOut:
    """In a transaction of its own."""
    state = app_state(request)
    async with transaction(state.pool) as acquired:
        done = await prepared.put(acquired, request, caller)
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
        created=done.count(Outcome.CREATED),
        renewed=done.count(Outcome.RENEWED),
        kept=done.count(Outcome.KEPT),
        users=[
            ImportedUserOut.model_validate(each, from_attributes=True) for each in done.log_ins
        ],
    )
