"""What a generator of load is told to do, and what it tells of it, as lines of JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

MARK: Final = "@" * 12
"""In a body, the place of the request's number: no two requests are the same."""


@dataclass(frozen=True, slots=True)
class LoadOrder:
    host: str
    port: int
    tokens: Sequence[str]
    """The senders, in turn."""
    body: str
    """JSON, with a mark in it."""
    first: int
    """Numbers go on from here."""
    seconds: float
    connections: int
    """Most that are open."""
    count: int | None = None
    """So many, spread evenly over the time, answered or not; None: as many as are answered."""
    with_keys: bool = False
    path: str = "/v1/submissions"

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What came of an order."""

    took_s: float
    ids: Sequence[str]
    """Of what was accepted."""
    latencies_ms: Sequence[float]
    """Of what was accepted, in the same order; from the time when it was due."""
    refused: Mapping[str, int]
    """By the type of the error."""
    errors: Mapping[str, int]
    """Without an answer, by what happened."""
    late_ms: float
    """What the generator itself was behind its time, at most."""

    @property
    def per_s(self) -> float:
        return len(self.ids) / self.took_s

    def quantile_ms(self, part: float) -> float:
        ordered = sorted(self.latencies_ms) or [0.0]
        return ordered[min(len(ordered) - 1, int(part * len(ordered)))]

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


def read_order(line: bytes) -> LoadOrder:
    return LoadOrder(**json.loads(line))


def read_tale(line: bytes) -> LoadResult:
    return LoadResult(**json.loads(line))
