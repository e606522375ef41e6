"""Answers a repeated Idempotency-Key with its first response, and acts only once (I1)."""

import base64
import hashlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from cryptography.fernet import Fernet
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from deemster.api.app_state import AppState, app_state
from deemster.api.http.errors import FieldFault, Invalid
from deemster.domain.account import Account
from deemster.domain.errors import Refused, Unavailable
from deemster.store import idempotency_keys
from deemster.store.idempotency_keys import StoredResponse
from deemster.store.pool import Connection, connection
from deemster.store.submission_inserts import is_key_taken

HEADER: Final = "Idempotency-Key"
MAX_CHARS: Final = 255
IDEMPOTENCY_KEY: Final[dict[str, Any]] = {
    "parameters": [
        {
            "name": HEADER,
            "in": "header",
            "required": False,
            "description": "Repeat a request with the same key to get its first response "
            "again. The request is carried out once.",
            "schema": {"type": "string", "minLength": 1, "maxLength": MAX_CHARS},
        }
    ]
}


def idempotency_key(request: Request) -> str | None:
    return checked_key(request.headers.get(HEADER))


def checked_key(key: str | None) -> str | None:
    """Refuses a key that the database can't store, or not in its index."""
    if key is not None and (not 1 <= len(key) <= MAX_CHARS or "\0" in key):
        raise Invalid([FieldFault(HEADER, f"it must have 1 to {MAX_CHARS} characters")])
    return key


async def respond_once(
    request: Request,
    caller: Account,
    writing: Connection,
    content: BaseModel | str | None,
    create: Callable[[], Awaitable[Response]],
) -> Response:
    """`create` runs in the transaction of `writing`, which also stores its response."""
    key = idempotency_key(request)
    if key is None:
        return await create()
    secret = app_state(request).dependencies.secret
    digest = request_digest(secret, request, content)
    stored = await idempotency_keys.claim(writing, caller.id, key, digest)
    if stored is not None:
        return first_response(secret, stored)
    response = await create()
    sealed = cipher(secret).encrypt(bytes(response.body))
    stored = StoredResponse(response.status_code, response.headers.get("location"), sealed)
    await idempotency_keys.store_response(writing, caller.id, key, stored)
    return response


async def find_first_response(
    request: Request, caller: Account, reading: Connection, content: BaseModel | str
) -> Response | None:
    """For requests that take long to prepare: skips the preparation of a repeat."""
    key = idempotency_key(request)
    if key is None:
        return None
    secret = app_state(request).dependencies.secret
    digest = request_digest(secret, request, content)
    stored = await idempotency_keys.find(reading, caller.id, key, digest)
    return first_response(secret, stored) if stored is not None else None


@asynccontextmanager
async def pass_repeats(
    state: AppState, caller: Account, key: str | None
) -> AsyncIterator[None]:
    """Ignores a refusal if the key was used before: AcceptService then returns its submission,
    or refuses the key (I2).

    Keys of submissions are in their rows, so that a fresh key costs no query.
    """
    try:
        yield
    except (Refused, Unavailable):
        if key is None:
            raise
        async with connection(state.pool) as acquired:
            if not await is_key_taken(acquired, caller.id, key):
                raise


def first_response(secret: bytes, stored: StoredResponse) -> Response:
    headers = {"Location": stored.location} if stored.location else None
    content = cipher(secret).decrypt(stored.sealed)
    return Response(content, stored.status, headers, "application/json")


def request_digest(secret: bytes, request: Request, content: BaseModel | str | None) -> bytes:
    """Keyed, because the body may hold a password, which a plain hash would not hide."""
    body = content.model_dump_json() if isinstance(content, BaseModel) else content or ""
    text = f"once\n{request.method} {request.url.path}\n{body}"
    return hmac.digest(secret, text.encode(), hashlib.sha256)


def cipher(secret: bytes) -> Fernet:
    """Encrypts stored responses, because some of them hold a token."""
    key = hmac.digest(secret, b"once", hashlib.sha256)
    return Fernet(base64.urlsafe_b64encode(key))
