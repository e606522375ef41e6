"""Measures event streams: what they cost one API process, and when clients get an event.

    python -m deemster.bench.streams [--clients 5000] [--accounts 50] [--rounds 40] [--idle 20]

A private Postgres and a real `deemster api`. Each client is a socket that reads GET /v1/events;
the clients share the accounts. In a round one transaction moves one submission of each account
one step, so that every client gets one event. Times are from the commit until the client has
read the event. Prints JSON.
"""

import argparse
import asyncio
import hashlib
import json
import os
import resource
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import uvloop

from deemster.bench.load.cpu_times import cpu_s
from deemster.bench.load.processes import free_address, role, running, until_answered
from deemster.bench.load.service import LANGUAGE, PROBLEM, BenchService, open_service
from deemster.domain.ids import SUBMISSION, AccountId, SubmissionId, new_id
from deemster.domain.lifecycle import Event
from deemster.domain.submission import NewSubmission
from deemster.store import accounts, problems
from deemster.store.lifecycle import advance_all
from deemster.store.pool import connection, transaction
from deemster.store.submission_inserts import insert
from deemster.wiring.address import Address

ACCOUNT_EVENTS = "/v1/events"
CONNECT_AT_ONCE = 100
TIMEOUT_S = 120


class StreamClient(asyncio.Protocol):
    def __init__(self, readers: "StreamReaders", token: str, path: str) -> None:
        self._readers = readers
        self._token = token
        self._path = path
        self._is_open = False
        self._buffer = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        head = (
            f"GET {self._path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {self._token}"
        )
        transport.write(f"{head}\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._is_open:
            if b"retry: " not in self._buffer:
                assert self._buffer.startswith(b"HTTP/1.1 200"[: len(self._buffer)]), data
                return
            self._is_open = True
            self._readers.opened += 1
        received = self._buffer.count(b"\nevent: submission.")
        if received:
            self._readers.receive(received)
        self._buffer = self._buffer[-1:] if received else self._buffer[-400:]

    def connection_lost(self, exc: Exception | None) -> None:
        self._readers.lost += 1


class StreamReaders:
    def __init__(self, size: int) -> None:
        self.size = size
        self.opened = 0
        self.lost = 0
        self.received_s: list[float] = []
        self.all_received = asyncio.Event()

    def receive(self, times: int) -> None:
        self.received_s.extend([time.perf_counter()] * times)
        if len(self.received_s) >= self.size:
            self.all_received.set()

    def begin(self) -> None:
        self.received_s.clear()
        self.all_received.clear()

    async def connect(
        self, address: Address, tokens: list[str], paths: Sequence[str] = (ACCOUNT_EVENTS,)
    ) -> None:
        """The clients share the tokens and the paths in turn."""
        loop = asyncio.get_running_loop()
        for begin in range(0, self.size, CONNECT_AT_ONCE):
            some = range(begin, min(begin + CONNECT_AT_ONCE, self.size))
            for number in some:
                token, path = tokens[number % len(tokens)], paths[number % len(paths)]
                await loop.create_connection(
                    partial(StreamClient, self, token, path),
                    address.local_host,
                    address.port,
                )
            async with asyncio.timeout(TIMEOUT_S):
                while self.opened < some.stop:  # noqa: ASYNC110 - counted by many
                    await asyncio.sleep(0.005)


def memory_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise RuntimeError("no VmRSS")


async def insert_one_each(service: BenchService, names: list[str]) -> list[SubmissionId]:
    made = []
    async with connection(service.pool) as acquired:
        summary = await problems.get(acquired, PROBLEM)
        assert summary is not None
        for name in names:
            account = await accounts.find_by_name(acquired, name)
            assert account is not None
            new = new_submission(account.id, summary.digest)
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


async def advance(
    service: BenchService, readers: StreamReaders, made: list[SubmissionId], event: Event
) -> tuple[float, list[float]]:
    """Seconds until the last client got the event, and until each did."""
    readers.begin()
    async with transaction(service.pool) as writing:
        moved = await advance_all(writing, event, dict.fromkeys(made, 0))
        assert len(moved) == len(made)
    committed_s = time.perf_counter()
    async with asyncio.timeout(TIMEOUT_S):
        await readers.all_received.wait()
    assert len(readers.received_s) == readers.size, "each client gets one event"
    return readers.received_s[-1] - committed_s, [
        each - committed_s for each in readers.received_s
    ]


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000, 1)


async def measure(clients: int, users: int, rounds: int, idle_s: float) -> dict[str, object]:
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(open_service(None, users))
        address = free_address()
        env = service.environment(port=address.port, requests_per_second_user=100_000)
        log = service.log("api")
        api = await stack.enter_async_context(running(role("api"), env, log))
        await until_answered(address, "/healthz", api, log)
        made = await insert_one_each(service, [f"user{number}" for number in range(users)])
        await asyncio.sleep(2)  # the work after the start is not measured
        before_kb, began_s = memory_kb(api.pid), time.perf_counter()
        readers = StreamReaders(clients)
        await readers.connect(address, service.tokens)
        connected_s = time.perf_counter() - began_s
        after_kb = memory_kb(api.pid)
        last, each = [], []
        steps = [Event.PUBLISH, *[Event.RESEND] * (rounds - 1)]
        for event in steps:
            slowest, all_s = await advance(service, readers, made, event)
            last.append(slowest)
            each += all_s
            await asyncio.sleep(0.05)
        cpu_before = cpu_s(api.pid)
        await asyncio.sleep(idle_s)
        return {
            "clients": clients,
            "accounts": users,
            "connected": readers.opened,
            "lost": readers.lost,
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
    account_count = min(given.accounts, given.clients)
    clients = given.clients - given.clients % account_count
    print(json.dumps(uvloop.run(measure(clients, account_count, given.rounds, given.idle))))


if __name__ == "__main__":
    main()
