"""Asks a model by the chat completions of OpenAI's protocol; each failure is a result."""

import asyncio
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any, Final

import httpcore
from pydantic import BaseModel, ValidationError

from deemster.domain.model_tier import ModelTier
from deemster.pipeline.evaluate.prompt import Prompt
from deemster.public_addresses import BadDestination, Lookup, look_up, open_response

RESPONSE_BYTES: Final = 1 << 20
PATH: Final = "/chat/completions"
DEFAULT_RETRY_AFTER_S: Final = 5.0
MAX_RETRY_AFTER_S: Final = 3600.0


class CallFault(StrEnum):
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    """No connection, or a host that is not allowed."""
    BROKEN = "broken"
    """The connection broke before the whole response had arrived."""
    SERVER_ERROR = "server_error"
    RATE_LIMITED = "rate_limited"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Completion:
    content: str
    """Empty if the response has no usable content."""
    input_tokens: int | None
    output_tokens: int | None


@dataclass(frozen=True, slots=True)
class CallFailure:
    fault: CallFault
    retry_after_s: float = 0.0


class MessageBody(BaseModel):
    content: str | None = None


class ChoiceBody(BaseModel):
    message: MessageBody
    finish_reason: str | None = None


class UsageBody(BaseModel):
    prompt_tokens: int
    completion_tokens: int


class CompletionBody(BaseModel):
    choices: list[ChoiceBody]
    usage: UsageBody | None = None


class ModelEndpoint:
    """`keys` are API keys by name; they appear in no log and no error."""

    def __init__(
        self,
        keys: Mapping[str, str] | None = None,
        *,
        allow_private: bool = False,
        look_up: Lookup = look_up,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._keys = keys or {}
        self._allow_private = allow_private
        self._look_up = look_up
        self._tls = tls

    async def ask(
        self, tier: ModelTier, prompt: Prompt, *, call_key: str, timeout_s: float
    ) -> Completion | CallFailure:
        """`call_key` is the same for a repeated call, so that an endpoint can notice it."""
        if tier.key_name is not None and tier.key_name not in self._keys:
            return CallFailure(CallFault.REFUSED)
        try:
            async with asyncio.timeout(timeout_s):
                return await self._exchange(tier, request_body(tier, prompt), call_key)
        except (TimeoutError, httpcore.TimeoutException):
            return CallFailure(CallFault.TIMEOUT)
        except (BadDestination, httpcore.ConnectError):
            return CallFailure(CallFault.UNREACHABLE)
        except (httpcore.NetworkError, httpcore.ProtocolError):
            return CallFailure(CallFault.BROKEN)

    async def _exchange(
        self, tier: ModelTier, body: bytes, call_key: str
    ) -> Completion | CallFailure:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Idempotency-Key": call_key,
        }
        if tier.key_name is not None:
            headers["Authorization"] = f"Bearer {self._keys[tier.key_name]}"
        async with open_response(
            "POST",
            tier.base_url.rstrip("/") + PATH,
            headers,
            body,
            connect_s=tier.timeout_s,
            look_up=self._look_up,
            allow_private=self._allow_private,
            tls=self._tls,
        ) as response:
            if response.status != 200:
                return failure_of(response)
            content = bytearray()
            async for chunk in response.aiter_stream():
                content += chunk
                if len(content) > RESPONSE_BYTES:
                    return Completion("", None, None)
        return read_completion(bytes(content))


def request_body(tier: ModelTier, prompt: Prompt) -> bytes:
    body: dict[str, Any] = {
        "model": tier.model,
        "messages": list(prompt.messages),
        tier.token_limit.value: tier.max_output_tokens,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answers", "strict": True, "schema": prompt.schema},
        },
    }
    return json.dumps(body, ensure_ascii=False).encode()


def read_completion(content: bytes) -> Completion:
    try:
        body = CompletionBody.model_validate_json(content)
    except ValidationError:
        return Completion("", None, None)
    usage = body.usage
    text = body.choices[0].message.content if body.choices else None
    return Completion(
        text or "",
        max(0, usage.prompt_tokens) if usage else None,
        max(0, usage.completion_tokens) if usage else None,
    )


def failure_of(response: httpcore.Response) -> CallFailure:
    headers = {name.lower(): value.decode("latin-1") for name, value in response.headers}
    if response.status == 429:
        return CallFailure(CallFault.RATE_LIMITED, retry_after_s(headers))
    if response.status >= 500:
        return CallFailure(CallFault.SERVER_ERROR)
    return CallFailure(CallFault.REFUSED)


def retry_after_s(headers: Mapping[bytes, str]) -> float:
    """Reads Retry-After, which is a number of seconds or a date (RFC 9110)."""
    given = headers.get(b"retry-after", "").strip()
    if given.isascii() and given.isdecimal():
        return min(float(given[:9]), MAX_RETRY_AFTER_S)
    until, now = date_of(given), date_of(headers.get(b"date", ""))
    if until is None or now is None:
        return DEFAULT_RETRY_AFTER_S
    return min(max(0.0, (until - now).total_seconds()), MAX_RETRY_AFTER_S)


def date_of(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text)
    except ValueError:
        return None
