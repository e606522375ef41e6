"""The I/O steps (send, wait, stream) that generators yield, so that both clients share all
logic (sans I/O).
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeAlias, TypeVar

import httpx

T = TypeVar("T")

TIMEOUT_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class Request:
    """A request; its result is an `HttpOutcome`."""

    method: str
    path: str
    params: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    json: Any = None
    timeout_s: float = TIMEOUT_S
    """The longest time without any data of the server."""
    is_repeatable: bool = True
    """False: the server might do it twice if it is sent again after an unclear failure."""
    status_if_done: int | None = None
    """A repeat with this status shows that the first attempt was carried out."""

    def http_options(self) -> dict[str, Any]:
        """Arguments of `httpx.Client.build_request`."""
        return {
            "method": self.method,
            "url": self.path,
            "params": self.params,
            "headers": self.headers,
            "json": self.json,
            # With many calls at once, some wait for those that wait for the end of a program.
            "timeout": httpx.Timeout(self.timeout_s, pool=None),
        }


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    headers: Mapping[str, str]
    """The names are in lower case."""
    body: bytes = b""
    """Empty if the body is read as a stream."""

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


HttpOutcome: TypeAlias = HttpAnswer | httpx.RequestError
"""An answer, or why there is none."""


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class OpenStream:
    """A request whose answer is read by `ReadStream` if it is a success; its result is an
    `HttpOutcome`. A stream that was open is closed.
    """

    request: Request


@dataclass(frozen=True, slots=True)
class ReadStream:
    """The result is the next bytes, none at the end, or a `httpx.RequestError`."""


@dataclass(frozen=True, slots=True)
class Emit(Generic[T]):
    """Hands an item to the caller, who iterates."""

    item: T


Step: TypeAlias = Request | Pause | OpenStream | ReadStream
Steps: TypeAlias = Generator[Step, Any, T]
"""The steps of a call that returns a T. The result of each step is sent into the generator."""
ItemSteps: TypeAlias = Generator[Step | Emit[T], Any, None]
"""The steps of an iterator over T."""
