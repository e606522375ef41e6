"""What a status costs from the cache, and what it costs from the database.

    python bench/status.py [--rounds 15] [--seconds 1.0] [--connections 8]

One API process with its own Postgres; both take turns. From the cache is one submission, read
over and over; from the database are others like it, each read once within the time that the
cache keeps it. Over HTTP this is all that a client waits for; in the process it is the answer's
bytes alone, by the same function. Of submissions that have ended, and of those that wait in a
line of 10,000, whose places are counted. Prints JSON.
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

from deemster.api.routes.submissions import status_of
from deemster.bench.load.caller import Caller
from deemster.bench.load.servers import free_address, role, running, until_answered
from deemster.bench.load.stage import PROBLEM, BenchService, open_stage
from deemster.bench.sandbox import describe_machine
from deemster.cache.cache import Cache
from deemster.cache.kinds import STATUS
from deemster.domain.account import Account
from deemster.domain.ids import SUBMISSION, new_id
from deemster.store import accounts
from deemster.store.pool import connection

if TYPE_CHECKING:
    from deemster.api.state import AppState

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
SCENES = {"ended": (ENDED, 60_000), "waiting": (WAITING, 10_000)}
WIDE = {"requests_per_second_user": 1_000_000}

Press = Callable[[Iterator[str], float], Awaitable[float]]
"""Asks for so long, and says how many were answered a second."""


async def main(rounds: int, seconds: float, connections: int) -> None:
    async with open_stage(None, 1) as stage:
        async with connection(stage.pool) as acquired:
            viewer = await accounts.find_by_name(acquired, "user0")
        assert viewer is not None
        ids = {name: await make(stage, viewer, *scene) for name, scene in SCENES.items()}
        ways = {
            "http": await over_http(stage, ids, rounds, seconds, connections),
            "in_process": await in_process(stage, viewer, ids, rounds, seconds),
        }
    print(json.dumps({**ways, "connections": connections, "machine": describe_machine()}))


async def make(stage: BenchService, viewer: Account, statement: str, many: int) -> list[str]:
    ids = [new_id(SUBMISSION) for _ in range(many)]
    async with connection(stage.pool) as acquired:
        await acquired.execute(statement, ids, viewer.id, PROBLEM)
        await acquired.execute("VACUUM ANALYZE submission")
    # Not in order: the first in the line are found sooner than the last.
    return [*ids[::7], *(each for number, each in enumerate(ids) if number % 7)]


async def over_http(
    stage: BenchService,
    ids: dict[str, list[str]],
    rounds: int,
    seconds: float,
    connections: int,
) -> dict[str, Any]:
    address, log = free_address(), stage.log("api")
    environment = stage.environment(host=address.host, port=address.port, **WIDE)
    async with running(role("api"), environment, log) as process:
        await until_answered(address, "/healthz", process, log)
        callers = [await Caller.connect(address.host, address.port) for _ in range(connections)]

        async def press(asked: Iterator[str], each_s: float) -> float:
            done = 0
            began_s = time.perf_counter()

            async def one(caller: Caller) -> None:
                nonlocal done
                while time.perf_counter() - began_s < each_s:
                    status, _ = await caller.call(request(next(asked), stage.tokens[0]))
                    assert status == 200, status
                    done += 1

            await asyncio.gather(*map(one, callers))
            return done / (time.perf_counter() - began_s)

        found = {name: await take_turns(press, ids[name], rounds, seconds) for name in ids}
        for caller in callers:
            caller.close()
    return found


def request(submission: str, token: str) -> bytes:
    return (
        f"GET /v1/submissions/{submission} HTTP/1.1\r\nHost: bench\r\n"
        f"Authorization: Bearer {token}\r\n\r\n"
    ).encode()


async def in_process(
    stage: BenchService, viewer: Account, ids: dict[str, list[str]], rounds: int, seconds: float
) -> dict[str, Any]:
    async with Cache.open(None, "bench") as cache:
        state = cast("AppState", SimpleNamespace(pool=stage.pool, cache=cache))

        async def press(asked: Iterator[str], each_s: float) -> float:
            done = 0
            began_s = time.perf_counter()
            while time.perf_counter() - began_s < each_s:
                assert (await status_of(state, viewer, next(asked))).body
                done += 1
            return done / (time.perf_counter() - began_s)

        return {name: await take_turns(press, ids[name], rounds, seconds) for name in ids}


async def take_turns(
    press: Press, ids: list[str], rounds: int, seconds: float
) -> dict[str, Any]:
    """Interleaved, so that the machine's moods hit both alike."""
    same, others = itertools.repeat(ids[len(ids) // 2]), itertools.cycle(ids)
    await press(same, 1.0)
    await press(others, 1.0)
    pairs = [(await press(same, seconds), await press(others, seconds)) for _ in range(rounds)]
    fastest = max(slow for _, slow in pairs)
    assert len(ids) / fastest > STATUS.kept_s, "they would be remembered: make more of them"
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
