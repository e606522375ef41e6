"""Code sessions with a real worker: edited and deleted while their programs run (E3, E6)."""

import secrets
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from deemster.store import accounts
from deemster.store.pool import connection
from tests.builders import make_account
from tests.system.conftest import RunningService
from tests.system.service import Service
from tests.waiting import PATIENCE_S, until

PATH = "/v1/code-sessions"
OWNED = {
    "code_session": "id",
    "code_version": "session_id",
    "work": "id",
    "execution": "work_id",
    "execution_output": "work_id",
}
"""Tables with rows of a session and of its executions, and the columns of their ids."""
FIRST = """
import sys
print("first", flush=True)
sys.stdin.readline()
print("first still")
"""


@pytest.fixture
async def user(shared_service: RunningService) -> AsyncIterator[httpx.AsyncClient]:
    """A new user of the API."""
    pool = shared_service.service.pool
    account = await make_account(pool, f"user-{secrets.token_hex(4)}")
    async with connection(pool) as acquired:
        token = await accounts.add_token(acquired, account, "test")
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(
        base_url=shared_service.address.url, headers=headers, timeout=PATIENCE_S, verify=False
    ) as http:
        yield http


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


async def test_e3_a_session_is_edited_while_its_snapshot_runs(user: httpx.AsyncClient) -> None:
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
    shared_service: RunningService, user: httpx.AsyncClient
) -> None:
    """It writes all the time, so that output comes while it is deleted."""
    service = shared_service.service
    source = "import time\nwhile True:\n    print('on', flush=True)\n    time.sleep(0.001)"
    session = await create(user, source)
    running = await run(user, session, limits={"wall_time_ms": 3_600_000})
    await until_output(user, running, "on\n")
    ids = [path.rpartition("/")[2] for path in (session, running)]
    before = [await count_rows(service, table, ids) for table in OWNED]
    assert all(before), before
    assert (await user.delete(session)).status_code == 204
    assert (await user.get(running)).status_code == 404
    for table in OWNED:
        assert await count_rows(service, table, ids) == 0, table

    await until(lambda: "superseded" in results_of(service, ids[1]), why=service.fleet.tails)
    other = await create(user, "print('well')")
    assert (await result(user, await run(user, other)))["stdout"] == "well\n"
    assert "output.crashed" not in service.fleet.tails()


def results_of(service: Service, execution: str) -> list[str]:
    """What the worker says of its jobs for the execution."""
    done = service.fleet.members["worker"].said("job.done")
    return [line["result"] for line in done if line.get("executionId") == execution]


async def count_rows(service: Service, table: str, ids: list[str]) -> int:
    statement = f"SELECT count(*) FROM {table} WHERE {OWNED[table]} = ANY ($1)"
    return int(await service.value(statement, ids))
