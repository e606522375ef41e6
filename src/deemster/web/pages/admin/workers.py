"""`/admin/workers`: workers and judge hosts, with what they run now (Q14, M4)."""

from typing import Final

from starlette.responses import Response

from deemster.api.judge_hosts import list_hosts
from deemster.api.workers import drain_worker, list_workers, resume_worker, running_work
from deemster.web.page import Page, page_route

WORKERS: Final = "/admin/workers"


async def show_workers(page: Page) -> Response:
    hosts = await list_hosts(page.state)
    of_hosts = {host.worker.id for host in hosts if host.worker is not None}
    workers = [each for each in await list_workers(page.state) if each.id not in of_hosts]
    return page.render(
        "admin/workers.html",
        workers=workers,
        hosts=hosts,
        running=await running_work(page.state),
    )


async def drain(page: Page) -> Response:
    await drain_worker(page.request, page.account, page.parameter("id"))
    return page.redirect(WORKERS)


async def resume(page: Page) -> Response:
    await resume_worker(page.request, page.account, page.parameter("id"))
    return page.redirect(WORKERS)


ROUTES: Final = [
    page_route(WORKERS, show_workers),
    page_route(WORKERS + "/{id}/drain", drain, "POST"),
    page_route(WORKERS + "/{id}/resume", resume, "POST"),
]
