"""`/v1/admin/users/import`: adds the accounts of a class list, for admins (K4)."""

import hashlib
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import json_response, media_type_of, read_body
from deemster.api.http.errors import WrongMedia, errors
from deemster.api.http.idempotent_replay import IDEMPOTENCY_KEY, respond_once
from deemster.api.models.user_import import ImportedUserOut, ImportOut, ImportQuery
from deemster.api.state import AppState, app_state
from deemster.api.user_import.class_list import read_class_list
from deemster.api.user_import.documents import CSV_TYPE, HTML_TYPE, to_csv, to_sheet
from deemster.api.user_import.log_ins import (
    ImportedClass,
    ImportPlan,
    given_passwords,
    import_class,
)
from deemster.domain.errors import Refused
from deemster.domain.limits import MIB
from deemster.store.account_import import Outcome
from deemster.store.pool import transaction

router = APIRouter(tags=["admin"])
MAX_BYTES: Final = 8 * MIB
MAX_GIVEN_PASSWORDS: Final = 100
"""Each takes a core for a fifth of a second."""
SHEET_POLICY: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
}
TEXT_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {CSV_TYPE: {"schema": {"type": "string"}}},
    }
}
ANSWERS: Final[dict[int | str, dict[str, Any]]] = {
    201: {
        "description": "The accounts with their log-ins",
        "content": {kind: {"schema": {"type": "string"}} for kind in (CSV_TYPE, HTML_TYPE)},
    }
}


@router.post(
    "/v1/admin/users/import",
    status_code=201,
    response_model=ImportOut,
    openapi_extra={**TEXT_BODY, **IDEMPOTENCY_KEY},
    responses={**ANSWERS, **errors(400, 408, 409, 413, 415, 422)},
)
async def import_users(
    request: Request, caller: Caller, query: Annotated[ImportQuery, Query()]
) -> Response:
    """Adds the accounts of a CSV list with the columns name, and optionally role, password,
    tier and daily_quota. The header Accept chooses JSON, text/csv, or a sheet to print
    (text/html).
    """
    state = app_state(request)
    if media_type_of(request) != CSV_TYPE:
        raise WrongMedia("Send the list as CSV, with the header Content-Type: text/csv.")
    body = await read_body(request, MAX_BYTES)
    rows = read_class_list(body)
    hashes = await hash_given(state, given_passwords(rows))
    plan = ImportPlan(
        base_url=state.settings.public_url or str(request.base_url),
        credentials=query.credentials,
        link_days=query.link_days,
        renew=query.renew,
    )
    ended: list[bytes] = []
    async with transaction(state.pool) as acquired:

        async def create() -> Response:
            actor = actor_of(request, caller)
            done = await import_class(acquired, rows, hashes, plan, actor)
            ended.extend(done.ended)
            return json_response(import_out(done), 201)

        content = f"{query.model_dump_json()}\n{hashlib.sha256(body).hexdigest()}"
        response = await respond_once(request, caller, acquired, content, create)
    state.credentials.forget(ended)
    return in_accepted_form(request, response, plan)


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


def in_accepted_form(request: Request, response: Response, plan: ImportPlan) -> Response:
    """A stored response is JSON, so a repeat can ask for another form of it."""
    accepted = request.headers.get("accept", "")
    if CSV_TYPE in accepted:
        users = ImportOut.model_validate_json(bytes(response.body)).users
        return Response(to_csv(users), response.status_code, media_type=CSV_TYPE)
    if HTML_TYPE in accepted:
        users = ImportOut.model_validate_json(bytes(response.body)).users
        sheet = to_sheet(users, plan.base_url, plan.link_days)
        return Response(sheet, response.status_code, SHEET_POLICY, HTML_TYPE)
    return response
