"""`/v1/admin/users/import`: adds the accounts of a class list, for admins (K4)."""

import hashlib
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.app_state import app_state
from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import json_response, media_type_of, read_body
from deemster.api.http.errors import WrongMedia, errors
from deemster.api.http.idempotent_replay import IDEMPOTENCY_KEY, respond_once
from deemster.api.models.user_import import ImportOut, UserImportQuery
from deemster.api.user_import.documents import CSV_TYPE, HTML_TYPE, to_csv, to_sheet
from deemster.api.user_import.log_ins import ImportPlan, import_class
from deemster.api.user_import.upload import MAX_BYTES, SHEET_POLICY, import_out, prepare_list
from deemster.store.pool import transaction

router = APIRouter(tags=["admin"])
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
    request: Request, caller: Caller, query: Annotated[UserImportQuery, Query()]
) -> Response:
    """Adds the accounts of a CSV list with the columns name, and optionally role, password,
    tier and daily_quota. The header Accept chooses JSON, text/csv, or a sheet to print
    (text/html).
    """
    state = app_state(request)
    if media_type_of(request) != CSV_TYPE:
        raise WrongMedia("Send the list as CSV, with the header Content-Type: text/csv.")
    body = await read_body(request, MAX_BYTES)
    prepared = await prepare_list(request, body, query)
    ended: list[bytes] = []
    async with transaction(state.pool) as acquired:

        async def create() -> Response:
            done = await import_class(acquired, prepared, actor_of(request, caller))
            ended.extend(done.ended)
            return json_response(import_out(done), 201)

        content = f"{query.model_dump_json()}\n{hashlib.sha256(body).hexdigest()}"
        response = await respond_once(request, caller, acquired, content, create)
    state.credentials.forget(ended)
    return in_accepted_form(request, response, prepared.plan)


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
