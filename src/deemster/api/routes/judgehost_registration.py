"""`/v1/judgehost`: judge hosts register, tell that they are alive, and leave (M1, M4)."""

from typing import Final

import structlog
from fastapi import APIRouter, Request
from starlette.responses import Response

from deemster.api.app_state import app_state
from deemster.api.auth.host_signature import BriefHostCall, HostRequest
from deemster.api.http.body import json_response, request_body
from deemster.api.http.errors import HostGone, Revoked, errors
from deemster.domain.ids import WorkerId
from deemster.domain.judge_host import JudgeId
from deemster.domain.submission import JudgingProgress
from deemster.pipeline.remote.messages import (
    Announcement,
    HeartbeatAnswer,
    HeartbeatRequest,
    HostMessage,
    HostOrder,
    LeaveRequest,
    Registration,
)
from deemster.store import host_workers
from deemster.store.pool import Pool, connection, transaction
from deemster.store.workers import WorkerOrder

router = APIRouter(tags=["judge hosts"])
PATH: Final = "/v1/judgehost"
HEARTBEAT_S: Final = 1.0
ORDERS: Final = {
    WorkerOrder.WORK: HostOrder.WORK,
    WorkerOrder.DRAIN: HostOrder.DRAIN,
    WorkerOrder.GONE: HostOrder.GONE,
}

log = structlog.get_logger()


class Left(HostMessage):
    """The answer to a host that leaves has no fields."""


@router.post(
    PATH + "/register",
    response_model=Registration,
    openapi_extra=request_body(Announcement),
    responses=errors(400, 408, 413, 415, 422),
)
async def register_host(request: Request, signed: BriefHostCall) -> Response:
    """Registers a judge host that starts. Its earlier process counts as dead, and what that ran
    is given to others at once.
    """
    announced = signed.message(Announcement)
    async with transaction(app_state(request).pool) as acquired:
        worker = await host_workers.register(
            acquired,
            signed.host.id,
            slots=announced.slots,
            execution_slots=announced.execution_slots,
            versions=announced.languages,
            speed=announced.speed,
            address=announced.address,
        )
    if worker is None:
        raise Revoked("An admin revoked this judge host: ask for a new key.")
    log.info(
        "judge_host.registered",
        name=signed.host.name,
        worker=worker,
        release=announced.release,
        slots=announced.slots,
    )
    return json_response(Registration(worker=worker, heartbeat_s=HEARTBEAT_S))


@router.post(
    PATH + "/heartbeat",
    response_model=HeartbeatAnswer,
    openapi_extra=request_body(HeartbeatRequest),
    responses=errors(400, 408, 409, 413, 415, 422),
)
async def beat(request: Request, signed: BriefHostCall) -> Response:
    """Keeps a judge host and its tasks alive, and tells it what to do. 409 means that the
    server does not know this process of the host, which must register again.
    """
    return json_response(await answer_heartbeat(app_state(request).pool, signed))


async def answer_heartbeat(pool: Pool, signed: HostRequest) -> HeartbeatAnswer:
    told = signed.message(HeartbeatRequest)
    host, worker = signed.host.id, WorkerId(told.worker)
    running = {
        JudgeId(task.judge_id): JudgingProgress(task.done, task.total) for task in told.running
    }
    async with connection(pool) as acquired:
        order = await host_workers.heartbeat(
            acquired,
            host,
            worker,
            busy=told.busy,
            cycle_s=told.cycle_s,
            data=told.data,
            versions=told.languages,
            ending=told.ending,
        )
        if order is None:
            raise HostGone("This process of the judge host is not registered: register again.")
        if order is WorkerOrder.GONE:
            return HeartbeatAnswer(order=HostOrder.GONE, lost=list(running))
        lost = await host_workers.renew_leases(acquired, host, worker, running)
    return HeartbeatAnswer(order=ORDERS[order], lost=list(lost))


@router.post(
    PATH + "/leave",
    response_model=Left,
    openapi_extra=request_body(LeaveRequest),
    responses=errors(400, 408, 413, 415, 422),
)
async def leave(request: Request, signed: BriefHostCall) -> Response:
    """Tells that a judge host ends. What it still runs is given to others at once."""
    left = WorkerId(signed.message(LeaveRequest).worker)
    async with connection(app_state(request).pool) as acquired:
        await host_workers.leave(acquired, signed.host.id, left)
    log.info("judge_host.left", name=signed.host.name, worker=left)
    return json_response(Left())
