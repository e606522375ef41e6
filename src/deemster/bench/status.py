"""Measures reading the status of a submission, from the cache and from the database.

    python -m deemster.bench.status [--rounds 15] [--seconds 1.0] [--connections 8]

One API process with its own Postgres; both kinds take turns. From the cache, one submission is
read again and again; from the database, many are read, each once in the time for which the
cache keeps it. The figures over HTTP include all that a client waits for; those in the process
are of the function that makes the response body. Submissions have ended, or wait in a queue of
10,000, which has to be counted. Prints JSON.
"""

import argparse
import asyncio
import itertools
import json
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import uvloop

from deemster.api.submissions import cached_submission
from deemster.bench.load.connection import HttpConnection
from deemster.bench.load.processes import free_address, role, running, until_answered
from deemster.bench.load.service import PROBLEM, BenchService, open_service
from deemster.bench.machine import describe_machine
from deemster.cache.cache import Cache
from deemster.cache.kinds import STATUS
from deemster.domain.account import Account
from deemster.domain.ids import SUBMISSION, new_id
from deemster.store import accounts
from deemster.store.pool import connection

if TYPE_CHECKING:
    from deemster.api.app_state import AppState

ENDED = """
INSERT INTO submission (id, account_id, problem_id, revision, language, source, state, attempt,
    priority, request_digest, verdict, runtime_ms, memory_kb, passed_cases, total_cases,
    started_at, finished_at)
SELECT n.id, $2, p.id, p.revision, 'python3', repeat('0', 64), 'COMPLETED', 1, 1,
       sha256(n.id::bytea), 'Accepted', 12, 900, 3, 3, now(), now()
  FROM unnest($1::text[]) AS n (id), problem p WHERE p.id = $3"""
WAITING = """
INSERT INTO submission (id, account_id, problem_id, revision, language, source, state, attempt,
    priority, request_digest)
SELECT n.id, $2, p.id, p.revision, 'python3', repeat('0', 64), 'QUEUED', 0, 1000,
       sha256(n.id::bytea)
  FROM unnest($1::text[]) AS n (id), problem p WHERE p.id = $3"""
STATES = {"ended": (ENDED, 60_000), "waiting": (WAITING, 10_000)}
UNREACHABLE_LIMITS = {"requests_per_second_user": 1_000_000}

Measure = Callable[[Iterator[str], float], Awaitable[float]]
"""Reads for some seconds, and returns the number of answers per second."""


async def main(rounds: int, seconds: float, connections: int) -> None:
    async with open_service(None, 1) as service:
        async with connection(service.pool) as acquired:
            viewer = await accounts.find_by_name(acquired, "user0")
        assert viewer is not None
        ids = {name: await insert(service, viewer, *state) for name, state in STATES.items()}
        ways = {
            "http": await over_http(service, ids, rounds, seconds, connections),
            "in_process": await in_process(service, viewer, ids, rounds, seconds),
        }
    print(json.dumps({**ways, "connections": connections, "machine": describe_machine()}))


async def insert(
    service: BenchService, viewer: Account, statement: str, count: int
) -> list[str]:
    ids = [new_id(SUBMISSION) for _ in range(count)]
    async with connection(service.pool) as acquired:
        await acquired.execute(statement, ids, viewer.id, PROBLEM)
        await acquired.execute("VACUUM ANALYZE submission")
    # Mixed: the first in the queue are found sooner than the last.
    return [*ids[::7], *(each for number, each in enumerate(ids) if number % 7)]


async def over_http(
    service: BenchService,
    ids: dict[str, list[str]],
    rounds: int,
    seconds: float,
    connections: int,
) -> dict[str, Any]:
    address, log = free_address(), service.log("api")
    environment = service.environment(
        host=address.host, port=address.port, **UNREACHABLE_LIMITS
    )
    async with running(role("api"), environment, log) as process:
        await until_answered(address, "/healthz", process, log)
        opened = [
            await HttpConnection.connect(address.host, address.port) for _ in range(connections)
        ]

        async def measure(ids: Iterator[str], each_s: float) -> float:
            done = 0
            began_s = time.perf_counter()

            async def one(client: HttpConnection) -> None:
                nonlocal done
                while time.perf_counter() - began_s < each_s:
                    status, _ = await client.request(request(next(ids), service.tokens[0]))
                    assert status == 200, status
                    done += 1

            await asyncio.gather(*map(one, opened))
            return done / (time.perf_counter() - began_s)

        found = {name: await take_turns(measure, ids[name], rounds, seconds) for name in ids}
        for each in opened:
            each.close()
    return found


def request(submission: str, token: str) -> bytes:
    return (
        f"GET /v1/submissions/{submission} HTTP/1.1\r\nHost: bench\r\n"
        f"Authorization: Bearer {token}\r\n\r\n"
    ).encode()


async def in_process(
    service: BenchService,
    viewer: Account,
    ids: dict[str, list[str]],
    rounds: int,
    seconds: float,
) -> dict[str, Any]:
    async with Cache.open(None, "bench") as cache:
        state = cast("AppState", SimpleNamespace(pool=service.pool, cache=cache))

        async def measure(ids: Iterator[str], each_s: float) -> float:
            done = 0
            began_s = time.perf_counter()
            while time.perf_counter() - began_s < each_s:
                assert (await cached_submission(state, viewer, next(ids))).body
                done += 1
            return done / (time.perf_counter() - began_s)

        return {name: await take_turns(measure, ids[name], rounds, seconds) for name in ids}


async def take_turns(
    measure: Measure, ids: list[str], rounds: int, seconds: float
) -> dict[str, Any]:
    """In turns, so that other load on the machine affects both alike."""
    same, others = itertools.repeat(ids[len(ids) // 2]), itertools.cycle(ids)
    await measure(same, 1.0)
    await measure(others, 1.0)
    pairs = [
        (await measure(same, seconds), await measure(others, seconds)) for _ in range(rounds)
    ]
    fastest = max(slow for _, slow in pairs)
    assert len(ids) / fastest > STATUS.kept_s, (
        "the cache would hold them: insert more submissions"
    )
    return {
        "cached_per_s": round(statistics.median(fast for fast, _ in pairs)),
        "database_per_s": round(statistics.median(slow for _, slow in pairs)),
        "ratio": round(statistics.median(fast / slow for fast, slow in pairs), 2),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--connections", type=int, default=8)
    given = parser.parse_args()
    uvloop.run(main(given.rounds, given.seconds, given.connections))
