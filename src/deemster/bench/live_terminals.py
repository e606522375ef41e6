"""Measures the CPU time of judged submissions, with and without busy terminals (E9)."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from websockets.asyncio.client import ClientConnection, connect

from deemster.bench.latency import quantile
from deemster.bench.load.api_client import ApiClient
from deemster.bench.load.service import BenchService
from deemster.domain.errors import Unavailable
from deemster.domain.ids import ProblemId
from deemster.pipeline.judge.verify.progress import Progress
from deemster.wiring.address import Address

TYPE_EVERY_S: Final = 0.2
ANSWER_TIMEOUT_S: Final = 60.0
SUBMISSIONS: Final = 4
"""In each turn; the first of them is not counted."""
GOAL: Final = 0.05
"""The terminals may change the CPU time of submissions by this part of it."""
PROBLEM: Final = ProblemId("prob_sieve")
SIEVES: Final = 20
"""So many times each submission computes the same primes: then it takes about half a second."""
JUDGED: Final = r"""#include <stdio.h>
#include <string.h>
static char composite[1 << 23];
int main(void) {
    int n, turns, count = 0;
    if (scanf("%d %d", &n, &turns) != 2) return 1;
    while (turns--) {
        memset(composite, 0, sizeof composite);
        count = 0;
        for (int i = 2; i < n; i++) {
            if (composite[i]) continue;
            count++;
            for (long long j = (long long)i * i; j < n; j += i) composite[j] = 1;
        }
    }
    printf("%d\n", count);
}
"""
"""It computes, and uses more memory than the core's own caches have."""
TYPED: Final = """import select, sys
total = 0
while True:
    if select.select([sys.stdin], [], [], 0)[0]:
        print("answer", input(), flush=True)
    total += sum(each * each for each in range(20_000))
"""
"""It computes all the time, and answers each line that is typed."""


@dataclass(frozen=True, slots=True)
class TerminalPlan:
    terminals: int
    rounds: int
    sieves: int = SIEVES


def package(plan: TerminalPlan) -> dict[str, str]:
    """The problem of the judged submissions."""
    return {
        "problem.yaml": "problem_format_version: '2025-09'\nname: Primes\n"
        "uuid: 9d7f3c52-7c0e-4f0e-a7a5-1b7a3f2d9a61\nlimits:\n  time_limit: 10\n",
        "data/secret/1.in": f"8388608 {plan.sieves}\n",
        "data/secret/1.ans": "564163\n",
    }


async def measure_terminals(
    service: BenchService, address: Address, plan: TerminalPlan, progress: Progress
) -> dict[str, Any]:
    """Turns without terminals and with terminals alternate."""
    alone_ms: list[float] = []
    beside_ms: list[float] = []
    answers_ms: list[float] = []
    async with ApiClient.open(address, service.admin) as judge:
        with progress.step("Terminals beside judging", 2 * plan.rounds) as advance:
            for _ in range(plan.rounds):
                alone_ms += await judged_cpu_ms(judge)
                advance()
                tokens = service.tokens[: plan.terminals]
                async with busy_terminals(address, tokens) as terminals:
                    beside_ms += await judged_cpu_ms(judge)
                for terminal in terminals:
                    answers_ms += terminal.answers_ms
                advance()
    alone, beside = (quantile(sorted(each), 0.5) for each in (alone_ms, beside_ms))
    return {
        "terminals": plan.terminals,
        "submissions": len(alone_ms) + len(beside_ms),
        "alone_p50_ms": alone,
        "beside_p50_ms": beside,
        "ratio": round(beside / alone, 3),
        "lines_typed": len(answers_ms),
        "answer_p50_ms": round(quantile(sorted(answers_ms), 0.5), 1),
        "goal_ratio": 1 + GOAL,
        "goal_met": abs(beside / alone - 1) < GOAL,
    }


async def judged_cpu_ms(judge: ApiClient) -> list[float]:
    measured = []
    for _ in range(SUBMISSIONS):
        body = {"problem_id": PROBLEM, "language": "c", "source_code": JUDGED}
        accepted = await judge.send("POST", "/v1/submissions", body)
        shown = await judge.get(f"/v1/submissions/{accepted['id']}?wait=30")
        if shown.get("verdict") != "Accepted":
            raise Unavailable(f"The benchmark's own submission was not accepted: {shown}.")
        measured.append(shown["runtime_ms"])
    return measured[1:]


@asynccontextmanager
async def busy_terminals(
    address: Address, tokens: list[str]
) -> AsyncIterator[list["BusyTerminal"]]:
    """Within the block, each of these users has a terminal, computes and types."""
    async with AsyncExitStack() as stack:
        terminals = [
            await stack.enter_async_context(BusyTerminal.open(address, token))
            for token in tokens
        ]
        async with asyncio.TaskGroup() as group:
            for each in terminals:
                group.create_task(each.keep_typing())
            for each in terminals:
                await each.is_busy.wait()
            yield terminals
            for each in terminals:
                each.has_enough.set()


@dataclass(frozen=True, slots=True)
class BusyTerminal:
    socket: ClientConnection
    is_busy: asyncio.Event = field(default_factory=asyncio.Event)
    """The program has answered its first line."""
    has_enough: asyncio.Event = field(default_factory=asyncio.Event)
    """The line that is typed next, or waits for its answer, is the last one."""
    answers_ms: list[float] = field(default_factory=list)
    """From sending each line until its answer."""

    @classmethod
    @asynccontextmanager
    async def open(cls, address: Address, token: str) -> AsyncIterator["BusyTerminal"]:
        program = {"language": "python3", "source_code": TYPED, "io": "terminal"}
        async with ApiClient.open(address, token) as api:
            accepted = await api.send("POST", "/v1/executions", program)
        path = f"/v1/executions/{accepted['execution_id']}"
        url = f"{address.url.replace('http', 'ws', 1)}{path}/terminal"
        headers = {"Authorization": f"Bearer {token}"}
        try:
            async with connect(url, additional_headers=headers) as socket:
                yield cls(socket)
        finally:
            async with ApiClient.open(address, token) as api:
                await api.request("DELETE", path)

    async def keep_typing(self) -> None:
        """Types lines until enough; the last answer counts, too, however late it comes."""
        text, number = "", 0
        while True:
            number += 1
            began = time.perf_counter()
            await self.socket.send(json.dumps({"data": f"{number}\n"}))
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                while f"answer {number}\r\n" not in text:
                    text += output_of(json.loads(await self.socket.recv()))
            self.answers_ms.append((time.perf_counter() - began) * 1000)
            if self.has_enough.is_set():
                return
            self.is_busy.set()
            text = ""
            await asyncio.sleep(TYPE_EVERY_S)


def output_of(message: dict[str, Any]) -> str:
    if message["type"] in {"end", "error"}:
        raise Unavailable(f"A terminal of the benchmark ended: {message}.")
    return base64.b64decode(message.get("data_base64", "")).decode()
