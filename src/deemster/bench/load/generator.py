"""A process that sends submissions as it is told: as fast as they are answered, or by a clock.

Orders come as lines on standard input, and a tale of each goes to standard output.
"""

import asyncio
import gc
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Final

import uvloop

from deemster.bench.load.caller import Broken, Caller
from deemster.bench.load.order import MARK, LoadOrder, LoadResult, read_order

IDLE_S: Final = 3.0
"""A connection that rested for so long isn't used again: the server may be closing it."""
ACCEPTED: Final = 202


class Generator:
    def __init__(self, order: LoadOrder) -> None:
        self._order = order
        self._requests = requests_of(order)
        self._idle: list[Caller] = []
        self._answers: list[tuple[float, bytes]] = []
        self._refused: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._late_s = 0.0
        self._turns = asyncio.Semaphore(order.connections)

    async def run(self) -> LoadResult:
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            if self._order.count is None:
                for _ in range(self._order.connections):
                    group.create_task(self._press(began + self._order.seconds))
            else:
                await self._pace(group, self._order.count)
        took_s = time.perf_counter() - began
        for caller in self._idle:
            caller.close()
        return LoadResult(
            took_s=took_s,
            ids=[json.loads(body)["id"] for _, body in self._answers],
            latencies_ms=[round(1000 * latency_s, 3) for latency_s, _ in self._answers],
            refused=dict(self._refused),  # asdict spoils counters
            errors=dict(self._errors),
            late_ms=round(1000 * self._late_s, 1),
        )

    async def _press(self, until: float) -> None:
        """One client that sends the next when it has an answer."""
        while time.perf_counter() < until:
            await self._send(next(self._requests), time.perf_counter())

    async def _pace(self, group: asyncio.TaskGroup, count: int) -> None:
        """Each at its time, whatever became of those before it."""
        began = time.perf_counter()
        for number in range(count):
            due = began + number * self._order.seconds / count
            await asyncio.sleep(max(0, due - time.perf_counter()))
            self._late_s = max(self._late_s, time.perf_counter() - due)
            group.create_task(self._send(next(self._requests), due))

    async def _send(self, request: bytes, due: float) -> None:
        try:
            async with self._turns:
                caller = await self._free()
                status, body = await caller.call(request)
                self._idle.append(caller)
        except Broken as fault:
            self._errors[str(fault)] += 1
            return
        if status == ACCEPTED:
            self._answers.append((time.perf_counter() - due, body))
        else:
            self._refused[reason(status, body)] += 1

    async def _free(self) -> Caller:
        while self._idle:
            caller = self._idle.pop()
            if caller.is_open and time.perf_counter() - caller.used_s < IDLE_S:
                return caller
            caller.close()
        return await Caller.connect(self._order.host, self._order.port)


def requests_of(order: LoadOrder) -> Iterator[bytes]:
    before, after = (part.encode() for part in order.body.split(MARK))
    heads = [head_of(order, token).encode() for token in order.tokens]
    number = order.first
    while True:
        told = b"%012d" % number
        key = b"Idempotency-Key: bench-%b\r\n" % told if order.with_keys else b""
        head = heads[number % len(heads)]
        yield b"%b%b\r\n%b%b%b" % (head, key, before, told, after)
        number += 1


def head_of(order: LoadOrder, token: str) -> str:
    return (
        f"POST {order.path} HTTP/1.1\r\n"
        f"Host: {order.host}:{order.port}\r\n"
        f"Authorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(order.body.encode())}\r\n"
    )


def reason(status: int, body: bytes) -> str:
    try:
        return f"{status} {json.loads(body)['type']}"
    except (ValueError, KeyError, TypeError):
        return str(status)


async def serve() -> None:
    gc.disable()  # a pause of ours would be told as one of the server's
    while line := await asyncio.to_thread(sys.stdin.buffer.readline):
        tale = await Generator(read_order(line)).run()
        sys.stdout.buffer.write(tale.line())
        sys.stdout.buffer.flush()
        gc.collect()


if __name__ == "__main__":
    uvloop.run(serve())
