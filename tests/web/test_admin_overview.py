"""W3: the overview says in words how things stand, and what to do (D4, O3, O8)."""

import re
from functools import partial
from importlib.resources import files

import httpx

from deemster.api.metric_history import MetricHistory, quantile_s, read_metrics, sum_counts
from deemster.domain.account import Role
from deemster.domain.ids import WorkerId
from deemster.domain.job import Task
from deemster.domain.judge_host import JudgeHostId
from deemster.domain.judgement import FaultCause
from deemster.domain.task_counts import TaskCounts
from deemster.pipeline.queue.producer import Producer
from deemster.pipeline.work.job_executor import FAILURES
from deemster.store import host_workers, judge_hosts, workers
from deemster.store.pool import Pool, connection, transaction
from deemster.web.chart import draw_line
from tests.api.browser import audit_entries, make_person
from tests.api.conftest import make_worker
from tests.builders import make_submission, queue_submission, start_submission
from tests.pipeline.queue.stores import make_job
from tests.waiting import until
from tests.web.conftest import Visit
from tests.web.test_solving import field

LEVELS = {50: "Healthy", 500: "Busy", 5000: "Add workers", 5001: "Incident"}


async def test_d4_each_level_of_depth_says_what_to_do(
    visit: Visit, pool: Pool, producer: Producer
) -> None:
    await make_person(pool, "root", Role.ADMIN)
    worker = await make_worker(pool)
    async with visit("root") as browser:
        sent = 0
        for depth, heading in LEVELS.items():
            await producer.send([make_job(number) for number in range(sent, depth)])
            sent = depth
            assert await until(partial(is_told, browser, heading, pool, worker))
        jobs = await browser.get("/admin/queues/default?state=waiting")
        assert 'rel="next"' in jobs.text
        assert (await browser.get("/admin/queues/none")).status_code == 404


async def is_told(
    browser: httpx.AsyncClient, heading: str, pool: Pool, worker: WorkerId
) -> bool:
    """A part that needs two seconds for its answer, as on a busy machine, is told instead."""
    async with connection(pool) as acquired:
        await workers.heartbeat(acquired, worker, busy=0, cycle_s=None)
    shown = await browser.get("/admin")
    found = re.search(r'id="level-heading">\S+ ([^<]+)<', shown.text)
    assert found
    return found[1] == heading


async def test_o3_without_a_worker_the_overview_says_so(visit: Visit, pool: Pool) -> None:
    await make_person(pool, "root", Role.ADMIN)
    async with visit("root") as browser:
        assert "No worker takes jobs" in (await browser.get("/admin")).text


async def test_q14_workers_show_what_they_run_and_can_be_drained(
    visit: Visit, pool: Pool
) -> None:
    await make_person(pool, "root", Role.ADMIN)
    submission = await make_submission(pool)
    await queue_submission(pool, submission)
    await start_submission(pool, submission)
    async with connection(pool) as acquired:
        [row] = await acquired.fetch("SELECT worker_id FROM lease")
        await acquired.execute("DELETE FROM worker WHERE id = $1", row["worker_id"])
        await workers.register(
            acquired, row["worker_id"], host="<here>", process="1", slots=2, versions={}
        )
    async with visit("root") as browser:
        shown = await browser.get("/admin/workers")
        assert "&lt;here&gt;" in shown.text
        assert f'href="/admin/submissions/{submission}"' in shown.text
        form = {"csrf_token": field(shown, "csrf_token")}
        for order, state in (("drain", "takes no jobs"), ("resume", "Drain")):
            path = f"/admin/workers/{row['worker_id']}/{order}"
            assert (await browser.post(path, data=form)).status_code == 303
            assert state in (await browser.get("/admin/workers")).text
        assert (await browser.post("/admin/workers/x/drain", data=form)).status_code == 404


async def test_m4_judge_hosts_are_paused_drained_and_revoked_and_the_audit_log_tells(
    visit: Visit, pool: Pool
) -> None:
    await make_person(pool, "root", Role.ADMIN)
    async with connection(pool) as acquired:
        host = await judge_hosts.add(acquired, "lab-7", created_by="root")
    actions = f"/admin/judge-hosts/{host}"
    async with visit("root") as browser:
        shown = await browser.get("/admin/workers")
        assert f'action="{actions}/drain"' not in shown.text, "it does not run"
        form = {"csrf_token": field(shown, "csrf_token")}
        asleep = await browser.post(f"{actions}/drain", data=form)
        assert asleep.status_code == 409
        assert "The judge host does not run" in asleep.text
        long = await browser.post(f"{actions}/pause", data={**form, "reason": "x" * 501})
        assert (long.status_code, 'role="alert"' in long.text) == (422, True)
        await register_host(pool, host)
        steps = [
            ("drain", {}, "draining"),
            ("resume", {}, "ready"),
            ("pause", {"reason": "<moved>"}, "&lt;moved&gt;"),
            ("resume", {}, "ready"),
            ("revoke", {}, "lab-7 is revoked."),
        ]
        for order, fields, state in steps:
            done = await browser.post(f"{actions}/{order}", data={**form, **fields})
            assert done.status_code == 303, done.text
            assert state in (await browser.get(done.headers["location"])).text, order
        assert (await browser.post(f"{actions}/pause", data=form)).status_code == 404
        assert "lab-7" not in (await browser.get("/admin/workers")).text
    acts = [(act, target) for _, act, target, _ in await audit_entries(pool)]
    orders = ("drain", "resume", "pause", "resume", "revoke")
    assert acts == [(f"judge_host.{order}", host) for order in orders]


async def register_host(pool: Pool, host: JudgeHostId) -> None:
    async with transaction(pool) as acquired:
        await host_workers.register(
            acquired,
            host,
            slots=2,
            execution_slots=1,
            versions={},
            speed=None,
            address=None,
        )


async def test_o1_the_history_has_differences_of_the_counters(pool: Pool) -> None:
    worker = await make_worker(pool)
    history = MetricHistory(pool)
    counts = TaskCounts()
    for seconds in (0.2, 0.4, 30.0):
        counts.started += 1
        counts.end("done" if seconds < 1 else "retry", seconds)
        async with connection(pool) as acquired:
            await workers.heartbeat(
                acquired,
                worker,
                busy=1,
                cycle_s=None,
                stage_counts={Task.RUN: counts.document()},
            )
        history.add(await read_metrics(pool))
    series = history.series()
    assert list(series.busy) == [1, 1, 1]
    assert [round(each, 3) for each in series.run_s] == [0.4, 0.0]
    assert list(series.failed) == [0, 1]
    assert series.failures == {"retry": [0, 1]}, "by cause"
    assert len(series.ages_s) == len(series.busy)
    assert quantile_s(counts, 0.5) == 0.5
    assert sum_counts([{"x": counts}, {"x": counts}])["x"].durations[3] == 2


def test_a_line_is_scaled_to_its_largest_value() -> None:
    assert draw_line([1]) is None
    line = draw_line([0, 4, 2])
    assert line is not None
    assert line.points == "0.0,56.0 120.0,0.0 240.0,28.0"
    assert (line.last, line.most) == (2, 4)


def test_w3_each_cause_of_a_failure_is_told_in_words() -> None:
    """W3, O8: a code alone says nothing to somebody who did not write the judge."""
    macros = files("deemster.web").joinpath("templates/admin/parts.html").read_text()
    for cause in (*FaultCause, *FAILURES):
        assert f'"{cause}": _("' in macros, cause
