"""D1, D2, D5: limits on submissions; a refused submission says why, and creates nothing."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.typing import EventDict

from deemster.api import admission
from deemster.api.app import create_app
from deemster.domain.account import Role
from deemster.domain.job import PriorityClass
from deemster.domain.judgement import JuryJudgement
from deemster.domain.verdict import Verdict
from deemster.metrics import REFUSED
from deemster.pipeline.verdict.attempt import settle
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from tests.api.conftest import (
    Api,
    MakeDependencies,
    change_problem,
    make_user,
    make_worker,
    program,
    running,
)
from tests.builders import make_problem, make_submission, start_submission

Opened = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture
async def opened(make_dependencies: MakeDependencies, pool: Pool) -> Opened:
    await make_problem(pool)
    await make_problem(pool, "product")
    await make_worker(pool)

    @asynccontextmanager
    async def open_app(**settings: Any) -> AsyncIterator[httpx.AsyncClient]:
        async with running(create_app(make_dependencies(**settings))) as client:
            yield client

    return open_app


async def rows(pool: Pool) -> dict[str, int]:
    tables = ("submission", "work_event", "outbox", "artifact")
    async with connection(pool) as acquired:
        return {
            table: await acquired.fetchval(f"SELECT count(*) FROM {table}") for table in tables
        }


def said(answer: httpx.Response) -> str:
    result: str = answer.json()["type"]
    return result.removeprefix("urn:deemster:error:")


async def test_d2_a_second_submission_for_a_problem_has_to_wait(
    opened: Opened, pool: Pool, log_lines: Sequence[EventDict]
) -> None:
    async with opened(submit_interval_s=30) as client:
        ada = Api(client, await make_user(pool, "ada"))
        assert (await ada.post("/v1/submissions", program())).status_code == 202
        before = await rows(pool)
        refused = await ada.post("/v1/submissions", program(source_code="print(2)"))
        assert refused.status_code == 429
        assert said(refused) == "too_soon"
        assert 1 <= int(refused.headers["retry-after"]) <= 30
        assert refused.headers["ratelimit-limit"] == "1"
        assert refused.headers["ratelimit-remaining"] == "0"
        assert await rows(pool) == before
        other = await ada.post("/v1/submissions", program("prob_product"))
        assert other.status_code == 202
        bob = Api(client, await make_user(pool, "bob"))
        assert (await bob.post("/v1/submissions", program())).status_code == 202
    assert {"event": "request.refused", "reason": "too_soon"}.items() <= next(
        line for line in log_lines if line["event"] == "request.refused"
    ).items()


async def test_d2_a_cancelled_submission_and_a_compile_error_use_up_no_interval(
    opened: Opened, pool: Pool, artifacts: Artifacts
) -> None:
    async with opened(submit_interval_s=30) as client:
        ada = Api(client, await make_user(pool, "ada"))

        async def submit() -> httpx.Response:
            return await ada.post("/v1/submissions", program())

        first = (await submit()).json()["id"]
        assert (await submit()).status_code == 429
        assert (await ada.delete(f"/v1/submissions/{first}")).status_code == 200
        second = (await submit()).json()["id"]
        details = await start_submission(pool, second)
        await settle(pool, artifacts, details, JuryJudgement(Verdict.COMPILE_ERROR))
        third = (await submit()).json()["id"]
        details = await start_submission(pool, third)
        await settle(pool, artifacts, details, JuryJudgement(Verdict.WRONG_ANSWER))
        assert (await submit()).status_code == 429


async def test_d2_repeats_and_refused_requests_use_up_no_rate(
    opened: Opened, pool: Pool
) -> None:
    async with opened(submits_per_minute_user=2, executions_per_minute_user=2) as client:
        ada = Api(client, await make_user(pool, "ada"))
        for _ in range(3):
            repeated = await ada.post("/v1/submissions", program(), key="k")
            assert repeated.status_code == 202
            assert (await ada.post("/v1/submissions", program("prob_x"))).status_code == 404
            assert (await ada.post("/v1/submissions", {"x": 1})).status_code == 422
        assert (await ada.post("/v1/submissions", program())).status_code == 202
        assert said(await ada.post("/v1/submissions", program())) == "rate_limited"
        execution = {"language": "python3", "source_code": "print(1)"}
        for _ in range(3):
            repeated = await ada.post("/v1/executions", execution, key="e")
            assert repeated.status_code == 202, repeated.text
            wrong = {**execution, "language": "cobol-9"}
            assert (await ada.post("/v1/executions", wrong)).status_code == 422
        assert (await ada.post("/v1/executions", execution)).status_code == 202
        assert said(await ada.post("/v1/executions", execution)) == "rate_limited"


async def test_d2_after_the_interval_the_next_submission_is_accepted(
    opened: Opened, pool: Pool
) -> None:
    async with opened(submit_interval_s=30) as client:
        ada = Api(client, await make_user(pool, "ada"))
        assert (await ada.post("/v1/submissions", program())).status_code == 202
        async with connection(pool) as acquired:
            await acquired.execute("UPDATE pace SET last_at = last_at - interval '31 seconds'")
        assert (await ada.post("/v1/submissions", program())).status_code == 202
        assert (await ada.post("/v1/submissions", program())).status_code == 429


async def test_d2_of_many_concurrent_submissions_one_is_accepted(
    opened: Opened, pool: Pool
) -> None:
    async with opened(submit_interval_s=30) as client:
        ada = Api(client, await make_user(pool, "ada"))
        posts = (ada.post("/v1/submissions", program(source_code=f"#{n}")) for n in range(30))
        answers = await asyncio.gather(*posts)
    assert sorted(each.status_code for each in answers) == [202] + [429] * 29
    assert (await rows(pool))["submission"] == 1


async def test_d2_i1_a_repeat_with_its_key_is_not_a_second_submission(
    opened: Opened, pool: Pool
) -> None:
    async with opened(submit_interval_s=30, daily_quota=1) as client:
        ada = Api(client, await make_user(pool, "ada"))
        posts = (ada.post("/v1/submissions", program(), key="k") for _ in range(20))
        answers = await asyncio.gather(*posts)
        again = await ada.post("/v1/submissions", program(), key="k")
    assert {each.status_code for each in [*answers, again]} == {202}
    assert len({each.json()["id"] for each in [*answers, again]}) == 1


async def test_d2_an_admin_need_not_wait(opened: Opened, pool: Pool) -> None:
    async with opened(submit_interval_s=30, daily_quota=1, submits_per_minute_user=1) as client:
        admin = Api(client, await make_user(pool, "root", Role.ADMIN))
        answers = [await admin.post("/v1/submissions", program()) for _ in range(5)]
    assert {each.status_code for each in answers} == {202}


async def test_d2_submissions_per_day_are_limited(opened: Opened, pool: Pool) -> None:
    async with opened(daily_quota=3) as client:
        ada = Api(client, await make_user(pool, "ada"))
        posts = (ada.post("/v1/submissions", program(source_code=f"#{n}")) for n in range(12))
        answers = await asyncio.gather(*posts)
        assert sorted(each.status_code for each in answers) == [202] * 3 + [429] * 9
        refused = next(each for each in answers if each.status_code == 429)
        assert said(refused) == "quota_spent"
        assert int(refused.headers["retry-after"]) <= 24 * 3600
        assert refused.headers["ratelimit-limit"] == "3"
        assert (await rows(pool))["submission"] == 3
        # What was refused was not counted: with a higher quota there is room again.
        async with connection(pool) as acquired:
            await acquired.execute("UPDATE account SET daily_quota = 5 WHERE name = 'ada'")
    async with opened(daily_quota=3) as client:
        answers = [await ada_of(client, ada).post("/v1/submissions", program()) for _ in "abc"]
        assert [each.status_code for each in answers] == [202, 202, 429]


async def test_d2_a_new_day_starts_a_new_quota(opened: Opened, pool: Pool) -> None:
    async with opened(daily_quota=1) as client:
        ada = Api(client, await make_user(pool, "ada"))
        assert (await ada.post("/v1/submissions", program())).status_code == 202
        assert (await ada.post("/v1/submissions", program())).status_code == 429
        async with connection(pool) as acquired:
            await acquired.execute("UPDATE day_count SET day = day - 1")
        assert (await ada.post("/v1/submissions", program())).status_code == 202


def ada_of(client: httpx.AsyncClient, ada: Api) -> Api:
    return Api(client, ada.user)


async def test_d2_the_rate_of_a_user_is_limited_and_shown_in_headers(
    opened: Opened, pool: Pool
) -> None:
    async with opened(submits_per_minute_user=3) as client:
        ada = Api(client, await make_user(pool, "ada"))
        answers = [await ada.post("/v1/submissions", program()) for _ in range(4)]
        assert [each.status_code for each in answers] == [202, 202, 202, 429]
        left = [each.headers["ratelimit-remaining"] for each in answers]
        assert left == ["2", "1", "0", "0"]
        assert {each.headers["ratelimit-limit"] for each in answers} == {"3"}
        assert '3;w=60;name="user"' in answers[0].headers["ratelimit-policy"]
        assert said(answers[3]) == "rate_limited"
        assert 1 <= int(answers[3].headers["retry-after"]) <= 20
        bob = Api(client, await make_user(pool, "bob"))
        assert (await bob.post("/v1/submissions", program())).status_code == 202


async def test_d2_the_rate_of_an_address_is_limited(opened: Opened, pool: Pool) -> None:
    async with opened(submits_per_minute_ip=2) as client:
        people = [Api(client, await make_user(pool, name)) for name in ("ada", "bob", "eve")]
        answers = [await each.post("/v1/submissions", program()) for each in people]
    assert [each.status_code for each in answers] == [202, 202, 429]


async def test_d2_the_rate_of_a_problem_is_limited(opened: Opened, pool: Pool) -> None:
    async with opened(submits_per_minute_problem=1) as client:
        people = [Api(client, await make_user(pool, name)) for name in ("ada", "bob")]
        answers = [await each.post("/v1/submissions", program()) for each in people]
        assert [each.status_code for each in answers] == [202, 429]
        assert "This problem" in answers[1].json()["detail"]
        other = await people[1].post("/v1/submissions", program("prob_product"))
        assert other.status_code == 202


async def test_d1_submissions_are_refused_from_the_high_mark_down_to_the_low_mark(
    opened: Opened, pool: Pool, monkeypatch: pytest.MonkeyPatch, log_lines: Sequence[EventDict]
) -> None:
    monkeypatch.setattr(admission, "KEPT_S", 0.0)
    waiting = [await make_submission(pool) for _ in range(4)]
    async with opened(queue_high=5, queue_low=2) as client:
        ada = Api(client, await make_user(pool, "grace"))
        assert (await ada.post("/v1/submissions", program())).status_code == 202
        before = await rows(pool)
        refused = await ada.post("/v1/submissions", program())
        assert refused.status_code == 503
        assert said(refused) == "overloaded"
        assert int(refused.headers["retry-after"]) >= 5
        assert await rows(pool) == before
        await drop(pool, waiting[:2])
        assert (await ada.post("/v1/submissions", program())).status_code == 503
        await drop(pool, waiting[2:])
        assert (await ada.post("/v1/submissions", program())).status_code == 202
    result = [line["event"] for line in log_lines if line["event"].startswith("load_shedding")]
    assert result == ["load_shedding.started", "load_shedding.stopped"]


async def drop(pool: Pool, submissions: Sequence[str]) -> None:
    async with connection(pool) as acquired:
        await acquired.execute(
            "UPDATE submission SET state = 'CANCELLED', finished_at = now() "
            "WHERE id = ANY ($1)",
            list(submissions),
        )


async def test_d1_i1_a_repeat_is_answered_while_submissions_are_refused(
    opened: Opened, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "KEPT_S", 0.0)
    async with opened(queue_high=1, queue_low=0) as client:
        ada = Api(client, await make_user(pool, "ada"))
        first = await ada.post("/v1/submissions", program(), key="k")
        assert first.status_code == 202
        again = await ada.post("/v1/submissions", program(), key="k")
        assert again.json() == first.json()
        assert (await ada.post("/v1/submissions", program(), key="l")).status_code == 503


async def test_d2_refusals_are_counted(opened: Opened, pool: Pool) -> None:
    counter = REFUSED.labels("too_soon")
    before = counter._value.get()
    async with opened(submit_interval_s=30) as client:
        ada = Api(client, await make_user(pool, "ada"))
        for _ in range(3):
            await ada.post("/v1/submissions", program())
    assert counter._value.get() == before + 2


async def test_d2_a_submission_over_the_quota_does_not_start_an_interval(
    opened: Opened, pool: Pool
) -> None:
    """Otherwise a client that retries in time would be refused again."""
    async with opened(submit_interval_s=30, daily_quota=1) as client:
        ada = Api(client, await make_user(pool, "ada"))
        assert (await ada.post("/v1/submissions", program())).status_code == 202
        refused = await ada.post("/v1/submissions", program("prob_product"))
        assert said(refused) == "quota_spent"
        async with connection(pool) as acquired:
            await acquired.execute("UPDATE day_count SET day = day - 1")
        taken = await ada.post("/v1/submissions", program("prob_product"))
        assert taken.status_code == 202


async def test_d2_i1_of_many_concurrent_submissions_with_one_key_one_counts(
    opened: Opened, pool: Pool
) -> None:
    async with opened(daily_quota=100) as client:
        ada = Api(client, await make_user(pool, "ada"))
        bob = Api(client, await make_user(pool, "bob"))
        posts = [bob.post("/v1/submissions", program()) for _ in range(3)]
        posts += [ada.post("/v1/submissions", program(), key="k") for _ in range(30)]
        answers = await asyncio.gather(*posts)
    assert {answer.status_code for answer in answers} == {202}
    async with connection(pool) as acquired:
        counted = await acquired.fetch("SELECT account_id, submits FROM day_count")
    assert {row["account_id"]: row["submits"] for row in counted} == {
        ada.user.id: 1,
        bob.user.id: 3,
    }


async def test_d2_a_refused_large_source_is_not_stored(
    opened: Opened, pool: Pool, tmp_path: Path
) -> None:
    """Otherwise refused users could fill the disk."""
    await change_problem(pool, source_bytes=1 << 20)
    sources = iter(range(100))

    def large() -> dict[str, Any]:
        return program(source_code=f"# {next(sources)}\n" * 20_000)

    def kept() -> int:
        return sum(path.is_file() for path in (tmp_path / "artifacts").rglob("*"))

    async with opened(submit_interval_s=30, daily_quota=2) as client:
        ada = Api(client, await make_user(pool, "ada"))
        asked = large()
        first = await ada.post("/v1/submissions", asked, key="k")
        assert (first.status_code, kept()) == (202, 1)
        again = await ada.post("/v1/submissions", asked, key="k")
        assert (again.status_code, again.json()) == (202, first.json())
        reused = await ada.post("/v1/submissions", large(), key="k")
        assert said(reused) == "idempotency_key_reused"
        refused = await ada.post("/v1/submissions", large())
        assert said(refused) == "too_soon"
        assert (await ada.post("/v1/submissions", program("prob_product"))).status_code == 202
        assert said(await ada.post("/v1/submissions", large())) == "quota_spent"
        assert kept() == 1


async def test_d2_the_rate_of_all_requests_is_limited(opened: Opened, pool: Pool) -> None:
    async with opened(requests_per_second_user=5) as client:
        ada = Api(client, await make_user(pool, "ada"))
        answers = [await ada.client.get("/v1/problems", headers=ada.user.headers)]
        while answers[-1].status_code == 200 and len(answers) < 500:
            answers.append(await ada.client.get("/v1/problems", headers=ada.user.headers))
        assert len(answers) > 5
        assert answers[-1].status_code == 429
        assert said(answers[-1]) == "rate_limited"
        bob = Api(client, await make_user(pool, "bob"))
        assert (await bob.get("/v1/problems")).status_code == 200
        admin = Api(client, await make_user(pool, "root", Role.ADMIN))
        answers = [await admin.get("/v1/problems") for _ in range(20)]
        assert {each.status_code for each in answers} == {200}


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1/x", "http://localhost:8080/", "http://[::1]/", "http://2130706433/"],
)
async def test_h3_a_plainly_private_webhook_is_refused_at_once(
    opened: Opened, pool: Pool, url: str
) -> None:
    async with opened() as client:
        ada = Api(client, await make_user(pool, "ada"))
        refused = await ada.post("/v1/submissions", program(webhook_url=url))
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["field"] == "webhook_url"
    async with opened(webhook_allow_private=True) as client:
        taken = await Api(client, ada.user).post("/v1/submissions", program(webhook_url=url))
        assert taken.status_code == 202


async def test_d1_trials_of_a_rejudging_do_not_cause_load_shedding(
    opened: Opened, pool: Pool
) -> None:
    for _ in range(3):
        await make_submission(pool, priority_class=PriorityClass.REJUDGE)
    async with opened(queue_high=1, queue_low=0) as client:
        ada = Api(client, await make_user(pool, "grace"))
        assert (await ada.post("/v1/submissions", program())).status_code == 202


async def test_o2_the_log_names_the_client_the_account_and_the_limit(
    make_dependencies: MakeDependencies, pool: Pool, log_lines: Sequence[EventDict]
) -> None:
    user = await make_user(pool, "ada")
    await make_problem(pool)
    async with running(create_app(make_dependencies(submits_per_minute_user=1))) as client:
        for _ in range(2):
            await client.post("/v1/submissions", json=program(), headers=user.headers)
        body = {"name": "Ada", "password": "a wrong password"}
        await client.post("/v1/session", json=body)
    refused = [each for each in log_lines if each["event"] == "request.refused"]
    assert refused[0]["limit"] == "submit.user"
    answered = [each for each in log_lines if each["event"] == "request.answered"]
    assert {each["client"] for each in answered} == {"127.0.0.1"}
    failed = [each for each in log_lines if each["event"] == "log_in.failed"]
    assert (failed[0]["account"], failed[0]["client"]) == ("Ada", "127.0.0.1")
