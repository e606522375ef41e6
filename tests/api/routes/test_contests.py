"""Contests: times, problems and submissions."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from deemster.domain.job import PRIORITY_CLASS_WIDTH, PriorityClass
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.attempt import settle
from deemster.pipeline.verdict.rejudge import rejudge
from deemster.store import audit
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection, transaction
from tests.api.conftest import Api, make_worker, program
from tests.api.judgements import JUDGEMENTS
from tests.builders import make_problem, start_submission
from tests.waiting import until

PATH = "/v1/contests"
YEARS = timedelta(days=3650)
LONG_AGO, LONG_AFTER = datetime(2001, 1, 1, tzinfo=UTC), datetime(2999, 1, 1, tzinfo=UTC)


def plan(opens: datetime = LONG_AGO, closes: datetime = LONG_AFTER, **more: Any) -> Any:
    return {
        "title": "Spring",
        "opens_at": opens.isoformat(),
        "closes_at": closes.isoformat(),
        "problems": ["prob_sum"],
        **more,
    }


OPEN = plan()
UPCOMING = plan(opens=LONG_AFTER - YEARS)
CLOSED = plan(closes=LONG_AGO + YEARS)


async def made(admin: Api, pool: Pool, wanted: Any = OPEN) -> str:
    await make_problem(pool)
    answer = await admin.post(PATH, wanted)
    assert answer.status_code == 201, answer.text
    contest: str = answer.json()["id"]
    assert answer.headers["location"] == f"{PATH}/{contest}"
    return contest


async def put(admin: Api, contest: str, wanted: Any) -> Any:
    return await admin.client.put(f"{PATH}/{contest}", json=wanted, headers=admin.user.headers)


async def test_a_contest_shows_its_problems_once_it_has_opened(
    ada: Api, admin: Api, pool: Pool
) -> None:
    """A11: before that, only its title and times."""
    for wanted, status in ((UPCOMING, "upcoming"), (OPEN, "open"), (CLOSED, "closed")):
        contest = await made(admin, pool, wanted)
        shown = (await ada.get(f"{PATH}/{contest}")).json()
        assert (shown["title"], shown["status"]) == ("Spring", status)
        assert shown.get("problems") == (None if status == "upcoming" else ["prob_sum"])
        by_admin = (await admin.get(f"{PATH}/{contest}")).json()
        assert by_admin["problems"] == ["prob_sum"]
    listed = (await ada.get(PATH)).json()["items"]
    assert [each["status"] for each in listed] == ["closed", "open", "upcoming"]
    assert "problems" not in listed[2]


async def test_a_contest_submission_has_priority_and_names_its_contest(
    ada: Api, admin: Api, pool: Pool
) -> None:
    """Q8, A8."""
    contest = await made(admin, pool)
    plain = (await ada.post("/v1/submissions", program())).json()["id"]
    answer = await ada.post("/v1/submissions", program(contest_id=contest))
    assert answer.status_code == 202, answer.text
    mine = answer.json()["id"]
    assert (await ada.show(mine))["contest_id"] == contest
    assert (await ada.show(mine))["queue_position"] == 1
    assert "contest_id" not in await ada.show(plain)
    async with connection(pool) as acquired:
        priority = await acquired.fetchval(
            "SELECT priority FROM submission WHERE id = $1", mine
        )
    assert priority // PRIORITY_CLASS_WIDTH == PriorityClass.CONTEST
    found = await ada.get("/v1/submissions", params={"contest": contest})
    assert [each["id"] for each in found.json()["items"]] == [mine]
    assert found.json()["items"][0]["contest_id"] == contest
    none = await ada.get("/v1/submissions", params={"contest": "con_other"})
    assert none.status_code == 404


@pytest.mark.parametrize(
    ("wanted", "problem", "status"),
    [
        (UPCOMING, "prob_sum", 409),
        (CLOSED, "prob_sum", 409),
        (UPCOMING, "prob_max", 409),
        (OPEN, "prob_max", 422),
        (None, "prob_sum", 404),
    ],
)
async def test_a_submission_that_does_not_belong_to_the_contest_is_refused(
    ada: Api, admin: Api, pool: Pool, wanted: Any, problem: str, status: int
) -> None:
    """Before a contest opens, no response reveals its problems."""
    await make_problem(pool, "max")
    contest = await made(admin, pool, wanted) if wanted else "con_" + "0" * 26
    answer = await ada.post("/v1/submissions", program(problem, contest_id=contest))
    assert answer.status_code == status, answer.text
    assert (await ada.get("/v1/submissions")).json()["items"] == []


@pytest.mark.parametrize("contest", ["nonsense", "con_x", "x" * 128])
async def test_an_impossible_contest_id_is_not_found(
    ada: Api, pool: Pool, contest: str
) -> None:
    await make_problem(pool)
    answer = await ada.post("/v1/submissions", program(contest_id=contest))
    assert answer.status_code == 404
    assert (await ada.get(f"{PATH}/{contest}")).status_code == 404


async def test_a_key_is_bound_to_its_contest(ada: Api, admin: Api, pool: Pool) -> None:
    """I2: the same program for another contest, or for none, is another request."""
    contest = await made(admin, pool)
    asked = program(contest_id=contest)
    first = await ada.post("/v1/submissions", asked, key="once")
    assert first.status_code == 202
    assert (await ada.post("/v1/submissions", asked, key="once")).json() == first.json()
    assert (await ada.post("/v1/submissions", program(), key="once")).status_code == 422
    other = program(contest_id=await made(admin, pool))
    assert (await ada.post("/v1/submissions", other, key="once")).status_code == 422


async def test_a_retry_after_the_contest_gets_the_first_response(
    ada: Api, admin: Api, pool: Pool
) -> None:
    """I1: no new submission is accepted."""
    contest = await made(admin, pool)
    asked = program(contest_id=contest)
    first = await ada.post("/v1/submissions", asked, key="once")
    assert (await put(admin, contest, CLOSED)).status_code == 200

    async def is_over() -> bool:
        return (await admin.post("/v1/submissions", asked)).status_code == 409

    await until(is_over)
    again = await ada.post("/v1/submissions", asked, key="once")
    assert (again.status_code, again.json()) == (202, first.json())


async def test_a_contest_closes_on_time(admin: Api, pool: Pool) -> None:
    """The cached contest does not keep it open."""
    await make_problem(pool)
    async with connection(pool) as acquired:
        now = await acquired.fetchval("SELECT now()")
    contest = await made(admin, pool, plan(closes=now + timedelta(seconds=2)))

    async def is_over() -> bool:
        # Admins have no rate that would hide it.
        answer = await admin.post("/v1/submissions", program(contest_id=contest))
        return answer.status_code == 409

    await until(is_over)
    async with connection(pool) as acquired:
        late = await acquired.fetchval(
            "SELECT count(*) FROM submission WHERE submitted_at > $1",
            now + timedelta(seconds=2.5),
        )
    assert late == 0


async def test_a_rejudge_stays_in_its_contest(
    ada: Api, admin: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """A9: for a single rejudge and for a rejudging of the contest."""
    contest = await made(admin, pool)
    await make_worker(pool)
    old = (await ada.post("/v1/submissions", program(contest_id=contest))).json()["id"]
    await ada.post("/v1/submissions", program())
    await judge(pool, artifacts, old)
    async with transaction(pool) as writing:
        new = await rejudge(writing, old)
    assert (await ada.show(new.id))["contest_id"] == contest
    await judge(pool, artifacts, new.id)
    found = await admin.post("/v1/admin/rejudgings", {"contest": contest})
    assert found.json()["matched"] == 1
    async with connection(pool) as acquired:
        kept = await acquired.fetchval(
            "SELECT contest_id FROM submission WHERE rejudge_of = $1", new.id
        )
    assert kept == contest


async def judge(pool: Pool, artifacts: Artifacts, submission: Any) -> None:
    running = await start_submission(pool, submission)
    await settle(pool, artifacts, running, JUDGEMENTS[Verdict.ACCEPTED])


async def test_only_admins_change_a_contest_and_the_audit_log_records_it(
    ada: Api, admin: Api, pool: Pool
) -> None:
    """O6."""
    contest = await made(admin, pool, UPCOMING)
    changed = await put(admin, contest, {**OPEN, "title": "Summer"})
    assert (changed.status_code, changed.json()["title"]) == (200, "Summer")
    assert (await ada.get(f"{PATH}/{contest}")).json()["status"] == "open"
    assert (await ada.post(PATH, OPEN)).status_code == 403
    assert (await put(ada, contest, OPEN)).status_code == 403
    for unknown in ("con_" + "0" * 26, "x"):
        assert (await put(admin, unknown, OPEN)).status_code == 404
    async with connection(pool) as acquired:
        audit_entries = await audit.page(acquired, before=None, limit=9, target=contest)
    assert [each.act for each in audit_entries] == ["contest.change", "contest.make"]


@pytest.mark.parametrize(
    "wanted",
    [
        plan(opens=LONG_AFTER, closes=LONG_AFTER),
        plan(problems=[]),
        plan(problems=["prob_sum", "prob_sum"]),
        plan(problems=["prob_unknown"]),
        plan(problems=["a\0b"]),
        plan(title=""),
        plan(title="x" * 129),
        plan(more=1),
        {**OPEN, "opens_at": "2026-01-01T00:00:00"},
        {**OPEN, "opens_at": "0001-01-01T00:00:00+14:00"},
        {**OPEN, "closes_at": "9999-12-31T23:59:59-14:00"},
    ],
)
async def test_an_invalid_contest_is_refused_with_a_reason(
    admin: Api, pool: Pool, wanted: Any
) -> None:
    """A6."""
    await make_problem(pool)
    assert (await admin.post(PATH, wanted)).status_code == 422


async def test_problems_of_an_upcoming_contest_stay_in_the_list(
    ada: Api, admin: Api, pool: Pool
) -> None:
    """A contest hides which problems it has, not the problems themselves."""
    await made(admin, pool, UPCOMING)
    listed = (await ada.get("/v1/problems")).json()["items"]
    assert [each["id"] for each in listed] == ["prob_sum"]
