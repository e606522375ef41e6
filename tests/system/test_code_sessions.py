"""Code sessions with a real worker: edited and deleted while their programs run (E3, E6)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from deemster.bench.load.processes import free_address
from deemster.store import accounts
from deemster.store.pool import connection
from tests.builders import make_account
from tests.system.conftest import OpenService
from tests.system.service import Service
from tests.waiting import PATIENCE_S, until, until_ready

PATH = "/v1/code-sessions"
FIRST = """
import sys
print("first", flush=True)
sys.stdin.readline()
print("first still")
"""


@asynccontextmanager
async def user_of(
    open_service: OpenService, **settings: Any
) -> AsyncIterator[tuple[Service, httpx.AsyncClient]]:
    """A whole service, and a user of its API."""
    address = free_address()
    async with open_service(host=address.host, port=address.port, **settings) as service:
        account = await make_account(service.pool, "ada")
        async with connection(service.pool) as acquired:
            token = await accounts.add_token(acquired, account, "test")
        service.start("api", "relay", "worker", "keeper")
        await until_ready(address.url)
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(
            base_url=address.url, headers=headers, timeout=PATIENCE_S
        ) as http:
            yield service, http


async def create(user: httpx.AsyncClient, source: str) -> str:
    answer = await user.post(PATH, json={"language": "python3", "template_code": source})
    assert answer.status_code == 201, answer.text
    return answer.headers["location"]


async def run(user: httpx.AsyncClient, session: str, **options: Any) -> str:
    answer = await user.post(f"{session}/run", json=options)
    assert answer.status_code == 202, answer.text
    return answer.headers["location"]


async def until_output(user: httpx.AsyncClient, execution: str, text: str) -> None:
    async def has_output() -> bool:
        return text in (await user.get(execution)).json()["stdout"]

    await until(has_output)


async def result(user: httpx.AsyncClient, execution: str) -> dict[str, Any]:
    async def ended() -> dict[str, Any] | None:
        found: dict[str, Any] = (await user.get(execution, params={"wait": 30})).json()
        return found if found["status"] not in {"QUEUED", "RUNNING"} else None

    found = await until(ended)
    assert found is not None
    return dict(found)


async def test_e3_a_session_is_edited_while_its_snapshot_runs(
    open_service: OpenService,
) -> None:
    async with user_of(open_service) as (_, user):
        session = await create(user, FIRST)
        first = await run(user, session, io="streams")
        await until_output(user, first, "first\n")

        saved = await user.patch(session, json={"source_code": "puts 2", "language": "ruby"})
        assert (saved.status_code, saved.json()["version"]) == (200, 2)
        assert (await user.get(session)).json()["source_code"] == "puts 2"
        saved = await user.patch(
            session, json={"source_code": "print('second')", "language": "python3"}
        )
        second = await result(user, await run(user, session))
        assert (second["status"], second["stdout"]) == ("COMPLETED", "second\n")
        assert (await user.get(first)).json()["status"] == "RUNNING"

        typed = await user.post(f"{first}/input", json={"data": "\n"})
        assert typed.is_success, typed.text
        found = await result(user, first)
        assert (found["language"], found["stdout"]) == ("python3", "first\nfirst still\n")
        shown = (await user.get(session)).json()
        assert shown["latest_execution_id"] == second["execution_id"]


async def test_e6_a_program_is_killed_when_its_session_is_deleted(
    open_service: OpenService,
) -> None:
    """It writes all the time, so that output comes while it is deleted."""
    source = "import time\nwhile True:\n    print('on', flush=True)\n    time.sleep(0.001)"
    async with user_of(open_service, execution_wall_s=3600) as (service, user):
        session = await create(user, source)
        running = await run(user, session, limits={"wall_time_ms": 3_600_000})
        await until_output(user, running, "on\n")
        assert (await user.delete(session)).status_code == 204
        assert (await user.get(running)).status_code == 404
        for table in ("code_session", "code_version", "work", "execution", "execution_output"):
            assert await service.value(f"SELECT count(*) FROM {table}") == 0, table

        await until(lambda: "superseded" in service.fleet.tails(), why=service.fleet.tails)
        other = await create(user, "print('well')")
        assert (await result(user, await run(user, other)))["stdout"] == "well\n"
        assert "output.crashed" not in service.fleet.tails()
