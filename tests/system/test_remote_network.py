"""M1 to M4: judge hosts in networks of their own; cables, hosts and messages fail."""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from deemster.directory_store import remove_tree
from deemster.domain.ids import ExecutionId, SubmissionId
from deemster.domain.verdict import Verdict
from deemster.pipeline.remote.messages import Failure, Finish
from deemster.store import judge_hosts
from deemster.store.pool import connection
from tests.judgehost.host_process import HostProcess, new_memory_directory, start_host
from tests.services.network import Network, NoNetwork, new_network
from tests.services.ports import reserved_port
from tests.system.callback_proxy import CallbackProxy, Trouble, proxy_to
from tests.system.client import Client, client_of
from tests.system.conftest import OpenService
from tests.system.programs import BROKEN, RIGHT, RIGHT_IN_C, WRONG, sleepy
from tests.system.service import Service
from tests.system.signed_host import SECRET, SignedHost, open_host
from tests.system.truth import Ledger, assert_exactly_once, until_all_ended, until_at_rest
from tests.waiting import until

ROLES = ("api", "relay", "keeper", "dispatcher")
IN_FLIGHT = 6
"""The hosts and the worker judge three submissions at once."""
ATTEMPTS = 100
"""A submission may meet more disasters here than in years elsewhere."""
LONG = sleepy(0.2)
"""Takes more than two seconds, so that something can happen while it is judged."""
STREAM = (RIGHT, LONG, WRONG, LONG, BROKEN, LONG, RIGHT_IN_C, LONG)
TYPED = {"language": "python3", "source_code": "print(int(input()) * 2)", "stdin": "21"}
EARLY_CASES = 3
HOST_PORT = 8900
TROUBLES = {
    "fetching": [Trouble.DELAY, Trouble.DUPLICATE, Trouble.REORDER],
    "addressed": [Trouble.REORDER, Trouble.DUPLICATE, Trouble.DELAY],
}
BEGUN = """
SELECT t.work_id, t.attempt FROM remote_task t JOIN lease l USING (work_id, attempt, worker_id)
 WHERE t.host_id = $1 AND t.sent_at IS NOT NULL AND t.work_id = ANY ($2) AND l.cases_done < $3
   AND NOT EXISTS (SELECT FROM host_message m WHERE m.judge_id = t.judge_id)
"""
ENDED = "SELECT count(*) FROM remote_task WHERE host_id = $1 AND ended_at IS NOT NULL"
RESCUED = """
SELECT count(*) FROM work_event WHERE work_id = $1 AND attempt >= $2 AND event = 'rescue'
"""
BY_WORKERS = """
SELECT count(*) FROM judgement j WHERE NOT EXISTS (
    SELECT FROM remote_task t WHERE t.work_id = j.submission_id AND t.attempt = j.attempt)
"""


@dataclass(slots=True)
class RemoteHost:
    """A judge host in a process of its own, in a network of its own."""

    service: Service
    network: Network
    proxy: CallbackProxy
    signed: SignedHost
    """Signs with the key of the host."""
    directory: Path
    memory: Path
    settings: dict[str, Any]
    process: HostProcess | None = None

    def start(self) -> None:
        self.process = start_host(
            [*self.network.command, sys.executable],
            self.proxy.url,
            self.signed.key,
            self.directory,
            self.memory,
            **self.settings,
        )

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()

    async def end(self) -> None:
        """In a thread: the host takes leave of the server, through the proxy of this loop."""
        assert self.process is not None
        assert await asyncio.to_thread(self.process.end) == 0, self.tail()

    async def until_it_ends_a_task(self) -> None:
        before = await self.service.value(ENDED, self.signed.key.host)

        async def look() -> bool:
            ended = await self.service.value(ENDED, self.signed.key.host)
            return bool(ended > before)

        await until(look, why=self.tail)

    def tail(self) -> str:
        return self.process.said[-3000:] if self.process is not None else ""


@dataclass(slots=True)
class Stream:
    """Submissions and executions, a few of them at a time, until it is calm."""

    service: Service
    client: Client
    ledger: Ledger = field(default_factory=dict)
    executions: list[ExecutionId] = field(default_factory=list)
    calm: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        for number in count():
            await until(self._has_room)
            if self.calm.is_set():
                return
            program = STREAM[number % len(STREAM)]
            submission = await self.client.submit(program, f"submission {number}")
            self.ledger[submission] = program
            if number % len(STREAM) == 0:
                execution = await self.client.execute(TYPED, f"execution {number}")
                self.executions.append(execution)

    async def _has_room(self) -> bool:
        unfinished = "SELECT count(*) FROM work WHERE finished_at IS NULL"
        return self.calm.is_set() or await self.service.value(unfinished) < IN_FLIGHT

    async def until_judging(self, host: RemoteHost) -> tuple[SubmissionId, int]:
        """A submission, and its attempt, that the host has begun to judge a moment ago."""

        async def look() -> list[Any]:
            long = [each for each, program in self.ledger.items() if program is LONG]
            return await self.service.fetch(BEGUN, host.signed.key.host, long, EARLY_CASES)

        found = (await until(look, why=host.tail))[0]
        return SubmissionId(found["work_id"]), found["attempt"]

    async def until_rescued(self, submission: SubmissionId, attempt: int) -> None:
        async def look() -> bool:
            return bool(await self.service.value(RESCUED, submission, attempt))

        await until(look)


@contextmanager
def new_networks() -> Iterator[tuple[Network, Network]]:
    with ExitStack() as stack:
        try:
            networks = [stack.enter_context(new_network()) for _ in range(2)]
        except NoNetwork as fault:
            pytest.skip(f"needs network namespaces ({fault})")
        yield networks[0], networks[1]


@asynccontextmanager
async def remote_host(
    service: Service, port: int, name: str, network: Network, **settings: Any
) -> AsyncIterator[RemoteHost]:
    """It is not started yet."""
    server_url = f"http://127.0.0.1:{port}"
    memory = new_memory_directory()
    async with (
        open_host(service, port, name) as signed,
        proxy_to(server_url, network.near_address) as proxy,
    ):
        directory = service.directory / name
        host = RemoteHost(service, network, proxy, signed, directory, memory, settings)
        try:
            yield host
        except BaseException:
            print(f"--- {name}\n{host.tail()}")
            raise
        finally:
            host.kill()
            remove_tree(memory)


async def test_m3_whatever_fails_between_hosts_and_server_each_verdict_counts_once(
    open_service: OpenService,
) -> None:
    """M1, M2, M3, M4, I3, Q6: and each refusal is counted under its reason."""
    port = reserved_port()
    settings = {
        "judge_on": "hosts-first",
        "secret_key": SECRET,
        "run_attempts": ATTEMPTS,
        "lease_s": 2,
    }
    with new_networks() as (one, two):
        address = f"{two.far_address}:{HOST_PORT}"
        settings["judge_host_networks"] = f"{two.far_address}/32"
        async with (
            open_service(port=port, **settings) as service,
            client_of(service, port) as client,
            open_host(service, port, "slow") as slow,
            remote_host(service, port, "fetching", one) as fetching,
            remote_host(
                service,
                port,
                "addressed",
                two,
                judgehost_address=f"http://{address}/judge",
                judgehost_listen=address,
            ) as addressed,
        ):
            service.start(*ROLES)
            stream = Stream(service, client)
            refused = await judge_in_trouble(stream, slow, fetching, addressed)
            await until_all_ended(service, stream.ledger)
            await until_at_rest(service)
            for host in (fetching, addressed):
                await host.end()
                refused += host.proxy.refused
            await assert_all_is_right(stream, refused)


async def judge_in_trouble(
    stream: Stream, slow: SignedHost, fetching: RemoteHost, addressed: RemoteHost
) -> Counter[str]:
    """Returns the refusals that no proxy has seen."""
    service, refused = stream.service, Counter[str]()

    def note(answer: httpx.Response, code: str) -> None:
        assert answer.json()["code"] == code, answer.text
        refused[code] += 1

    await slow.register(slots=1)
    first = await stream.client.submit(RIGHT, "first")
    stream.ledger[first] = RIGHT
    late = await slow.task()
    # Before, one of these could have got the task.
    fetching.start()
    addressed.start()
    note(await slow.finish(late, now_s=time.time() + 100), "expired")
    note(await slow.finish(late, headers={"Deemster-Signature": "0" * 64}), "forged")
    # Now the slow host falls silent, so its work goes elsewhere.
    service.start("worker")
    async with asyncio.TaskGroup() as group:
        group.create_task(stream.run())
        for host, name in ((fetching, "fetching"), (addressed, "addressed")):
            host.proxy.troubles = TROUBLES[name].copy()
        await until(lambda: not (fetching.proxy.troubles or addressed.proxy.troubles))

        async with asyncio.TaskGroup() as failing:
            failing.create_task(cut_cable(stream, fetching))
            await kill_and_restart(stream, addressed)
            await cut_cable(stream, addressed)

        await stream.until_rescued(SubmissionId(late.work), late.attempt)
        note(await slow.finish(late, Verdict.WRONG_ANSWER), "superseded_judge_id")
        for host in (fetching, addressed):
            old = host.proxy.results[0]
            replayed = await host.proxy.send(old)
            # A slow machine may take a minute for all this.
            assert replayed.json()["code"] in {"replayed", "expired"}, replayed.text
            failure = Finish(failure=Failure(error="once more"))
            note(await host.signed.post(old.target, failure), "used_judge_id")
            note(await slow.post(old.target, failure), "unknown_judge_id")
        stream.calm.set()
    return refused


async def cut_cable(stream: Stream, host: RemoteHost) -> None:
    """While the host judges; its work goes elsewhere, and later it judges again."""
    judging = await stream.until_judging(host)
    host.network.cut()
    await stream.until_rescued(*judging)
    host.network.mend()
    await host.until_it_ends_a_task()


async def kill_and_restart(stream: Stream, host: RemoteHost) -> None:
    judging = await stream.until_judging(host)
    host.kill()
    host.start()
    await stream.until_rescued(*judging)
    await host.until_it_ends_a_task()


async def assert_all_is_right(stream: Stream, refused: Counter[str]) -> None:
    service = stream.service
    await assert_exactly_once(service, stream.ledger, stream.executions)
    for execution in stream.executions:
        shown = await stream.client.execution(execution)
        assert (shown["status"], shown["stdout"]) == ("COMPLETED", "42\n"), shown
    assert await service.value("SELECT count(*) FROM host_message") == 0
    assert await service.value(BY_WORKERS) > 0, "the local worker judges, too"
    dropped = service.fleet.members["dispatcher"].said("result.dropped")
    expected = refused + Counter(line["reason"] for line in dropped)
    assert expected["replayed"] >= 2, "each proxy has sent a result twice"
    # A process that the server took for dead registers again: that is no refusal.
    del expected["gone"]
    async with connection(service.pool) as acquired:
        assert await judge_hosts.refusals(acquired) == expected
