"""`/admin/workers`: workers and judge hosts, with what they run now (Q14, M4)."""

from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from deemster.api import judge_host_admin
from deemster.api.models.judge_hosts import PauseIn
from deemster.api.workers import drain_worker, list_workers, resume_worker, running_work
from deemster.domain.errors import DeemsterError
from deemster.web.forms import SHOWN, parse_fields
from deemster.web.page import PageRequest, page_route

WORKERS: Final = "/admin/workers"
HOST: Final = "/admin/judge-hosts/{id}"


async def show_workers(page: PageRequest) -> Response:
    return await worker_page(page)


async def worker_page(page: PageRequest, error: DeemsterError | None = None) -> Response:
    hosts = await judge_host_admin.list_hosts(page.state)
    of_hosts = {host.worker.id for host in hosts if host.worker is not None}
    workers = [each for each in await list_workers(page.state) if each.id not in of_hosts]
    return page.render(
        "admin/workers.html",
        workers=workers,
        hosts=hosts,
        running=await running_work(page.state),
        error=error,
    )


async def drain(page: PageRequest) -> Response:
    await drain_worker(page.request, page.account, page.parameter("id"))
    return page.redirect(WORKERS)


async def resume(page: PageRequest) -> Response:
    await resume_worker(page.request, page.account, page.parameter("id"))
    return page.redirect(WORKERS)


async def pause_host(page: PageRequest) -> Response:
    try:
        asked = parse_fields(PauseIn, reason=page.form.get("reason", "").strip())
        done = await judge_host_admin.pause_host(
            page.request, page.account, page.parameter("id"), asked
        )
    except SHOWN as refusal:
        return await worker_page(page, refusal)
    return host_changed(page, "paused", done.name)


async def resume_host(page: PageRequest) -> Response:
    done = await judge_host_admin.resume_host(page.request, page.account, page.parameter("id"))
    return host_changed(page, "resumed", done.name)


async def drain_host(page: PageRequest) -> Response:
    try:
        done = await judge_host_admin.drain_host(
            page.request, page.account, page.parameter("id")
        )
    except SHOWN as refusal:
        return await worker_page(page, refusal)
    return host_changed(page, "drained", done.name)


async def revoke_host(page: PageRequest) -> Response:
    done = await judge_host_admin.revoke_host(page.request, page.account, page.parameter("id"))
    return host_changed(page, "revoked", done.name)


def host_changed(page: PageRequest, done: str, name: str) -> Response:
    return page.redirect(f"{WORKERS}?{urlencode({'done': done, 'host': name})}")


ROUTES: Final = [
    page_route(WORKERS, show_workers),
    page_route(WORKERS + "/{id}/drain", drain, "POST"),
    page_route(WORKERS + "/{id}/resume", resume, "POST"),
    page_route(HOST + "/pause", pause_host, "POST"),
    page_route(HOST + "/resume", resume_host, "POST"),
    page_route(HOST + "/drain", drain_host, "POST"),
    page_route(HOST + "/revoke", revoke_host, "POST"),
]
