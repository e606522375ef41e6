"""Does what a request asks for once, however often it comes with one Idempotency-Key (I1)."""

import base64
import hashlib
import hmac
from collections.abc import Awaitable, Callable

from cryptography.fernet import Fernet
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from deemster.api.desk import desk_of
from deemster.api.idempotency import idempotency_key
from deemster.domain.account import Account
from deemster.store import once
from deemster.store.once import Kept
from deemster.store.pool import Connection


async def answer_once(
    request: Request,
    caller: Account,
    writing: Connection,
    asked: BaseModel | None,
    make: Callable[[], Awaitable[Response]],
) -> Response:
    """`make` works in the transaction of `writing`: its answer is kept with what it made."""
    key = idempotency_key(request)
    if key is None:
        return await make()
    seal = seal_of(desk_of(request).service.secret)
    kept = await once.claim(writing, caller.id, key, digest_of(request, asked))
    if kept is not None:
        headers = {"Location": kept.location} if kept.location else None
        content = seal.decrypt(kept.sealed)
        return Response(content, kept.status, headers, "application/json")
    made = await make()
    sealed = seal.encrypt(bytes(made.body))
    kept = Kept(made.status_code, made.headers.get("location"), sealed)
    await once.keep(writing, caller.id, key, kept)
    return made


def digest_of(request: Request, asked: BaseModel | None) -> bytes:
    body = asked.model_dump_json() if asked is not None else ""
    return hashlib.sha256(f"{request.method} {request.url.path}\n{body}".encode()).digest()


def seal_of(secret: bytes) -> Fernet:
    key = hmac.digest(secret, b"once", hashlib.sha256)
    return Fernet(base64.urlsafe_b64encode(key))
