"""Measures the time from a POST until its client is told the result, beside the commit."""

import asyncio
import itertools
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from deemster.bench.burst import Queue, start_roles
from deemster.bench.doubling_problem import CASES, PACKAGE, PROBLEM, SOURCES, BareRuns
from deemster.bench.load.api_client import ApiClient
from deemster.bench.load.service import BenchService, make_problem, open_service
from deemster.bench.machine import describe_machine
from deemster.domain.errors import Unavailable
from deemster.pipeline.judge.verify.progress import Progress
from deemster.store import consistency
from deemster.store.pool import connection
from deemster.wiring.address import Address

WARM_UP: Final = 5
"""The first ones compile the program and fetch the problem."""
POLL_S: Final = 0.01
WAIT_S: Final = 30
TOLD_TIMEOUT_S: Final = 60.0
GOAL_OVER_BARE: Final = 1.3
GOAL_MORE_MS: Final = 15.0
"""A submission is to be told within this time, and the time of bare runs by the factor."""
PAUSE_S: Final = 0.05
"""Between two measurements, so that none delays the next."""


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
    is_submission: bool
    """Then the stream of the account has its events, and its cases are also run bare."""

    @property
    def language(self) -> str:
        return str(self.body["language"])


def submissions_in(name: str, language: str) -> WorkKind:
    return WorkKind(
        name=name,
        path="/v1/submissions",
        body={
            "problem_id": PROBLEM,
            "language": language,
            "source_code": SOURCES[language],
        },
        id_field="id",
        final_event=b"event: submission.finished",
        final_status=b'"status":"finished"',
        is_submission=True,
    )


SUBMISSIONS: Final = submissions_in("submissions", "c")
PYTHON_SUBMISSIONS: Final = submissions_in("python_submissions", "python3")
EXECUTIONS: Final = WorkKind(
    name="executions",
    path="/v1/executions",
    body={"language": "c", "source_code": SOURCES["c"], "stdin": "7\n"},
    id_field="execution_id",
    final_event=b"event: end",
    final_status=b'"status":"COMPLETED"',
    is_submission=False,
)
KINDS: Final = (SUBMISSIONS, PYTHON_SUBMISSIONS, EXECUTIONS)


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
        bare = await BareRuns.prepare(service.directory)
        results, goals = {}, {}
        async with start_roles(service, queue, requests_per_second_user=100_000) as address:
            for kind in KINDS:
                turns = KindTurns(service, kind, bare)
                results[kind.name] = await turns.measure(address, rounds, progress)
                if kind.is_submission:
                    goals[kind.name] = turns.goal()
    return {
        **results,
        "goals": goals,
        "rounds": rounds,
        "cases": CASES,
        "poll_ms": POLL_S * 1000,
        "queue": queue.value,
        "machine": describe_machine(),
    }


@dataclass(slots=True)
class KindTurns:
    """Measures one kind; all ways of being told take turns, one client after another."""

    service: BenchService
    kind: WorkKind
    bare: BareRuns
    bare_ms: list[float] = field(default_factory=list)
    """Times of bare runs of the same cases, between the turns."""

    async def measure(
        self, address: Address, rounds: int, progress: Progress
    ) -> dict[str, dict[str, float]]:
        ways = ways_of(self.kind)
        told: dict[str, list[Told]] = {name: [] for name in ways}
        times = WARM_UP + rounds
        async with ApiClient.open(address, self.service.admin) as api:
            client = LatencyClient(api, self.kind)
            with progress.step(f"Measuring {self.kind.name}", times * len(ways)) as advance:
                for _ in range(times):
                    for name, way in ways.items():
                        told[name].append(await way(client))
                        advance()
                        await asyncio.sleep(PAUSE_S)
                    if self.kind.is_submission:
                        self.bare_ms.append(
                            1000 * self.bare.submissions_s(self.kind.language, 1)
                        )
        told = {name: each[WARM_UP:] for name, each in told.items()}
        ids = [each.id for each in itertools.chain(*told.values())]
        async with connection(self.service.pool) as acquired:
            commits = await consistency.list_commits(acquired, ids)
        return {name: figures(each, commits) for name, each in told.items()}

    def goal(self) -> dict[str, float]:
        bare_ms = quantile(sorted(self.bare_ms), 0.5)
        goal_ms = GOAL_OVER_BARE * bare_ms + GOAL_MORE_MS
        return {"bare_p50_ms": round(bare_ms, 1), "told_p50_ms": round(goal_ms, 1)}


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
        if kind.is_submission or name != "account_events"
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
