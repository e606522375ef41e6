"""Answers a repeated Idempotency-Key with its first response: a request acts once (I1)."""

import base64
import hashlib
import hmac
from collections.abc import Awaitable, Callable

from cryptography.fernet import Fernet
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from deemster.api.http.idempotency_key import idempotency_key
from deemster.api.state import app_state
from deemster.domain.account import Account
from deemster.store import idempotency_keys
from deemster.store.idempotency_keys import StoredResponse
from deemster.store.pool import Connection


async def answer_once(
    request: Request,
    caller: Account,
    writing: Connection,
    asked: BaseModel | str | None,
    make: Callable[[], Awaitable[Response]],
) -> Response:
    """`make` works in the transaction of `writing`: its answer is kept with what it made."""
    key = idempotency_key(request)
    if key is None:
        return await make()
    secret = app_state(request).dependencies.secret
    kept = await idempotency_keys.claim(
        writing, caller.id, key, digest_of(secret, request, asked)
    )
    if kept is not None:
        return told_again(secret, kept)
    made = await make()
    sealed = seal_of(secret).encrypt(bytes(made.body))
    kept = StoredResponse(made.status_code, made.headers.get("location"), sealed)
    await idempotency_keys.store_response(writing, caller.id, key, kept)
    return made


async def answered_before(
    request: Request, caller: Account, reading: Connection, asked: BaseModel | str
) -> Response | None:
    """For what takes long to make: whether it has to be made at all."""
    key = idempotency_key(request)
    if key is None:
        return None
    secret = app_state(request).dependencies.secret
    kept = await idempotency_keys.find(
        reading, caller.id, key, digest_of(secret, request, asked)
    )
    return told_again(secret, kept) if kept is not None else None


def told_again(secret: bytes, kept: StoredResponse) -> Response:
    headers = {"Location": kept.location} if kept.location else None
    content = seal_of(secret).decrypt(kept.sealed)
    return Response(content, kept.status, headers, "application/json")


def digest_of(secret: bytes, request: Request, asked: BaseModel | str | None) -> bytes:
    """By a key: there may be a password in it, which a plain hash would not hide."""
    body = asked.model_dump_json() if isinstance(asked, BaseModel) else asked or ""
    text = f"once\n{request.method} {request.url.path}\n{body}"
    return hmac.digest(secret, text.encode(), hashlib.sha256)


def seal_of(secret: bytes) -> Fernet:
    key = hmac.digest(secret, b"once", hashlib.sha256)
    return Fernet(base64.urlsafe_b64encode(key))
