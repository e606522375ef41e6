"""`/v1/executions` without a worker: accepted once, shown to its owner only, ended, listed."""

import asyncio
import base64
from typing import Any

import pytest

from deemster.api import admission
from deemster.api.app import create_app
from deemster.domain.account import Role
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api, MakeDependencies, make_user, make_worker, running
from tests.builders import make_submission

PATH = "/v1/executions"
PROGRAM = {"language": "python3", "source_code": "print(1)"}


async def count(pool: Pool, table: str) -> int:
    async with connection(pool) as acquired:
        return int(await acquired.fetchval(f"SELECT count(*) FROM {table}"))


async def test_an_execution_has_its_event_and_its_job(ada: Api, pool: Pool) -> None:
    """Q2"""
    answer = await ada.post(PATH, PROGRAM)
    assert answer.status_code == 202, answer.text
    result = answer.json()
    assert result["execution_id"].startswith("exe_")
    assert result["status"] == "QUEUED"
    assert answer.headers["location"] == f"{PATH}/{result['execution_id']}"
    for table in ("work", "execution", "work_event", "outbox"):
        assert await count(pool, table) == 1, table
    async with connection(pool) as acquired:
        assert await acquired.fetchval("SELECT task FROM outbox") == "execution:run"
    shown = (await ada.get(f"{PATH}/{result['execution_id']}")).json()
    assert (shown["status"], shown["stdout"], shown["stderr"]) == ("QUEUED", "", "")


async def test_i1_a_key_starts_one_execution(ada: Api, pool: Pool) -> None:
    first = await ada.post(PATH, PROGRAM, key="k1")
    again = await ada.post(PATH, PROGRAM, key="k1")
    assert first.json() == again.json()
    assert await count(pool, "execution") == 1
    other = await ada.post(PATH, {**PROGRAM, "stdin": "x"}, key="k1")
    assert (other.status_code, other.json()["type"].rpartition(":")[2]) == (
        422,
        "idempotency_key_reused",
    )


async def test_i1_a_repeat_gets_its_first_answer_whatever_the_limits_are(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    async with running(create_app(make_dependencies(executions_per_minute_user=1))) as client:
        ada = Api(client, await make_user(pool, "ada"))
        first = await ada.post(PATH, PROGRAM, key="k")
        again = await ada.post(PATH, PROGRAM, key="k")
        assert (again.status_code, again.json()) == (202, first.json())
        assert (await ada.post(PATH, PROGRAM, key="other")).status_code == 429
        reused = await ada.post(PATH, {**PROGRAM, "stdin": "x"}, key="k")
        assert reused.status_code == 422


async def test_i1_a_batch_is_repeated_with_its_key(ada: Api, pool: Pool) -> None:
    body = {"executions": [PROGRAM] * 100}
    key = "k" * 252
    first = await ada.post(f"{PATH}/batch", body, key=key)
    assert first.status_code == 202, first.text
    assert (await ada.post(f"{PATH}/batch", body, key=key)).json() == first.json()
    one = await ada.post(PATH, PROGRAM, key=f"{key}.99")
    assert one.json() == first.json()["executions"][99]
    assert await count(pool, "execution") == 100
    assert (await ada.post(f"{PATH}/batch", body, key=key + "k")).status_code == 422
    assert await count(pool, "execution") == 100


REFUSED: dict[str, dict[str, Any]] = {
    "no source": {"language": "python3"},
    "an empty source": {"language": "python3", "source_code": ""},
    "two sources": {**PROGRAM, "files": [{"name": "a.py", "content": "1"}]},
    "an unknown language": {**PROGRAM, "language": "klingon"},
    "too long a time": {**PROGRAM, "limits": {"wall_time_ms": 3_600_000}},
    "too much memory": {**PROGRAM, "limits": {"memory_mb": 100_000}},
    "too many processes": {**PROGRAM, "limits": {"processes": 100_000}},
    "an unknown field": {**PROGRAM, "enable_network": True},
    "a NUL in an argument": {**PROGRAM, "args": ["a\0b"]},
    "a path out of the directory": {
        "language": "python3",
        "files": [{"name": "../a.py", "content": "1"}],
    },
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_bad_request_is_refused_and_leaves_nothing(
    ada: Api, pool: Pool, case: str
) -> None:
    answer = await ada.post(PATH, REFUSED[case])
    assert answer.status_code == 422, answer.text
    assert await count(pool, "work") == 0


async def test_each_of_a_batch_has_its_own_answer(ada: Api, pool: Pool) -> None:
    programs = [PROGRAM, {**PROGRAM, "language": "klingon"}, PROGRAM]
    answer = await ada.post(f"{PATH}/batch", {"executions": programs})
    assert answer.status_code == 202, answer.text
    first, second, third = answer.json()["executions"]
    assert first["execution_id"] != third["execution_id"]
    assert "klingon" in second["error"]
    assert await count(pool, "execution") == 2
    for bad in ([], [PROGRAM] * 101):
        answer = await ada.post(f"{PATH}/batch", {"executions": bad})
        assert answer.status_code == 422


async def test_a11_an_execution_of_another_account_does_not_exist(
    ada: Api, bob: Api, admin: Api
) -> None:
    path = (await ada.post(PATH, PROGRAM)).headers["location"]
    for answer in (await bob.get(path), await bob.delete(path)):
        assert answer.status_code == 404
    assert (await bob.get(PATH)).json()["items"] == []
    assert (await admin.get(path)).status_code == 200


async def test_executions_are_listed_in_pages(ada: Api) -> None:
    made = [(await ada.post(PATH, PROGRAM)).json()["execution_id"] for _ in range(3)]
    page = (await ada.get(PATH, params={"limit": 2})).json()
    assert [each["execution_id"] for each in page["items"]] == [made[2], made[1]]
    rest = (await ada.get(PATH, params={"cursor": page["next_cursor"]})).json()
    assert [each["execution_id"] for each in rest["items"]] == [made[0]]
    assert rest["next_cursor"] is None


async def test_an_execution_that_waits_is_cancelled_once(ada: Api) -> None:
    path = (await ada.post(PATH, PROGRAM)).headers["location"]
    assert (await ada.delete(path)).json()["status"] == "CANCELLED"
    assert (await ada.get(path, params={"wait": 5})).json()["status"] == "CANCELLED"
    assert (await ada.delete(path)).status_code == 409


async def test_output_comes_as_base64_on_request(ada: Api, pool: Pool) -> None:
    accepted = (await ada.post(PATH, PROGRAM)).json()
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE work SET state = 'QUEUED'")
        await acquired.execute(
            "UPDATE work SET state = 'RUNNING', attempt = 1, started_at = now()"
        )
        await acquired.execute(
            """INSERT INTO execution_output (work_id, attempt, number, stream, at_ms, content)
               VALUES ($1, 1, 1, 1, 0, $2), ($1, 1, 2, 2, 0, 'e'), ($1, 1, 3, 1, 5, 'z')""",
            accepted["execution_id"],
            b"\xff\0",
        )
    path = f"{PATH}/{accepted['execution_id']}"
    shown = (await ada.get(path, params={"output": "base64"})).json()
    assert base64.b64decode(shown["stdout_base64"]) == b"\xff\0z"
    assert base64.b64decode(shown["stderr_base64"]) == b"e"
    assert (await ada.get(path)).json()["stdout"] == "\ufffd\0z"


async def test_d2_too_many_executions_are_refused(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    async with running(create_app(make_dependencies(executions_per_minute_user=2))) as client:
        ada = Api(client, await make_user(pool, "ada"))
        for _ in range(2):
            assert (await ada.post(PATH, PROGRAM)).status_code == 202
        answer = await ada.post(PATH, PROGRAM)
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) >= 1
    assert await count(pool, "work") == 2


async def test_d1_executions_are_refused_while_too_many_wait(
    make_dependencies: MakeDependencies, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting submissions do not count: they have other slots."""
    monkeypatch.setattr(admission, "KEPT_S", 0.0)
    for _ in range(3):
        await make_submission(pool)
    async with running(create_app(make_dependencies(queue_high=2, queue_low=1))) as client:
        ada = Api(client, await make_user(pool, "grace"))
        admin = Api(client, await make_user(pool, "root", Role.ADMIN))
        first = await ada.post(PATH, PROGRAM, key="k")
        assert (await ada.post(PATH, PROGRAM)).status_code == 202
        for each in (ada, admin):
            answer = await each.post(PATH, PROGRAM)
            assert answer.status_code == 503
            assert int(answer.headers["retry-after"]) >= 1
        assert (await ada.post(PATH, PROGRAM, key="k")).json() == first.json()
        assert await count(pool, "execution") == 2
        assert (await ada.delete(first.headers["location"])).status_code == 200
        assert (await ada.post(PATH, PROGRAM)).status_code == 202


async def test_d2_a_user_has_few_programs_that_wait_for_people(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    live = {**PROGRAM, "io": "terminal"}
    app = create_app(make_dependencies(live_executions_per_user=2))
    async with running(app) as client:
        ada = Api(client, await make_user(pool, "ada"))
        first = await ada.post(PATH, live, key="k")
        assert (await ada.post(PATH, {**PROGRAM, "io": "streams"})).status_code == 202
        assert (await ada.post(PATH, live)).status_code == 429
        assert (await ada.post(PATH, live, key="k")).json() == first.json()
        assert (await ada.post(PATH, PROGRAM)).status_code == 202
        bob = Api(client, await make_user(pool, "bob"))
        assert (await bob.post(PATH, live)).status_code == 202
        assert (await ada.delete(first.headers["location"])).status_code == 200
        assert (await ada.post(PATH, live)).status_code == 202


async def test_d2_programs_that_are_sent_at_the_same_time_are_counted(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    live = {**PROGRAM, "io": "streams"}
    async with running(create_app(make_dependencies(live_executions_per_user=2))) as client:
        ada = Api(client, await make_user(pool, "ada"))
        answers = await asyncio.gather(*(ada.post(PATH, live) for _ in range(10)))
    assert sorted(each.status_code for each in answers) == [202] * 2 + [429] * 8


async def test_q15_without_a_worker_executions_are_accepted_with_a_warning_or_refused(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    user = await make_user(pool, "ada")
    async with running(create_app(make_dependencies())) as client:
        answer = await Api(client, user).post(PATH, PROGRAM)
        assert (answer.status_code, answer.headers["warning"][:3]) == (202, "199")
    async with running(create_app(make_dependencies(without_workers="refuse"))) as client:
        assert (await Api(client, user).post(PATH, PROGRAM)).status_code == 503
    await make_worker(pool)
    async with running(create_app(make_dependencies())) as client:
        answer = await Api(client, user).post(PATH, PROGRAM)
        assert (answer.status_code, answer.headers.get("warning")) == (202, None)


async def test_a_list_does_not_read_returned_files(ada: Api, pool: Pool) -> None:
    """They may have megabytes each."""
    await ada.post(PATH, PROGRAM)
    async with connection(pool) as acquired:
        await acquired.execute(
            "UPDATE execution SET status = 'ok', returned_files = 'nonsense'"
        )
        await acquired.execute("UPDATE execution SET cpu_ms = 1, wall_ms = 1, memory_kb = 1")
    assert len((await ada.get(PATH)).json()["items"]) == 1
