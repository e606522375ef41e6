"""W3: the overview says in words how things stand, and what to do (D4, O3, O8)."""

import re

from deemster.api.figures import FigureHistory, quantile_s, read_figures, sum_counts
from deemster.domain.account import Role
from deemster.domain.job import Task
from deemster.domain.stage_counts import TaskCounts
from deemster.pipeline.queue.producer import Producer
from deemster.store import workers
from deemster.store.pool import Pool, connection
from deemster.web.chart import draw_line
from tests.api.browser import make_person
from tests.api.conftest import make_worker
from tests.builders import make_submission, queue_submission, start_submission
from tests.pipeline.queue.stores import make_job
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
            async with connection(pool) as acquired:
                await workers.heartbeat(acquired, worker, busy=0, cycle_s=None)
            shown = await browser.get("/admin")
            found = re.search(r'id="level-heading">\S+ ([^<]+)<', shown.text)
            assert found
            assert found[1] == heading, depth
        jobs = await browser.get("/admin/queues/default?state=waiting")
        assert 'rel="next"' in jobs.text
        assert (await browser.get("/admin/queues/none")).status_code == 404


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


async def test_o1_the_history_has_differences_of_the_counters(pool: Pool) -> None:
    worker = await make_worker(pool)
    history = FigureHistory(pool)
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
        history.add(await read_figures(pool))
    series = history.series()
    assert list(series.busy) == [1, 1, 1]
    assert [round(each, 3) for each in series.run_s] == [0.4, 0.0]
    assert list(series.failed) == [0, 1]
    assert quantile_s(counts, 0.5) == 0.5
    assert sum_counts([{"x": counts}, {"x": counts}])["x"].durations[3] == 2


def test_a_line_is_scaled_to_its_largest_value() -> None:
    assert draw_line([1]) is None
    line = draw_line([0, 4, 2])
    assert line is not None
    assert line.points == "0.0,56.0 120.0,0.0 240.0,28.0"
    assert (line.last, line.most) == (2, 4)
