"""Everything is killed, in any order, at any time; nothing is lost, and nothing is left."""

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from deemster.domain.ids import ExecutionId
from deemster.domain.limits import COMPILE_S
from deemster.store.migrations import migrate
from tests.services.ports import reserved_port
from tests.services.postgres import OwnPostgres
from tests.services.redis import OwnRedis
from tests.system.client import Client, client_of
from tests.system.mischief import Act, Mischief
from tests.system.programs import MIXED
from tests.system.service import Service
from tests.system.traces import Watch
from tests.system.truth import (
    Ledger,
    assert_exactly_once,
    assert_typed_once,
    until_all_ended,
    until_at_rest,
)
from tests.system.typist import ANSWERS, LINES, PATIENT, PROGRAM, READY, Typist
from tests.waiting import PATIENCE_S, until

CLIENTS = 4
TYPISTS = 2
LULL_S = 4.0
"""Mischief goes on after this also when nothing moves."""
TYPING_S = 1.0
"""Mischief waits so long for somebody to type."""
EVENTS_EACH = 7
"""Of a submission, at least: submit, start, analyze, finalize, two stages' starts, complete."""
TALKER = "print('hi', input('name? '))"
EXECUTIONS: list[tuple[dict[str, Any], tuple[str, str]]] = [
    (
        {"language": "python3", "source_code": "print(int(input()) * 2)", "stdin": "21"},
        ("COMPLETED", "42\n"),
    ),
    (
        {"language": "python3", "source_code": "print('on', flush=True)\nraise SystemExit(3)"},
        ("FAILED", "on\n"),
    ),
    (
        {
            "language": "python3",
            "source_code": f"import time\ntime.sleep(0.5)\n{TALKER}",
            "stdin": "bob\n",
            "io": "streams",
        },
        ("COMPLETED", "name? hi bob\n"),
    ),
    (
        # The terminal shows what was typed before the program asked for it.
        {"language": "python3", "source_code": TALKER, "stdin": "bob\n", "io": "terminal"},
        ("COMPLETED", "bob\r\nname? hi bob\r\n"),
    ),
]
LONGEST_LOCK_S = COMPILE_S + PATIENCE_S + 5
"""Of an execution here (Q5): compiling, running, and a little more."""
ATTEMPTS = 100
"""A submission may meet more disasters here than in years elsewhere."""


@pytest.mark.parametrize("store", ["postgres", "redis"])
async def test_whatever_is_killed_every_submission_gets_its_verdict_once(
    tmp_path: Path, store: str
) -> None:
    """Q1, Q2, Q5, Q6, I1, I3, S2, S5, S6, J12, P1, E7, E8: in the middle of each stage."""
    await kill_test(tmp_path, store, submissions=24, rounds=1, in_flight=10)


@pytest.mark.soak
@pytest.mark.parametrize("store", ["postgres", "redis"])
async def test_while_a_thousand_flow_every_one_gets_its_verdict_once(
    tmp_path: Path, store: str
) -> None:
    """The same, for long, and the queue's locks run out by themselves."""
    await kill_test(tmp_path, store, submissions=1000, rounds=6, in_flight=30, hurry=False)


async def kill_test(
    directory: Path,
    store: str,
    *,
    submissions: int,
    rounds: int,
    in_flight: int,
    hurry: bool = True,
) -> None:
    seed = int(os.environ.get("KILL_SEED", random.randrange(1 << 32)))
    print(f"KILL_SEED={seed}")
    chance = random.Random(seed)
    async with stage(directory, store, chance) as (service, mischief, client):
        flow = Flow(service, client, chance, submissions, in_flight)
        async with asyncio.TaskGroup() as group:
            group.create_task(flow.run())
            await disturb(flow, mischief, chance, rounds, submissions)
            flow.calm.set()
        if hurry:
            await service.let_locks_run_out()
        await until_all_ended(service, flow.ledger)
        await until_at_rest(service, longest_lock_s=0 if hurry else LONGEST_LOCK_S)
        typed = [typist.execution for typist in flow.typists]
        await assert_exactly_once(
            service, flow.ledger, [*flow.executions, *typed], analyzed=True
        )
        await assert_typed_once(service, typed, LINES)
        for submission, program in flow.ledger.items():
            assert (await client.look(submission))["verdict"] == program.verdict
        for execution, result in flow.executions.items():
            shown = await client.execution(execution)
            assert (shown["status"], shown["stdout"]) == result, json.dumps(shown)
        for typist in flow.typists:
            shown = await client.execution(typist.execution)
            assert shown["status"] == "COMPLETED", json.dumps(shown)
            assert shown["stdout"] == typist.text
            assert typist.text.partition(READY)[2] == ANSWERS
        assert any(typist.cuts for typist in flow.typists), "nobody was cut off"
        await service.until_all_listen()
        mischief.watch.look()
        assert set((await service.fleet.leave_all()).values()) == {0}
        await mischief.watch.nothing_is_left(directory)


@asynccontextmanager
async def stage(
    directory: Path, store: str, chance: random.Random
) -> AsyncIterator[tuple[Service, Mischief, Client]]:
    port = reserved_port()
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        postgres = await enter(OwnPostgres(directory / "servers"))
        redis = await enter(OwnRedis(directory / "redis")) if store == "redis" else None
        await migrate(postgres.url)
        opened = Service.open(
            directory,
            postgres.url,
            redis.url if redis is not None else postgres.url,
            "kill",
            port=port,
            run_attempts=ATTEMPTS,
            stages="analyze",
            stage_retries=ATTEMPTS,
            analysis_yields=False,
            execution_wall_s=PATIENCE_S,
        )
        service = await enter(opened)
        service.start("api", "relay", "keeper")
        for number in (1, 2):
            service.fleet.start("worker", f"worker{number}")
        watch = Watch(service.fleet)
        client = await enter(client_of(service, port))
        await service.until_workers(2)
        yield service, Mischief(service, watch, postgres, redis, chance), client


@dataclass(slots=True)
class Flow:
    """Submissions, one after the other, from several clients at once, until all is calm."""

    service: Service
    client: Client
    chance: random.Random
    wanted: int
    """At least."""
    in_flight: int
    """So many are unfinished at a time: they flow for as long as the mischief lasts."""
    ledger: Ledger = field(default_factory=dict)
    executions: dict[ExecutionId, tuple[str, str]] = field(default_factory=dict)
    """The status and the output that each must have."""
    typists: list[Typist] = field(default_factory=list)
    calm: asyncio.Event = field(default_factory=asyncio.Event)
    begun: int = 0

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(CLIENTS):
                group.create_task(self._submit_some())
            for number in range(TYPISTS):
                group.create_task(self._type_some(f"typist-{number}"))

    async def _type_some(self, name: str) -> None:
        """Terminals are open, and somebody types, as long as the mischief lasts."""
        while not self.calm.is_set():
            key = f"{name}-{len(self.typists)}"
            execution = await self.client.execute(PROGRAM, key)
            typist = Typist(self.client.terminal_url, self.client.token, execution, self.chance)
            self.typists.append(typist)
            await typist.run()

    async def _submit_some(self) -> None:
        while self.begun < self.wanted or not self.calm.is_set():
            self.begun += 1
            number = self.begun
            key, program = f"key-{number}", self.chance.choice(MIXED)
            submission = await self.client.submit(program, key)
            assert await self.client.submit(program, key) == submission  # I1
            self.ledger[submission] = program
            if number % 4 == 0:
                await self._execute(f"execution-{number}")
            await until(self._has_room)

    async def _execute(self, key: str) -> None:
        body, result = self.chance.choice(EXECUTIONS)
        body = {**body, "limits": PATIENT}
        execution = await self.client.execute(body, key)
        assert await self.client.execute(body, key) == execution  # I1
        self.executions[execution] = result

    async def _has_room(self) -> bool:
        unfinished = "SELECT count(*) FROM work WHERE finished_at IS NULL"
        return bool(await self.service.value(unfinished) < self.in_flight)


async def disturb(
    flow: Flow, mischief: Mischief, chance: random.Random, rounds: int, submissions: int
) -> None:
    """Every act once a round, in any order, spread over all that flows."""
    acts = [act for _ in range(rounds) for act in shuffled(mischief.acts(), chance)]
    most = 2 * submissions * EVENTS_EACH // len(acts)
    for name, act in acts:
        await some_progress(flow.service, chance.randint(1, most))
        with suppress(AssertionError):  # no program can start, or not for a while
            await until(lambda: any(each.is_typing for each in flow.typists), TYPING_S)
        await asyncio.sleep(chance.uniform(0, 0.2))
        print(name)
        await act()


def shuffled(acts: dict[str, Act], chance: random.Random) -> list[tuple[str, Act]]:
    return chance.sample(list(acts.items()), len(acts))


async def some_progress(service: Service, events: int) -> None:
    """Waits for a moment that nobody has chosen: so many events later."""
    count = "SELECT count(*) FROM work_event"
    wanted = await service.value(count) + events

    async def look() -> bool:
        return bool(await service.value(count) >= wanted)

    with suppress(AssertionError):  # nothing moves any more, or not for a while
        await until(look, patience_s=LULL_S)
