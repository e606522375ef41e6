"""`/v1/admin/users/{id}/heng-keys`: access keys of accounts that heng clients use (M6)."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.app_state import app_state
from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import json_response, read_json, request_body
from deemster.api.http.errors import errors
from deemster.api.http.idempotent_replay import IDEMPOTENCY_KEY, respond_once
from deemster.api.http.paging import PageQuery, cut
from deemster.api.lookups import known_account
from deemster.api.models.accounts import BODY_BYTES
from deemster.api.models.heng_keys import (
    HengKeyIn,
    HengKeyOut,
    HengKeyPage,
    NewHengKeyOut,
    heng_key_out,
    new_heng_key_out,
)
from deemster.domain.heng_signature import secret_key_of
from deemster.domain.ids import HengAccessKey
from deemster.store import audit, heng
from deemster.store.pool import connection, transaction

router = APIRouter(tags=["admin"])
PATH: Final = "/v1/admin/users/{id}/heng-keys"


@router.get(PATH, response_model=HengKeyPage, responses=errors(404, 422))
async def list_heng_keys(
    request: Request,
    _caller: Caller,
    id: str,  # noqa: A002
    query: Annotated[PageQuery, Query()],
) -> Response:
    """Lists the access keys of an account, newest first, without their secret keys."""
    before = HengAccessKey(query.last_id) if query.last_id else None
    async with connection(app_state(request).pool) as acquired:
        account = (await known_account(acquired, id)).id
        found = await heng.key_page(acquired, account, before=before, limit=query.limit + 1)
    page, cursor = cut(found, query.limit, lambda view: view.id)
    items = [heng_key_out(view) for view in page]
    return json_response(HengKeyPage(items=items, next_cursor=cursor))


@router.post(
    PATH,
    status_code=201,
    response_model=NewHengKeyOut,
    openapi_extra={**request_body(HengKeyIn), **IDEMPOTENCY_KEY},
    responses=errors(400, 404, 408, 409, 413, 415, 422),
)
async def create_heng_key(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Creates an access key for an account. Only this response shows the secret key."""
    state = app_state(request)
    asked = await read_json(request, HengKeyIn, BODY_BYTES)
    async with transaction(state.pool) as acquired:
        account = (await known_account(acquired, id)).id

        async def create() -> Response:
            view = await heng.add_key(acquired, account, asked.name)
            actor = actor_of(request, caller)
            await audit.record(
                acquired, actor, "heng_key.make", view.id, account=account, name=asked.name
            )
            secret_key = secret_key_of(state.dependencies.secret, view.id)
            return json_response(new_heng_key_out(view, secret_key), 201)

        return await respond_once(request, caller, acquired, asked, create)


@router.delete(PATH + "/{key}", response_model=HengKeyOut, responses=errors(404))
async def revoke_heng_key(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    key: str,
) -> Response:
    """Revokes an access key at once. Tasks that it has sent are judged all the same."""
    async with transaction(app_state(request).pool) as acquired:
        account = (await known_account(acquired, id)).id
        view, was_valid = await heng.revoke_key(acquired, account, key)
        if was_valid:
            actor = actor_of(request, caller)
            await audit.record(acquired, actor, "heng_key.revoke", view.id, account=account)
    return json_response(heng_key_out(view))
