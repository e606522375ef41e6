"""Finds the account of a request that is signed as heng's clients do (M6)."""

from dataclasses import dataclass
from typing import Final

import structlog
from starlette.requests import Request

from deemster.api.app_state import AppState, app_state
from deemster.api.compat.request_json import BODY_BYTES
from deemster.api.http.body import read_body
from deemster.api.http.errors import Forbidden
from deemster.domain.account import Account
from deemster.domain.heng_signature import (
    ACCESS_KEY,
    NONCE,
    SIGNATURE,
    TIMESTAMP,
    is_signed,
    secret_key_of,
)
from deemster.domain.ids import GENERATED_ID, HengAccessKey
from deemster.domain.request_signature import SignedRequest
from deemster.store import heng
from deemster.store.pool import connection

VALID_S: Final = 60.0
"""How far the clock of a client may be from that of the database."""
MAX_NONCE_CHARS: Final = 128
MAX_DIGITS: Final = 12


class Unsigned(Forbidden):
    """The signature, its key, its time or its nonce is not valid."""

    code = "unsigned"


@dataclass(frozen=True, slots=True)
class Signer:
    account: Account
    access_key: HengAccessKey


async def read_signed(request: Request) -> tuple[Signer, bytes]:
    """Returns the signer and the body. Reads the body only if the key is known."""
    state = app_state(request)
    names = (ACCESS_KEY, NONCE, TIMESTAMP, SIGNATURE)
    key, nonce, timestamp, _ = (request.headers.get(name, "") for name in names)
    missing = [name for name in names if not request.headers.get(name)]
    if missing:
        raise Unsigned(f"The header {missing[0]} is missing: sign the request.")
    if len(nonce) > MAX_NONCE_CHARS or not nonce.isprintable():
        raise Unsigned(f"{NONCE} has more than {MAX_NONCE_CHARS} characters, or odd ones.")
    if not (timestamp.isascii() and timestamp.isdecimal()) or len(timestamp) > MAX_DIGITS:
        raise Unsigned(f"{TIMESTAMP} is not a number of seconds since 1970.")
    signer = await find_signer(request, state, key, float(timestamp))
    body = await read_body(request, BODY_BYTES)
    signed = SignedRequest(
        request.method, request.url.path, request.url.query, request.headers, body
    )
    if not is_signed(secret_key_of(state.dependencies.secret, key), signed):
        await state.auth.throttle.count_unknown_credentials(request)
        raise Unsigned("The signature does not match the request.")
    async with connection(state.pool) as acquired:
        if not await heng.use_nonce(acquired, signer.access_key, nonce):
            raise Unsigned(f"{NONCE} was used before: use a new one for each request.")
    structlog.contextvars.bind_contextvars(userId=signer.account.id)
    state.admission.count_request(signer.account)
    return signer, body


async def find_signer(request: Request, state: AppState, key: str, signed_at: float) -> Signer:
    owner = None
    if GENERATED_ID.fullmatch(key):
        async with connection(state.pool) as acquired:
            owner = await heng.find_key(acquired, key, signed_at)
    if owner is None:
        await state.auth.throttle.count_unknown_credentials(request)
        raise Unsigned("This access key is unknown or was revoked.")
    if abs(owner.age_s) > VALID_S:
        raise Unsigned(
            f"{TIMESTAMP} is {abs(owner.age_s):.0f} s {'old' if owner.age_s > 0 else 'ahead'}: "
            f"requests are valid for {VALID_S:.0f} s, so correct the clock of the client."
        )
    return Signer(owner.account, HengAccessKey(key))
