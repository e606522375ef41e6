"""C1, C2, C3: what is cached and for how long, and that users see their own writes."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from redis.asyncio import Redis

from deemster.api.app import create_app
from deemster.api.http.etag import matches
from deemster.cache.cache import Cache
from deemster.cache.kinds import PROBLEM, RUNNING_STATUS_S, STATUS
from deemster.domain.ids import ProblemId, SubmissionId, WorkerId
from deemster.domain.submission import JudgingProgress
from deemster.domain.verdict import Verdict
from deemster.store import leases, problems, workers
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from tests.api.api_process import Process, process
from tests.api.conftest import (
    Api,
    MakeDependencies,
    change_problem,
    make_worker,
    program,
    running,
)
from tests.api.judgements import JUDGEMENTS, judged_submission
from tests.builders import make_problem, make_submission, start_submission


@pytest.fixture
async def here(make_dependencies: MakeDependencies) -> AsyncIterator[Process]:
    async with process(make_dependencies) as opened:
        yield opened


async def falsify(pool: Pool) -> None:
    """Changes the row without an event, so that only a new read sees it."""
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE submission SET language = 'falsified'")


async def test_a_status_is_cached_until_it_expires(here: Process, ada: Api, pool: Pool) -> None:
    """C3."""
    submission = await make_submission(pool, ada.user.id)
    await here.read_events()
    path = f"/v1/submissions/{submission}"
    first = await here.get(ada, path)
    await falsify(pool)
    assert (await here.get(ada, path)).text == first.text
    here.clock.now_s += STATUS.kept_s
    assert (await here.get(ada, path)).json()["language"] == "falsified"


async def test_each_step_is_visible_as_soon_as_its_event_is_read(
    here: Process, ada: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """C3: also if another process wrote it."""
    submission = await make_submission(pool, ada.user.id)
    assert await here.status(ada, submission) == "queued"
    await start_submission(pool, submission)
    await here.read_events()
    assert await here.status(ada, submission) == "running"
    ended = await judged_submission(
        pool, artifacts, ada.user.id, JUDGEMENTS[Verdict.WRONG_ANSWER]
    )
    await here.read_events()
    assert await here.status(ada, ended) == "finished"


async def test_progress_is_at_most_one_second_old(here: Process, ada: Api, pool: Pool) -> None:
    submission = await make_submission(pool, ada.user.id)
    worker = WorkerId("wrk_x")
    begun = await start_submission(pool, submission, worker)
    await here.read_events()
    path = f"/v1/submissions/{submission}"
    assert (await here.get(ada, path)).json().get("progress") != {"case": 17, "of": 72}
    async with connection(pool) as acquired:
        done = {(submission, begun.attempt): JudgingProgress(17, 72)}
        await leases.renew(acquired, worker, done)
    here.clock.now_s += RUNNING_STATUS_S
    assert (await here.get(ada, path)).json()["progress"] == {"case": 17, "of": 72}


async def test_a_user_sees_their_own_writes_at_once(
    here: Process, ada: Api, admin: Api, pool: Pool
) -> None:
    """Also if the event was not read yet."""
    await make_problem(pool)
    await make_worker(pool)
    ids: list[str] = []
    for _ in range(3):
        listed = (await here.get(ada, "/v1/submissions")).json()["items"]
        assert [each["id"] for each in listed] == ids[::-1]
        answer = await here.client.post(
            "/v1/submissions", json=program(), headers=ada.user.headers
        )
        assert answer.status_code == 202, answer.text
        ids.append(answer.json()["id"])
        assert await here.status(ada, SubmissionId(ids[-1])) == "queued"
    path = f"/v1/submissions/{ids[0]}"
    assert (await here.get(admin, path)).json()["status"] == "queued"
    await here.client.delete(path, headers=ada.user.headers)
    for viewer in (ada, admin):
        assert (await here.get(viewer, path)).json()["status"] == "cancelled"
    listed = (await here.get(ada, "/v1/submissions")).json()["items"]
    assert [each["status"] for each in listed] == ["queued", "queued", "cancelled"]


async def test_a_rejudge_is_visible_at_once(
    here: Process, ada: Api, admin: Api, pool: Pool, artifacts: Artifacts
) -> None:
    found = JUDGEMENTS[Verdict.WRONG_ANSWER]
    old = await judged_submission(pool, artifacts, ada.user.id, found)
    await here.read_events()
    path = f"/v1/submissions/{old}"
    assert "superseded_by" not in (await here.get(ada, path)).json()
    answer = await here.client.post(f"{path}/rejudge", headers=admin.user.headers)
    assert (await here.get(ada, path)).json()["superseded_by"] == answer.json()["id"]
    listed = (await here.get(ada, "/v1/submissions")).json()["items"]
    assert [each["id"] for each in listed] == [answer.json()["id"]]


async def test_writes_of_another_process_are_visible_once_their_events_are_read(
    here: Process, make_dependencies: MakeDependencies, ada: Api, pool: Pool
) -> None:
    submission = await make_submission(pool, ada.user.id)
    async with process(make_dependencies) as there:
        for each in (here, there):
            assert await each.status(ada, submission) == "queued"
        path = f"/v1/submissions/{submission}"
        await here.client.delete(path, headers=ada.user.headers)
        await there.read_events()
        assert await there.status(ada, submission) == "cancelled"


async def test_the_own_list_is_cached_and_lists_of_others_are_not(
    here: Process, ada: Api, admin: Api, pool: Pool
) -> None:
    await make_submission(pool, ada.user.id)
    await here.read_events()
    paths = {
        "/v1/submissions": True,
        "/v1/submissions?user=ada": True,
        "/v1/submissions?limit=7": True,
        f"/v1/submissions?problem=prob_sum&user={ada.user.id}": True,
    }
    first = {path: (await here.get(ada, path)).text for path in paths}
    seen_by_admin = (await here.get(admin, "/v1/submissions")).text
    await falsify(pool)
    assert {path: (await here.get(ada, path)).text for path in paths} == first
    assert (await here.get(admin, "/v1/submissions")).text != seen_by_admin
    await make_submission(pool, ada.user.id)
    await here.read_events()
    for path in paths:
        assert len((await here.get(ada, path)).json()["items"]) == 2


async def test_a_missing_submission_is_cached_briefly(
    here: Process, ada: Api, bob: Api, pool: Pool
) -> None:
    """C2: but not after it was created."""
    submission = await make_submission(pool, ada.user.id)
    path = f"/v1/submissions/{submission}"
    assert (await here.get(bob, path)).status_code == 404
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE submission SET account_id = $1", bob.user.id)
    assert (await here.get(bob, path)).status_code == 404
    here.clock.now_s += STATUS.absent_s
    assert (await here.get(bob, path)).status_code == 200


async def test_a_client_with_the_current_etag_of_a_problem_gets_304(
    here: Process, ada: Api, pool: Pool
) -> None:
    """C3."""
    await make_problem(pool)
    for path in ("/v1/problems/prob_sum", "/v1/problems", "/v1/languages"):
        first = await here.get(ada, path)
        tag = first.headers["etag"]
        assert tag.startswith('"'), "a strong one"
        assert first.headers["cache-control"] == "private, max-age=0, must-revalidate"
        again = await here.get(ada, path, **{"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == tag
        assert again.headers["cache-control"] == first.headers["cache-control"]
        other = await here.get(ada, path, **{"If-None-Match": '"other"'})
        assert (other.status_code, other.text) == (200, first.text)


async def test_an_upgraded_compiler_is_shown_at_once(
    here: Process, ada: Api, pool: Pool
) -> None:
    """J6: although the list of languages is cached for a day."""

    async def versions() -> list[str]:
        here.app.state.app_state.live_workers._workers.forget(None)  # as it is each second
        listed = (await here.get(ada, "/v1/languages")).json()["items"]
        [found] = [each["versions"] for each in listed if each["id"] == "cpp"]
        return list(found)

    worker = await make_worker(pool, "cpp", version="GCC 12.2.0")
    assert await versions() == ["GCC 12.2.0"]
    async with connection(pool) as acquired:
        await workers.update_languages(acquired, worker, {"cpp": "GCC 12.2.1"})
    assert await versions() == ["GCC 12.2.1"]


async def test_a_revised_problem_has_another_etag(here: Process, ada: Api, pool: Pool) -> None:
    """C1: at once in the process that changed it, after a second in others."""
    await make_problem(pool)
    path = "/v1/problems/prob_sum"
    tags = [(await here.get(ada, each)).headers["etag"] for each in (path, "/v1/problems")]
    await change_problem(pool, title="New", details={"statements": {"en": "<p>New.</p>"}})
    here.forget_revision()
    for each, tag in zip((path, "/v1/problems"), tags, strict=True):
        answer = await here.get(ada, each, **{"If-None-Match": tag})
        assert answer.status_code == 200
        assert answer.headers["etag"] != tag
        assert "New" in answer.text


async def test_a_retired_problem_is_gone_even_for_a_client_with_its_etag(
    here: Process, ada: Api, pool: Pool
) -> None:
    await make_problem(pool)
    path = "/v1/problems/prob_sum"
    tag = (await here.get(ada, path)).headers["etag"]
    async with connection(pool) as acquired, acquired.transaction():
        assert await problems.retire(acquired, ProblemId("prob_sum"))
        assert not await problems.retire(acquired, ProblemId("prob_sum"))
    here.forget_revision()
    assert (await here.get(ada, path, **{"If-None-Match": tag})).status_code == 404
    assert (await here.get(ada, "/v1/problems")).json()["items"] == []
    await make_problem(pool)
    here.forget_revision()
    assert (await here.get(ada, path)).status_code == 200, "that it was gone is not remembered"


async def test_an_unchanged_entry_is_served_while_it_is_refreshed(
    here: Process, ada: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """C2: counts grow without a new revision."""
    await make_problem(pool)
    path = "/v1/problems/prob_sum"
    assert (await here.get(ada, path)).json()["submits"] == 0
    await judged_submission(pool, artifacts, ada.user.id, JUDGEMENTS[Verdict.ACCEPTED])
    here.clock.now_s += PROBLEM.kept_s / 2
    here.forget_revision()
    submits = (await here.get(ada, path)).json()["submits"]
    while submits == 0:
        submits = (await here.get(ada, path)).json()["submits"]
    assert submits == 1


async def test_invented_pages_do_not_fill_the_cache(
    make_dependencies: MakeDependencies, ada: Api, pool: Pool, redis_url: str, queue_env: str
) -> None:
    """Only pages that the API itself links to are stored in Redis."""
    await make_problem(pool)
    redis = Redis.from_url(redis_url)
    async with Cache.open(redis_url, queue_env, timeout_s=30) as cache:
        app = create_app(replace(make_dependencies(), cache=cache))
        async with running(app) as client:
            for query in ("limit=7", "cursor=bWFkZV91cA", "limit=50&cursor=bWFkZV91cDI"):
                answer = await client.get(f"/v1/problems?{query}", headers=ada.user.headers)
                assert answer.status_code == 200
            await client.get("/v1/problems/prob_made_up", headers=ada.user.headers)
            await client.get("/v1/problems", headers=ada.user.headers)
    names = [
        key.decode() async for key in redis.scan_iter(match=f"deemster:{queue_env}:cache:*")
    ]
    await redis.aclose()
    assert [name.split("cache:")[1].split("#")[0] for name in names] == ["problems:list:50:"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, False),
        ("", False),
        ('"a"', True),
        ('W/"a"', True),
        ('"b", "a"', True),
        ('"b"', False),
        ("*", True),
        ("a", False),
        ('"b",' * 1000 + '"a"', False),
    ],
)
def test_etags_match_as_the_standard_says(given: str | None, expected: Any) -> None:
    """RFC 9110, 13.1.2: weak comparison."""
    assert matches(given, '"a"') is expected
