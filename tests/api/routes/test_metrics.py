"""`/metrics`: numbers for monitoring, only for authorised tokens."""

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from deemster.domain.job import Task
from deemster.domain.task_counts import JobCounts
from deemster.domain.verdict import Verdict
from deemster.store import accounts, dead_letters, workers
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api, make_worker
from tests.api.host_client import add_host
from tests.api.judgements import JUDGEMENTS, judged_submission
from tests.builders import make_submission, start_submission


async def numbers(admin: Api) -> dict[str, float]:
    """Metrics by name and label, as Prometheus parses them."""
    answer = await admin.get("/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


async def test_metrics_count_waiting_submissions_and_workers(
    admin: Api, ada: Api, pool: Pool, artifacts: Artifacts
) -> None:
    await make_worker(pool, slots=3)
    drained = await make_worker(pool, slots=5)
    for _ in range(2):
        await make_submission(pool, ada.user.id)
    running = await make_submission(pool, ada.user.id)
    await start_submission(pool, running)
    await judged_submission(pool, artifacts, ada.user.id, JUDGEMENTS[Verdict.ACCEPTED])
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE worker SET draining_at = now() WHERE id = $1", drained)
        await acquired.execute("UPDATE worker SET busy = 1 WHERE id = $1", drained)
        for attempt in (1, 2, 3):
            await dead_letters.add(
                acquired, running, Task.RUN, attempt=attempt, error="x", context={}
            )
        await acquired.execute(
            """UPDATE dead_letter SET outcome = 'discarded', settled_at = now(),
                      settled_by = 'root' WHERE attempt = 3"""
        )
    shown = await numbers(admin)
    expected = {
        "deemster_database_up": 1,
        "deemster_queues_up": 1,
        "deemster_submissions waiting": 2,
        "deemster_submissions running": 1,
        "deemster_submissions in_stages": 0,
        "deemster_queue_depth default": 0,
        "deemster_workers": 2,
        "deemster_workers_draining": 1,
        "deemster_slots": 3,
        "deemster_slots_busy": 1,
        "deemster_dead_letters_open": 2,
        "deemster_outbox_unsent": 4,
        "deemster_oldest_wait_seconds execution": 0,
        "deemster_webhooks waiting": 0,
        "deemster_webhooks retrying": 0,
        "deemster_webhooks failed": 0,
        "deemster_webhooks_overdue_seconds": 0,
    }
    assert {name: shown.get(name) for name in expected} == expected


HOOKS = """
INSERT INTO webhook_delivery (id, work_id, account_id, kind, url, state, tries,
                              available_at, claimed_until, ended_at)
SELECT 'whd_' || n, $1, $2, 'kind ' || n, 'https://receiver.example/', state, tries,
       now() + due * interval '1 hour', now() + claimed * interval '1 hour',
       now() + ended * interval '1 hour'
  FROM (VALUES (1, 'waiting', 0, -2, NULL, NULL), (2, 'waiting', 0, -5, 1, NULL),
               (3, 'waiting', 1, 1, NULL, NULL), (4, 'failed', 3, -9, NULL, -1),
               (5, 'failed', 3, -99, NULL, -25), (6, 'delivered', 1, -9, NULL, -1))
       AS hook (n, state, tries, due, claimed, ended)"""


async def test_o1_metrics_tell_the_longest_wait_of_each_kind(
    admin: Api, ada: Api, pool: Pool
) -> None:
    """O1: what runs waits no longer."""
    running = await make_submission(pool, ada.user.id)
    oldest = await make_submission(pool, ada.user.id)
    await make_submission(pool, ada.user.id)
    await start_submission(pool, running)
    async with connection(pool) as acquired:
        for submission, hours in ((running, 3), (oldest, 2)):
            await acquired.execute(
                "UPDATE work SET submitted_at = now() - $2 * interval '1 hour' WHERE id = $1",
                submission,
                hours,
            )
    shown = await numbers(admin)
    assert 7_200 <= shown["deemster_oldest_wait_seconds submission"] < 3 * 3600
    assert shown["deemster_oldest_wait_seconds execution"] == 0


async def test_o1_metrics_count_webhook_deliveries(admin: Api, pool: Pool) -> None:
    """Read from the database, so that all processes that deliver count together."""
    submission = await make_submission(pool, admin.user.id)
    async with connection(pool) as acquired:
        await acquired.execute(HOOKS, submission, admin.user.id)
    shown = await numbers(admin)
    states = {name: shown[f"deemster_webhooks {name}"] for name in ("waiting", "retrying")}
    assert states == {"waiting": 2, "retrying": 1}
    assert shown["deemster_webhooks failed"] == 1, "of those within a day"
    assert 7_200 <= shown["deemster_webhooks_overdue_seconds"] < 3 * 3600


async def test_requests_are_counted_by_route_and_not_by_invented_paths(
    admin: Api, client: httpx.AsyncClient
) -> None:
    name = "deemster_request_seconds_count"
    before = await numbers(admin)
    for path in ("/v1/problems/prob_1", "/v1/problems/prob_2"):
        await admin.get(path)
    await client.request("BREW", "/v1/problems")
    await client.get("/made/up")
    after = await numbers(admin)
    grown = {
        key: count - before.get(key, 0)
        for key, count in after.items()
        if key.startswith(name) and count != before.get(key, 0)
    }
    assert grown == {
        f"{name} GET /v1/problems/{{id}} 404": 2,
        f"{name} other /v1/problems 405": 1,
        f"{name} GET none 404": 1,
        f"{name} GET /metrics 200": 1,
    }
    assert "BREW" not in str(after)


@pytest.mark.parametrize("scope", ["read", "admin", "metrics"])
async def test_metrics_need_an_admin_token_with_the_scope(
    admin: Api, ada: Api, client: httpx.AsyncClient, pool: Pool, scope: str
) -> None:
    """O6."""
    assert (await client.get("/metrics")).status_code == 401
    assert (await ada.get("/metrics")).status_code == 403
    async with connection(pool) as acquired:
        token = await accounts.add_token(acquired, admin.user.id, "narrow")
        await acquired.execute(
            "UPDATE token SET scopes = ARRAY[$1] WHERE name = 'narrow'", scope
        )
    headers = {"Authorization": f"Bearer {token}"}
    allowed = scope == "metrics"
    answer = await client.get("/metrics", headers=headers)
    assert answer.status_code == (200 if allowed else 403)
    other = await client.get("/v1/submissions", headers=headers)
    assert other.status_code == (200 if scope == "read" else 403)


async def test_metrics_show_what_workers_counted(admin: Api, pool: Pool) -> None:
    """O1, P1: by task, for the workers that are alive."""
    counts = JobCounts()
    for task, outcome, seconds in (
        (Task.ANALYZE, "done", 0.3),
        (Task.ANALYZE, "retry", 20.0),
        (Task.RUN, "done", 0.04),
    ):
        counts.start(task)
        counts.end(task, outcome, seconds)
    worker = await make_worker(pool)
    async with connection(pool) as acquired:
        for news in (counts.take_news(), counts.take_news()):
            await workers.heartbeat(acquired, worker, busy=0, cycle_s=None, stage_counts=news)
    shown = await numbers(admin)
    of = f"submission:analyze {worker}"
    assert shown[f"deemster_stage_started_total {of}"] == 2
    assert shown[f"deemster_stage_ended_total done {of}"] == 1
    assert shown[f"deemster_stage_retries_total {of}"] == 1
    assert shown[f"deemster_stage_seconds_bucket 0.5 {of}"] == 1
    assert shown[f"deemster_stage_seconds_bucket 20.0 {of}"] == 2
    assert shown[f"deemster_stage_seconds_sum {of}"] == 20.3
    assert shown[f"deemster_stage_seconds_count submission:run {worker}"] == 1


async def test_m4_metrics_count_judge_hosts_and_their_refusals(admin: Api) -> None:
    host = await add_host(admin)
    await add_host(admin, "lab-2")
    await host.register()
    for _ in range(2):
        await admin.client.post("/v1/judgehost/leave")
    shown = await numbers(admin)
    assert {name: value for name, value in shown.items() if "judge_host" in name} == {
        "deemster_judge_hosts ready": 1,
        "deemster_judge_hosts draining": 0,
        "deemster_judge_hosts paused": 0,
        "deemster_judge_hosts offline": 1,
        "deemster_judge_host_refusals_total signature_missing": 2,
    }
