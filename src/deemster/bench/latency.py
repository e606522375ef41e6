"""Measures the time from a POST until its client is told the result, beside the commit."""

import asyncio
import itertools
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from deemster.bench.burst import Queue, start_roles
from deemster.bench.load.api_client import ApiClient
from deemster.bench.load.service import BenchService, make_problem, open_service
from deemster.bench.machine import describe_machine
from deemster.domain.errors import Unavailable
from deemster.domain.ids import ProblemId
from deemster.pipeline.judge.verify.progress import Progress
from deemster.store import consistency
from deemster.store.pool import connection
from deemster.wiring.address import Address

WARM_UP: Final = 5
"""The first ones compile the program and fetch the problem."""
POLL_S: Final = 0.01
WAIT_S: Final = 30
TOLD_TIMEOUT_S: Final = 60.0
PAUSE_S: Final = 0.05
"""Between two measurements, so that none delays the next."""
CASES: Final = 11
PROBLEM: Final = ProblemId("prob_latency")
PACKAGE: Final = {
    "problem.yaml": "problem_format_version: '2025-09'\nname: Double\n"
    "uuid: 0b0c8f0e-7a43-4a5c-9a2c-55c6e7b0a1d2\nlimits:\n  time_limit: 2\n",
    **{f"data/secret/{case:02}.in": f"{case}\n" for case in range(CASES)},
    **{f"data/secret/{case:02}.ans": f"{2 * case}\n" for case in range(CASES)},
}
SOURCE: Final = r"""#include <stdio.h>
int main(void) {
    int n;
    if (scanf("%d", &n) != 1) return 1;
    printf("%d\n", 2 * n);
}
"""


@dataclass(frozen=True, slots=True)
class WorkKind:
    """A kind of work whose latency is measured."""

    name: str
    path: str
    body: Mapping[str, object]
    id_field: str
    """The field of the response to the POST that has the id."""
    final_event: bytes
    """Name of the event that tells the result."""
    final_status: bytes
    """The part of a response that tells the result."""
    has_account_events: bool
    """Whether the stream of the account has its events."""


SUBMISSIONS: Final = WorkKind(
    name="submissions",
    path="/v1/submissions",
    body={"problem_id": PROBLEM, "language": "c", "source_code": SOURCE},
    id_field="id",
    final_event=b"event: submission.finished",
    final_status=b'"status":"finished"',
    has_account_events=True,
)
EXECUTIONS: Final = WorkKind(
    name="executions",
    path="/v1/executions",
    body={"language": "c", "source_code": SOURCE, "stdin": "7\n"},
    id_field="execution_id",
    final_event=b"event: end",
    final_status=b'"status":"COMPLETED"',
    has_account_events=False,
)
KINDS: Final = (SUBMISSIONS, EXECUTIONS)


@dataclass(frozen=True, slots=True)
class Told:
    """When one client was told one result; times since the epoch."""

    id: str
    sent_s: float
    told_s: float


async def measure(
    rounds: int, queue: Queue, directory: Path | None, progress: Progress
) -> dict[str, Any]:
    timestamps = {"track_commit_timestamp": "on"}
    async with open_service(directory, 1, database_settings=timestamps) as service:
        await make_problem(service.settings, service.directory / "double", PROBLEM, PACKAGE)
        async with start_roles(service, queue, requests_per_second_user=100_000) as address:
            results = {
                kind.name: await measure_kind(service, address, kind, rounds, progress)
                for kind in KINDS
            }
    return {
        **results,
        "rounds": rounds,
        "cases": CASES,
        "poll_ms": POLL_S * 1000,
        "queue": queue.value,
        "machine": describe_machine(),
    }


async def measure_kind(
    service: BenchService, address: Address, kind: WorkKind, rounds: int, progress: Progress
) -> dict[str, dict[str, float]]:
    """All ways of being told take turns, one client after another."""
    ways = ways_of(kind)
    told: dict[str, list[Told]] = {name: [] for name in ways}
    times = WARM_UP + rounds
    async with ApiClient.open(address, service.admin) as api:
        client = LatencyClient(api, kind)
        with progress.step(f"Measuring {kind.name}", times * len(ways)) as advance:
            for name, way in list(ways.items()) * times:
                told[name].append(await way(client))
                advance()
                await asyncio.sleep(PAUSE_S)
    told = {name: each[WARM_UP:] for name, each in told.items()}
    ids = [each.id for each in itertools.chain(*told.values())]
    async with connection(service.pool) as acquired:
        commits = await consistency.list_commits(acquired, ids)
    return {name: figures(each, commits) for name, each in told.items()}


class LatencyClient:
    """One client with one connection for requests; each event stream has its own."""

    def __init__(self, api: ApiClient, kind: WorkKind) -> None:
        self._api = api
        self._kind = kind
        self._body = json.dumps(kind.body)

    async def told_by_wait(self) -> Told:
        sent_s, work = await self._post()
        async with asyncio.timeout(TOLD_TIMEOUT_S):
            while not await self._has_ended(f"{work}?wait={WAIT_S}"):
                pass
        return Told(work, sent_s, time.time())

    async def told_by_polling(self) -> Told:
        sent_s, work = await self._post()
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(TOLD_TIMEOUT_S):
            next_s = loop.time()
            while not await self._has_ended(work):
                next_s = max(next_s + POLL_S, loop.time())
                await asyncio.sleep(next_s - loop.time())
        return Told(work, sent_s, time.time())

    async def told_by_events(self) -> Told:
        """By the stream of the one submission or execution, which is opened after the POST."""
        sent_s, work = await self._post()
        async with self._api.stream(f"{self._kind.path}/{work}/events") as stream:
            await self._read_final(stream, work)
        return Told(work, sent_s, time.time())

    async def told_by_account_events(self) -> Told:
        """By the stream of all submissions of the account, which was open before."""
        async with self._api.stream("/v1/events") as stream:
            await self._read_until(stream, b"retry: ")
            sent_s, work = await self._post()
            await self._read_final(stream, work)
        return Told(work, sent_s, time.time())

    async def _post(self) -> tuple[float, str]:
        sent_s = time.time()
        accepted = await self._api.request("POST", self._kind.path, self._body)
        return sent_s, json.loads(accepted)[self._kind.id_field]

    async def _has_ended(self, work: str) -> bool:
        shown = await self._api.request("GET", f"{self._kind.path}/{work}")
        return self._kind.final_status in shown

    async def _read_final(self, stream: asyncio.StreamReader, work: str) -> None:
        """The account's stream may still tell the end of an earlier submission."""
        data = b""
        while work.encode() not in data:
            await self._read_until(stream, self._kind.final_event)
            data = await self._read_until(stream, b"data: ")

    async def _read_until(self, stream: asyncio.StreamReader, start: bytes) -> bytes:
        async with asyncio.timeout(TOLD_TIMEOUT_S):
            while line := await stream.readline():
                if line.startswith(start):
                    return line
        raise Unavailable(f"A stream of the API ended before the line {start.decode()!r}.")


Way = Callable[[LatencyClient], Awaitable[Told]]
WAYS: Final[Mapping[str, Way]] = {
    "wait": LatencyClient.told_by_wait,
    "events": LatencyClient.told_by_events,
    "account_events": LatencyClient.told_by_account_events,
    "polling": LatencyClient.told_by_polling,
}


def ways_of(kind: WorkKind) -> dict[str, Way]:
    return {
        name: way
        for name, way in WAYS.items()
        if kind.has_account_events or name != "account_events"
    }


def figures(told: Sequence[Told], commits: dict[str, float]) -> dict[str, float]:
    """`ratio` compares the medians of the same submissions or executions."""
    told_ms = sorted((each.told_s - each.sent_s) * 1000 for each in told)
    committed_ms = sorted((commits[each.id] - each.sent_s) * 1000 for each in told)
    return {
        "committed_p50_ms": round(quantile(committed_ms, 0.5), 1),
        "committed_p99_ms": round(quantile(committed_ms, 0.99), 1),
        "told_p50_ms": round(quantile(told_ms, 0.5), 1),
        "told_p99_ms": round(quantile(told_ms, 0.99), 1),
        "ratio": round(quantile(told_ms, 0.5) / quantile(committed_ms, 0.5), 3),
    }


async def verdict_ms(api: ApiClient, body: str) -> float:
    """Submits, and waits for the verdict by `?wait=`."""
    began_s = time.monotonic()
    accepted = json.loads(await api.request("POST", "/v1/submissions", body))
    path = f"/v1/submissions/{accepted['id']}?wait={WAIT_S}"
    while json.loads(await api.request("GET", path))["verdict"] is None:
        pass
    return (time.monotonic() - began_s) * 1000


def quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
