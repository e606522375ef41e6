"""Checks the signatures of judge hosts, and counts the requests that it refuses (M1)."""

import time
from dataclasses import dataclass, field
from typing import Annotated, Final, NoReturn, TypeVar

import structlog
from fastapi import Security
from fastapi.openapi.models import APIKey, APIKeyIn
from fastapi.security.base import SecurityBase
from pydantic import BaseModel
from starlette.requests import Request

from deemster.api.admission import network_address
from deemster.api.app_state import AppState, app_state
from deemster.api.http.body import check_media_type, parse_json, read_body
from deemster.api.http.errors import (
    InvalidSignature,
    Replayed,
    Revoked,
    SignatureExpired,
    SignatureMissing,
    TooLarge,
    TooSlow,
    UnknownHost,
)
from deemster.domain.errors import Refused
from deemster.domain.ids import GENERATED_ID
from deemster.domain.judge_host import HostKey, JudgeHostId, derive_key
from deemster.domain.limits import MIB
from deemster.domain.request_signature import (
    CONTENT_TYPE,
    HOST,
    NONCE,
    SIGNATURE,
    TIMESTAMP,
    SignatureFault,
    SignedRequest,
    find_fault,
)
from deemster.pipeline.remote.messages import MESSAGE_BYTES
from deemster.store import judge_hosts
from deemster.store.judge_hosts import RegisteredHost
from deemster.store.pool import connection

STRANGER_BYTES: Final = MIB
"""The largest body that is read for a host that does not exist."""
BRIEF_BYTES: Final = 2 * MIB
"""The largest message that has neither sources nor results."""
NEEDED_HEADERS: Final = (HOST, TIMESTAMP, NONCE, SIGNATURE)
FAULTS: Final[dict[SignatureFault, tuple[type[InvalidSignature], str]]] = {
    SignatureFault.MISSING: (
        SignatureMissing,
        "Sign the request with the key of a judge host: see docs/judge-hosts.md.",
    ),
    SignatureFault.UNKNOWN_HOST: (
        UnknownHost,
        "There is no such judge host: an admin makes a key with `deemster host add NAME`.",
    ),
    SignatureFault.EXPIRED: (
        SignatureExpired,
        "The timestamp is more than a minute from the time of the server: set the clock.",
    ),
    SignatureFault.FORGED: (
        InvalidSignature,
        "The signature is wrong: use the newest key of this host, and sign what you send.",
    ),
    SignatureFault.REPLAYED: (
        Replayed,
        "The nonce was used before: make a new one for each request.",
    ),
}

M = TypeVar("M", bound=BaseModel)
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class HostRequest:
    """A request that was signed by a host which is not revoked, and that is not a repeat."""

    host: RegisteredHost
    key: HostKey = field(repr=False)
    """For the signature of the answer."""
    content_type: str
    body: bytes = field(repr=False)

    def message(self, model: type[M]) -> M:
        check_media_type(self.content_type)
        return parse_json(self.body, model)


class HostSignature(SecurityBase):
    """The OpenAPI document names it."""

    def __init__(self, max_bytes: int) -> None:
        self.model = APIKey.model_validate(
            {
                "in": APIKeyIn.header,
                "name": "Deemster-Signature",
                "description": "HMAC-SHA256 by the key of a judge host: docs/judge-hosts.md.",
            }
        )
        self.scheme_name = "judge_host"
        self._most_bytes = max_bytes

    async def __call__(self, request: Request) -> HostRequest:
        headers = {
            name: request.headers.get(name, "") for name in (CONTENT_TYPE, *NEEDED_HEADERS)
        }
        if not all(headers[name] for name in NEEDED_HEADERS):
            await refuse(request, error_of(SignatureFault.MISSING))
        state = app_state(request)
        seen = state.seen_hosts.get(headers[HOST])
        host = seen or await find_host(state, headers[HOST])
        body = await self._read_body(request, host)
        query = request.scope["query_string"].decode("latin-1")
        signed = SignedRequest(request.method, request.scope["path"], query, headers, body)
        key = key_of(state, headers[HOST], host)
        fault = find_fault(key.secret, signed, now_s=time.time())
        if fault is SignatureFault.FORGED and seen is not None:
            # The key may have been replaced since the host was seen.
            host = await find_host(state, headers[HOST])
            key = key_of(state, headers[HOST], host)
            fault = find_fault(key.secret, signed, now_s=time.time())
        if host is None:
            await refuse(request, error_of(SignatureFault.UNKNOWN_HOST))
        if fault is not None:
            await refuse(request, error_of(fault))
        if host.is_revoked:
            await refuse(request, revoked())
        async with connection(state.dependencies.async_commit_pool) as acquired:
            current, is_new = await judge_hosts.use_nonce(acquired, host.id, headers[NONCE])
        state.seen_hosts.put(current.id, current)
        if current.is_revoked:
            await refuse(request, revoked())
        if current.generation != host.generation:
            await refuse(request, error_of(SignatureFault.FORGED))
        if not is_new:
            await refuse(request, error_of(SignatureFault.REPLAYED))
        structlog.contextvars.bind_contextvars(judgeHost=host.id)
        return HostRequest(current, key, headers[CONTENT_TYPE], body)

    async def _read_body(self, request: Request, host: RegisteredHost | None) -> bytes:
        """The signature covers the body, so the server reads it before it knows the caller. It
        reads a large one only for the id of a host, which nobody can guess.
        """
        most = self._most_bytes if host else min(STRANGER_BYTES, self._most_bytes)
        try:
            return await read_body(request, most)
        except (TooLarge, TooSlow) as fault:
            await refuse(request, fault if host else error_of(SignatureFault.UNKNOWN_HOST))


async def find_host(state: AppState, host: str) -> RegisteredHost | None:
    async with connection(state.pool) as acquired:
        return await judge_hosts.find(acquired, well_formed(host))


def key_of(state: AppState, name: str, host: RegisteredHost | None) -> HostKey:
    """An unknown host gets a key, too: both answers take the same time."""
    generation = host.generation if host is not None else 0
    return derive_key(state.dependencies.secret, JudgeHostId(name), generation)


def revoked() -> Revoked:
    return Revoked("An admin revoked this judge host: ask for a new key.")


def error_of(fault: SignatureFault) -> InvalidSignature:
    kind, text = FAULTS[fault]
    return kind(text)


def well_formed(host: str) -> str:
    """A stranger may send anything as an id, which neither database nor log must get."""
    return host if GENERATED_ID.fullmatch(host) else ""


async def refuse(request: Request, fault: Refused) -> NoReturn:
    """Counts the refusal, unless so many come from the address that counting costs too much."""
    state = app_state(request)
    await state.auth.throttle.count_refused_host(request)
    async with connection(state.pool) as acquired:
        await judge_hosts.count_refusal(acquired, fault.code)
    log.warning(
        "judge_host.refused",
        reason=fault.code,
        judgeHost=well_formed(request.headers.get(HOST, "")),
        address=network_address(request),
    )
    raise fault


HostCall = Annotated[HostRequest, Security(HostSignature(MESSAGE_BYTES))]
BriefHostCall = Annotated[HostRequest, Security(HostSignature(BRIEF_BYTES))]
