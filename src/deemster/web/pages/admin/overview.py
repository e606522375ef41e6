"""`/admin`: whether everything is well, and what to do if not (D4, O3, O8)."""

from typing import Final

from starlette.responses import Response

from deemster.api.metric_history import quantile_s, read_metrics
from deemster.api.models.queues import JobsQuery
from deemster.api.queues import list_jobs, read_queues
from deemster.domain.queue_depth import ALARM_ABOVE, LOAD_LEVELS
from deemster.web.chart import HEIGHT, WIDTH, draw_line
from deemster.web.page import PageRequest, page_route

ADMIN: Final = "/admin"
QUEUE: Final = ADMIN + "/queues/{name}"


async def show_overview(page: PageRequest) -> Response:
    found = await read_metrics(page.state.pool)
    series = page.state.metric_history.series()
    return page.render(
        "admin/overview.html",
        queues=await read_queues(page.state),
        health=await page.state.health.report(),
        gauges=found.gauges,
        tasks=found.tasks,
        judge_errors=found.judge_errors,
        quantile_s=quantile_s,
        series=series,
        draw_line=draw_line,
        width=WIDTH,
        height=HEIGHT,
        alarm_above=ALARM_ABOVE,
        levels=LOAD_LEVELS,
    )


async def show_queue(page: PageRequest) -> Response:
    query = page.query(JobsQuery)
    name = page.parameter("name")
    found = await list_jobs(page.state, name, query)
    return page.render("admin/queue.html", found=found, name=name, state=query.state)


ROUTES: Final = [page_route(ADMIN, show_overview), page_route(QUEUE, show_queue)]
