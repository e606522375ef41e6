"""Decides when a request is sent again, and when its failure is an error (I1)."""

import random
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import quote

import httpx

from deemster.client.endpoint import Endpoint
from deemster.client.errors import NoAnswerError, error_of_answer, retry_after
from deemster.client.models.parsing import Model, parse, parse_json
from deemster.client.steps import HttpAnswer, HttpOutcome, Pause, Request, Steps

M = TypeVar("M", bound=Model)

NOT_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout)
"""After these faults the server has certainly not seen the request."""
OWN_FAULTS: Final = (httpx.LocalProtocolError, httpx.UnsupportedProtocol)
"""The request itself can't be sent, today or tomorrow."""
TOO_MANY_REQUESTS: Final = 429
JITTER: Final = 0.25


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how long a client tries again.

    Requests that create something carry an idempotency key, so a repeat creates nothing more.
    """

    pauses_s: tuple[float, ...] = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
    """Pauses before the second attempt, the third and so on; up to a quarter is added."""
    longest_pause_s: float = 30.0
    """If the server asks for a longer pause, the answer is an error at once."""
    statuses: frozenset[int] = frozenset({TOO_MANY_REQUESTS, 502, 503, 504})
    """Answers after which the request is sent again."""

    def pause_s(self, failures: int, request: Request, outcome: HttpOutcome) -> float | None:
        """The pause before the next attempt, after so many failures; None: there is none."""
        if not self._may_repeat(request, outcome):
            return None
        asked_s = (retry_after(outcome.headers) or 0) if isinstance(outcome, HttpAnswer) else 0
        if failures > len(self.pauses_s) or asked_s > self.longest_pause_s:
            return None
        pause_s = max(self.pauses_s[failures - 1], asked_s)
        # Clients that failed at the same time must not come back at the same time.
        return pause_s * random.uniform(1, 1 + JITTER)  # noqa: S311 - no secret

    def _may_repeat(self, request: Request, outcome: HttpOutcome) -> bool:
        if isinstance(outcome, HttpAnswer):
            # Of these statuses, only 429 promises that nothing was done.
            is_safe = request.is_repeatable or outcome.status == TOO_MANY_REQUESTS
            return outcome.status in self.statuses and is_safe
        if isinstance(outcome, OWN_FAULTS):
            return False
        return request.is_repeatable or isinstance(outcome, NOT_SENT)


@dataclass(frozen=True, slots=True)
class Exchange:
    """Sends requests to one server."""

    endpoint: Endpoint
    retries: Retries

    def send(self, request: Request) -> Steps[HttpAnswer]:
        """Returns an answer that is a success, or raises an `ApiError`."""
        failures = 0
        while True:
            outcome: HttpOutcome = yield request
            if isinstance(outcome, HttpAnswer) and is_done(request, outcome, failures):
                return outcome
            failures += 1
            yield Pause(self.pause_s(failures, request, outcome))

    def fetch(self, kind: type[M], request: Request) -> Steps[M]:
        """Returns the object in the answer."""
        answer = yield from self.send(request)
        return parse(kind, parse_json(answer.body))

    def pause_s(self, failures: int, request: Request, outcome: HttpOutcome) -> float:
        """Raises the error if there is no further attempt."""
        pause_s = self.retries.pause_s(failures, request, outcome)
        if pause_s is not None:
            return pause_s
        if isinstance(outcome, HttpAnswer):
            raise error_of_answer(outcome.status, outcome.headers, outcome.body)
        reason = f"{type(outcome).__name__}: {outcome}".rstrip(": ")
        message = f"{self.endpoint.url} does not answer ({reason})."
        raise NoAnswerError(message) from outcome


def is_done(request: Request, answer: HttpAnswer, failures: int) -> bool:
    return answer.is_success or (failures > 0 and answer.status == request.status_if_done)


def creating(path: str, body: Mapping[str, Any], key: str | None) -> Request:
    """A request that creates something; all its repeats have the same key."""
    headers = {"Idempotency-Key": key or str(uuid.uuid4())}
    return Request("POST", path, headers=headers, json=body)


def path_of(*parts: str | int) -> str:
    """The path of an object; ids come from callers and must not change its structure."""
    for part in parts:
        if part in {"", ".", ".."}:
            raise ValueError(f"{part!r} can't be an id.")
    return "/v1/" + "/".join(quote(str(part), safe="") for part in parts)


def given(**params: object) -> dict[str, str]:
    """Leaves out what is None."""
    return {name: str(value) for name, value in params.items() if value is not None}
