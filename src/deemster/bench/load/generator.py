"""A process that sends submissions: it reads load requests on stdin and writes the results."""

import asyncio
import gc
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Final

import uvloop

from deemster.bench.load.connection import HttpConnection, NoAnswer
from deemster.bench.load.driver import NUMBER_MARK, LoadRequest, LoadResult

IDLE_S: Final = 3.0
"""A connection that was idle for longer isn't used again: the server may be closing it."""
ACCEPTED: Final = 202


class Generator:
    def __init__(self, load: LoadRequest) -> None:
        self._load = load
        self._requests = requests_of(load)
        self._idle: list[HttpConnection] = []
        self._answers: list[tuple[float, bytes]] = []
        self._refused: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._late_s = 0.0
        self._open = asyncio.Semaphore(load.connections)

    async def run(self) -> LoadResult:
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            if self._load.count is None:
                for _ in range(self._load.connections):
                    group.create_task(self._send_in_turn(began + self._load.seconds))
            else:
                await self._send_by_clock(group, self._load.count)
        took_s = time.perf_counter() - began
        for connection in self._idle:
            connection.close()
        return LoadResult(
            took_s=took_s,
            ids=[json.loads(body)["id"] for _, body in self._answers],
            latencies_ms=[round(1000 * latency_s, 3) for latency_s, _ in self._answers],
            refused=dict(self._refused),  # asdict can't copy a Counter
            errors=dict(self._errors),
            late_ms=round(1000 * self._late_s, 1),
        )

    async def _send_in_turn(self, until: float) -> None:
        """One client, which sends its next request when it has an answer."""
        while time.perf_counter() < until:
            await self._send(next(self._requests), time.perf_counter())

    async def _send_by_clock(self, group: asyncio.TaskGroup, count: int) -> None:
        """Each request at its time, also if earlier ones have no answer yet."""
        began = time.perf_counter()
        for number in range(count):
            due = began + number * self._load.seconds / count
            await asyncio.sleep(max(0, due - time.perf_counter()))
            self._late_s = max(self._late_s, time.perf_counter() - due)
            group.create_task(self._send(next(self._requests), due))

    async def _send(self, request: bytes, due: float) -> None:
        try:
            async with self._open:
                connection = await self._free()
                status, body = await connection.request(request)
                self._idle.append(connection)
        except NoAnswer as fault:
            self._errors[str(fault)] += 1
            return
        if status == ACCEPTED:
            self._answers.append((time.perf_counter() - due, body))
        else:
            self._refused[reason(status, body)] += 1

    async def _free(self) -> HttpConnection:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and time.perf_counter() - connection.used_s < IDLE_S:
                return connection
            connection.close()
        return await HttpConnection.connect(self._load.host, self._load.port)


def requests_of(load: LoadRequest) -> Iterator[bytes]:
    before, after = (part.encode() for part in load.body.split(NUMBER_MARK))
    heads = [head_of(load, token).encode() for token in load.tokens]
    number = load.first
    while True:
        digits = b"%012d" % number
        key = b"Idempotency-Key: bench-%b\r\n" % digits if load.with_keys else b""
        head = heads[number % len(heads)]
        yield b"%b%b\r\n%b%b%b" % (head, key, before, digits, after)
        number += 1


def head_of(load: LoadRequest, token: str) -> str:
    return (
        f"POST {load.path} HTTP/1.1\r\n"
        f"Host: {load.host}:{load.port}\r\n"
        f"Authorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(load.body.encode())}\r\n"
    )


def reason(status: int, body: bytes) -> str:
    try:
        return f"{status} {json.loads(body)['type']}"
    except (ValueError, KeyError, TypeError):
        return str(status)


async def serve() -> None:
    gc.disable()  # a pause of this process would look like one of the server
    while line := await asyncio.to_thread(sys.stdin.buffer.readline):
        result = await Generator(LoadRequest(**json.loads(line))).run()
        sys.stdout.buffer.write(result.to_line())
        sys.stdout.buffer.flush()
        gc.collect()


if __name__ == "__main__":
    uvloop.run(serve())
