"""What clients that listen cost on one API process, and how soon the last of them hears.

    python bench/streams.py [--clients 5000] [--accounts 50] [--rounds 40] [--idle 20]

A private Postgres and a real `deemster api`. The clients share the accounts; each is a socket
of its own that listens to GET /v1/events. A round takes one step of one submission of each
account, in one transaction, so that every client gets one event. Prints JSON; times are from
the commit to the moment when the client here has read the event.
"""

import argparse
import asyncio
import hashlib
import json
import os
import resource
import time
from contextlib import AsyncExitStack
from pathlib import Path

import uvloop

from deemster.bench.load.servers import free_address, role, running, until_answered
from deemster.bench.load.stage import LANGUAGE, PROBLEM, BenchService, open_stage
from deemster.domain.ids import SUBMISSION, AccountId, SubmissionId, new_id
from deemster.domain.lifecycle import Event
from deemster.domain.submission import NewSubmission
from deemster.store import accounts, problems
from deemster.store.lifecycle import advance_all
from deemster.store.pool import connection, transaction
from deemster.store.submission_inserts import insert
from deemster.wiring.address import Address

AT_ONCE = 100
"""Clients that connect at the same time."""
PATIENCE_S = 120
TICKS = os.sysconf("SC_CLK_TCK")


class Client(asyncio.Protocol):
    def __init__(self, crowd: "Crowd", token: str) -> None:
        self._crowd = crowd
        self._token = token
        self._is_open = False
        self._buffer = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        head = f"GET /v1/events HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {self._token}"
        transport.write(f"{head}\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._is_open:
            if b"retry: " not in self._buffer:
                assert self._buffer.startswith(b"HTTP/1.1 200"[: len(self._buffer)]), data
                return
            self._is_open = True
            self._crowd.opened += 1
        heard = self._buffer.count(b"\nevent: submission.")
        if heard:
            self._crowd.hear(heard)
        self._buffer = self._buffer[-1:] if heard else self._buffer[-400:]

    def connection_lost(self, exc: Exception | None) -> None:
        self._crowd.lost += 1


class Crowd:
    def __init__(self, size: int) -> None:
        self.size = size
        self.opened = 0
        self.lost = 0
        self.heard_s: list[float] = []
        self.all_heard = asyncio.Event()

    def hear(self, times: int) -> None:
        self.heard_s.extend([time.perf_counter()] * times)
        if len(self.heard_s) >= self.size:
            self.all_heard.set()

    def begin(self) -> None:
        self.heard_s.clear()
        self.all_heard.clear()

    async def gather(self, address: Address, tokens: list[str]) -> None:
        loop = asyncio.get_running_loop()
        for begin in range(0, self.size, AT_ONCE):
            some = range(begin, min(begin + AT_ONCE, self.size))
            for number in some:
                token = tokens[number % len(tokens)]
                await loop.create_connection(
                    lambda token=token: Client(self, token),  # type: ignore[misc]
                    address.local_host,
                    address.port,
                )
            async with asyncio.timeout(PATIENCE_S):
                while self.opened < some.stop:  # noqa: ASYNC110 - counted by many
                    await asyncio.sleep(0.005)


def memory_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise RuntimeError("no VmRSS")


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


async def hand_in(stage: BenchService, names: list[str]) -> list[SubmissionId]:
    made = []
    async with connection(stage.pool) as acquired:
        sheet = await problems.get(acquired, PROBLEM)
        assert sheet is not None
        for name in names:
            account = await accounts.find_by_name(acquired, name)
            assert account is not None
            new = new_submission(account.id, sheet.digest)
            await insert(acquired, new, b"x")
            made.append(new.id)
    return made


def new_submission(account: AccountId, revision: str) -> NewSubmission:
    return NewSubmission(
        id=SubmissionId(new_id(SUBMISSION)),
        account=account,
        problem=PROBLEM,
        revision=revision,  # type: ignore[arg-type]
        language=LANGUAGE,
        main=None,
        source=hashlib.sha256(b"x").hexdigest(),
        request_digest=hashlib.sha256(os.urandom(8)).digest(),
    )


async def take_a_step(
    stage: BenchService, crowd: Crowd, made: list[SubmissionId], event: Event
) -> tuple[float, list[float]]:
    """Seconds until the last heard of it, and until each did."""
    crowd.begin()
    async with transaction(stage.pool) as writing:
        moved = await advance_all(writing, event, dict.fromkeys(made, 0))
        assert len(moved) == len(made)
    committed_s = time.perf_counter()
    async with asyncio.timeout(PATIENCE_S):
        await crowd.all_heard.wait()
    assert len(crowd.heard_s) == crowd.size, "each hears once"
    return crowd.heard_s[-1] - committed_s, [each - committed_s for each in crowd.heard_s]


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000, 1)


async def measure(clients: int, users: int, rounds: int, idle_s: float) -> dict[str, object]:
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(open_stage(None, users))
        address = free_address()
        env = stage.environment(port=address.port, requests_per_second_user=100_000)
        log = stage.log("api")
        api = await stack.enter_async_context(running(role("api"), env, log))
        await until_answered(address, "/healthz", api, log)
        made = await hand_in(stage, [f"user{number}" for number in range(users)])
        await asyncio.sleep(2)  # what starting left to do is not measured
        before_kb, began_s = memory_kb(api.pid), time.perf_counter()
        crowd = Crowd(clients)
        await crowd.gather(address, stage.tokens)
        connected_s = time.perf_counter() - began_s
        after_kb = memory_kb(api.pid)
        last, each = [], []
        steps = [Event.PUBLISH, *[Event.RESEND] * (rounds - 1)]
        for event in steps:
            slowest, all_of_them = await take_a_step(stage, crowd, made, event)
            last.append(slowest)
            each += all_of_them
            await asyncio.sleep(0.05)
        cpu_before = cpu_s(api.pid)
        await asyncio.sleep(idle_s)
        return {
            "clients": clients,
            "accounts": users,
            "connected": crowd.opened,
            "lost": crowd.lost,
            "connect_s": round(connected_s, 1),
            "memory_kb_per_client": round((after_kb - before_kb) / clients, 1),
            "memory_kb_per_client_after_events": round(
                (memory_kb(api.pid) - before_kb) / clients, 1
            ),
            "memory_mb": round(memory_kb(api.pid) / 1024),
            "rounds": rounds,
            "last_client_p50_ms": percentile(last, 0.5),
            "last_client_p99_ms": percentile(last, 0.99),
            "each_client_p50_ms": percentile(each, 0.5),
            "each_client_p99_ms": percentile(each, 0.99),
            "idle_cpu_percent_of_a_core": round(
                (cpu_s(api.pid) - cpu_before) / idle_s * 100, 1
            ),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=5000)
    parser.add_argument("--accounts", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--idle", type=float, default=20.0)
    given = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    accounts_wanted = min(given.accounts, given.clients)
    clients = given.clients - given.clients % accounts_wanted
    print(json.dumps(uvloop.run(measure(clients, accounts_wanted, given.rounds, given.idle))))


if __name__ == "__main__":
    main()
