"""`deemster submit` against the real API: retries, waiting, errors and exit codes."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from deemster.cli import client as client_module
from deemster.cli.client import Client, admin_token, is_local, longer
from deemster.cli.submit import describe, exit_code, lines_of, until_ended
from deemster.domain.account import Role
from deemster.domain.errors import Refused, Unavailable
from deemster.domain.ids import SubmissionId
from deemster.pipeline.verdict.cancel import cancel
from deemster.settings import Server
from deemster.store import accounts
from deemster.store.pool import Pool, connection
from deemster.store.submissions import SubmissionFilter, page
from deemster.wiring.address import Address, ask, find_free
from tests.builders import make_problem
from tests.cli.conftest import COMMAND
from tests.waiting import until


async def wait_for(address: Address) -> None:
    async def answers() -> bool:
        try:
            return (await ask(address, "/healthz"))[0] == 200
        except OSError:
            return False

    await until(answers)


@pytest.fixture
async def api(
    tmp_path: Path, database_url: str, redis_url: str, queue_env: str
) -> AsyncIterator[Address]:
    """An API process."""
    address = find_free("127.0.0.1", 0)
    process = await asyncio.create_subprocess_exec(
        *(*COMMAND, "api"),
        env={
            **os.environ,
            "DEEMSTER_DATABASE_URL": database_url,
            "DEEMSTER_QUEUE_URL": redis_url,
            "DEEMSTER_ENV": queue_env,
            "DEEMSTER_DATA_DIR": str(tmp_path / "data"),
            "DEEMSTER_PORT": str(address.port),
            "DEEMSTER_SUBMIT_INTERVAL_S": "0",
        },
    )
    try:
        await wait_for(address)
        yield address
    finally:
        process.terminate()
        assert await process.wait() == 0


@asynccontextmanager
async def losing_answers(to: Address, times: int) -> AsyncIterator[tuple[Address, list[int]]]:
    """A proxy that loses the first answers, and the connections made to it."""
    made: list[int] = []
    ended: list[int] = []

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(made) + 1
        made.append(number)
        upstream_reader, upstream_writer = await asyncio.open_connection(to.local_host, to.port)
        answering: Coroutine[Any, Any, object] = (
            upstream_reader.read(1) if number <= times else copy(upstream_reader, writer)
        )
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(copy(reader, upstream_writer)),
                group.create_task(answering),
            ]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
        for each in (writer, upstream_writer):
            each.close()
            await each.wait_closed()
        ended.append(number)

    server = await asyncio.start_server(forward, "127.0.0.1", 0)
    async with server:
        yield Address("127.0.0.1", server.sockets[0].getsockname()[1]), made
        await until(lambda: len(ended) == len(made))


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


async def test_i1_a_retry_after_a_lost_answer_makes_no_second_submission(
    api: Address, pool: Pool, tmp_path: Path
) -> None:
    """I1: all retries send the same key; errors show the detail that the server sent."""
    await make_problem(pool)
    async with connection(pool) as acquired:
        account = await accounts.add(acquired, "ada", Role.USER)
        token = await accounts.add_token(acquired, account.id, "test")
    async with losing_answers(api, times=2) as (proxy, made):
        server = Server(proxy.url, token)
        async with Client.open(server, tmp_path) as client:
            answer = await client.submit("prob_sum", "python3", "a.py", b"print(1)\n")
    assert len(made) == 3
    async with connection(pool) as acquired:
        found = await page(acquired, SubmissionFilter(), before=None, limit=10)
    assert [each.id for each in found] == [answer["id"]]
    assert answer["status"] == "queued"

    async with Client.open(Server(api.url, token), tmp_path) as client:
        binary = await client.submit("prob_sum", "python3", "a.py", b"print('\xff')\n")
        assert (await client.read(binary["id"]))["queue_position"] == 2
        with pytest.raises(
            Refused, match=r"refused the request \(404\): There is no problem prob_x"
        ):
            await client.submit("prob_x", "python3", "a.py", b"print(1)\n")
    async with Client.open(Server(api.url, "deem_wrong"), tmp_path) as client:
        with pytest.raises(Refused, match="refused the token"):
            await client.submit("prob_sum", "python3", "a.py", b"print(1)\n")


async def test_h1_the_client_lets_the_server_wait(
    api: Address, pool: Pool, tmp_path: Path
) -> None:
    """H1: the client asks once, and the server answers when the submission has ended."""
    await make_problem(pool)
    async with connection(pool) as acquired:
        account = await accounts.add(acquired, "ada", Role.USER)
        token = await accounts.add_token(acquired, account.id, "test")
    async with (
        Client.open(Server(api.url, token), tmp_path) as client,
        asyncio.TaskGroup() as group,
    ):
        answer = await client.submit("prob_sum", "python3", "a.py", b"print(1)\n")
        asked = asyncio.Event()
        read = client.read

        async def read_once(submission: str, wait_s: float = 0) -> Any:
            assert not asked.is_set(), "asked again"
            asked.set()
            return await read(submission, wait_s)

        client.read = read_once  # type: ignore[method-assign]
        waiting = group.create_task(until_ended(client, answer))
        await asked.wait()
        await cancel(pool, SubmissionId(answer["id"]))
    assert waiting.result()["status"] == "cancelled"


async def test_a_server_that_does_not_answer_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(client_module, "PAUSES_S", (0.01, 0.01))
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    async with Client.open(Server(f"http://127.0.0.1:{port}", "x"), tmp_path) as client:
        with pytest.raises(Unavailable, match=r"ConnectError.*DEEMSTER_URL"):
            await client.read("sub_x")
    async with Client.open(Server("gopher://x", "x"), tmp_path) as client:
        with pytest.raises(Refused, match="is not a valid URL"):
            await client.read("sub_x")


def test_the_admins_token_is_only_used_on_this_machine(tmp_path: Path) -> None:
    (tmp_path / "admin.token").write_text("deem_secret\n")
    assert admin_token("http://127.0.0.1:8000", tmp_path) == "deem_secret"
    with pytest.raises(Refused, match="DEEMSTER_TOKEN"):
        admin_token("https://judge.example.org", None)
    assert is_local("http://localhost:8000")
    assert is_local("http://[::1]:8000")
    assert not is_local("https://judge.example.org")
    assert not is_local("http://127.0.0.1.example.org")


@pytest.mark.parametrize(
    ("status", "verdict", "code"),
    [
        ("finished", "Accepted", 0),
        ("finished", "Wrong Answer", 1),
        ("finished", "Partial", 1),
        ("failed", None, 2),
        ("cancelled", None, 2),
    ],
)
def test_the_exit_code_depends_on_the_verdict(
    status: str, verdict: str | None, code: int
) -> None:
    assert exit_code({"status": status, "verdict": verdict}) == code


def test_the_progress_describes_the_status() -> None:
    assert describe({"queue_position": 3, "estimated_wait_s": 4.2}) == (
        "waiting at position 3, about 4 s"
    )
    assert describe({"status": "queued", "queue_position": 1, "estimated_wait_s": None}) == (
        "waiting at position 1"
    )
    assert describe({"status": "running", "progress": {"case": 2, "of": 9}}) == "case 2 of 9"
    assert describe({"status": "running"}) == "running"


def test_a_retry_waits_as_long_as_the_server_asks() -> None:
    assert longer(1.0, "5") == 5
    assert longer(8.0, "5") == 8
    assert longer(1.0, "9999") == 30
    assert longer(1.0, "tomorrow") == 1
    assert longer(None, "5") is None


def test_a_verdict_is_printed_in_lines() -> None:
    answer = {
        "id": "sub_1",
        "status": "finished",
        "verdict": "Time Limit Exceeded",
        "passed_cases": 3,
        "total_cases": 9,
        "runtime_ms": 2100,
        "memory_kb": 12345,
        "failed_case": 4,
        "limit_ms": 2000,
    }
    assert list(lines_of(answer)) == [
        "Time Limit Exceeded",
        "3 of 9 cases, 2100 ms, 12,345 KB, sub_1",
        "failed in case 4: the time limit is 2000 ms",
    ]
    failed = {"id": "sub_1", "status": "failed", "verdict": None, "error": "It broke."}
    assert list(lines_of(failed)) == ["sub_1 is failed", "It broke."]
