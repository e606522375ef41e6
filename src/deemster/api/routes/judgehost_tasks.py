"""`/v1/judgehost`: judge hosts fetch tasks and test data, and report results (M1, M2, M3)."""

import asyncio
import time
from contextlib import suppress
from typing import Annotated, ClassVar, Final, NoReturn

import structlog
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import Response, StreamingResponse

from deemster.api.app_state import AppState, app_state
from deemster.api.auth.host_signature import BriefHostCall, HostCall, HostRequest
from deemster.api.http.body import MEDIA_TYPE, json_response, request_body
from deemster.api.http.errors import Forbidden, HostGone, errors
from deemster.domain.errors import Conflict, LostRace, NotFound, Refused
from deemster.domain.ids import GENERATED_ID, ExecutionId, WorkerId, work_id
from deemster.domain.job import Task
from deemster.domain.judge_host import JudgeHostId, JudgeId
from deemster.domain.request_signature import signed_headers
from deemster.pipeline.remote.data_links import DataLinks
from deemster.pipeline.remote.messages import (
    MESSAGE_BYTES,
    Finish,
    HostMessage,
    HostTask,
    TaskRequest,
    Tasks,
    Update,
)
from deemster.pipeline.remote.tasks import TaskBuilder
from deemster.problems.distribution import tar_name
from deemster.store import executions, host_workers, judge_hosts, remote_tasks
from deemster.store.notifications import notify_output
from deemster.store.pool import UNSTORABLE, connection, transaction
from deemster.store.remote_tasks import RemoteTask

router = APIRouter(tags=["judge hosts"])
PATH: Final = "/v1/judgehost"
CALLBACK: Final = PATH + "/callbacks/{work}/{judge}"
ANSWER: Final = "ANSWER"
"""The method in the signature of an answer."""
POLL_S: Final = 1.0
"""A notice of a task may be lost, so the request also polls."""
SPARE_BYTES: Final = MESSAGE_BYTES
"""A host that gets no answer sends the same output again, which the limits must not refuse."""
TAR_TYPE: Final = "application/x-tar"

log = structlog.get_logger()


class Received(HostMessage):
    """The answer to a report has no fields."""


class UnknownJudgeId(NotFound):
    code: ClassVar[str] = "unknown_judge_id"


class UsedJudgeId(Conflict):
    code: ClassVar[str] = "used_judge_id"


class SupersededJudgeId(Conflict):
    code: ClassVar[str] = "superseded_judge_id"


@router.post(
    PATH + "/tasks",
    response_model=Tasks,
    openapi_extra=request_body(TaskRequest),
    responses=errors(400, 408, 409, 413, 415, 422),
)
async def fetch_tasks(request: Request, signed: BriefHostCall) -> Response:
    """Returns tasks for a judge host, or an empty list after `wait_s`. The answer is signed."""
    asked = signed.message(TaskRequest)
    state, worker = app_state(request), WorkerId(asked.worker)
    until_s = time.monotonic() + asked.wait_s
    # Listens before it looks: a task that comes in between must not wait for the next look.
    with state.host_tasks.listening(worker) as has_task:
        while True:
            has_task.clear()
            # A task that nobody receives would wait until its lease ends.
            is_gone = await request.is_disconnected()
            tasks = [] if is_gone else await take_tasks(state, signed, worker)
            left_s = until_s - time.monotonic()
            if tasks or is_gone or left_s <= 0 or state.host_tasks.is_draining:
                return signed_answer(request, signed, Tasks(tasks=tasks))
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left_s, POLL_S)):
                    await has_task.wait()


async def take_tasks(state: AppState, signed: HostRequest, worker: WorkerId) -> list[HostTask]:
    # If a crash of the database undoes it, the host gets tasks again that it knows.
    async with connection(state.dependencies.async_commit_pool) as acquired:
        claimed = await remote_tasks.claim(acquired, signed.host.id, worker)
        if not claimed and not await host_workers.is_present(acquired, signed.host.id, worker):
            raise HostGone("This process of the judge host is not registered: register again.")
    if not claimed:
        return []
    builder = task_builder(state)
    made = []
    async with connection(state.pool) as acquired:  # may take long to read a large source
        for task, speed in claimed:
            try:
                made.append(await builder.build(acquired, task, speed))
            except LostRace:
                await remote_tasks.remove(acquired, task.judge_id)
    return made


def task_builder(state: AppState) -> TaskBuilder:
    dependencies = state.dependencies
    return TaskBuilder(
        dependencies.artifacts,
        DataLinks(dependencies.secret),
        scale_times=dependencies.settings.scale_time_limits,
    )


def signed_answer(request: Request, signed: HostRequest, model: BaseModel) -> Response:
    body = model.model_dump_json().encode()
    headers = signed_headers(
        signed.key.secret,
        signed.host.id,
        ANSWER,
        request.scope["path"],
        "",
        body,
        now_s=time.time(),
    )
    return Response(body, 200, headers, MEDIA_TYPE)


@router.post(
    CALLBACK + "/update",
    response_model=Received,
    openapi_extra=request_body(Update),
    responses=errors(400, 404, 408, 409, 413, 415, 422),
)
async def receive_update(request: Request, signed: HostCall, work: str, judge: str) -> Response:
    """Stores what a running execution has written."""
    update = signed.message(Update)
    state = app_state(request)
    task = await current_task(state, signed, work, judge)
    if task.task is Task.EXECUTE:
        execution = ExecutionId(task.work)
        own = [each for each in update.output if each.attempt == task.attempt]
        try:
            async with transaction(state.pool) as writing:
                room = await executions.output_room(writing, execution, task.attempt)
                if sum(len(each.content) for each in own) > room + SPARE_BYTES:
                    raise Refused("The program may not write so much: its limits are smaller.")
                await executions.add_output(writing, ((execution, each) for each in own))
                await notify_output(writing, [execution])
        except UNSTORABLE:
            raise Refused("A number or a time of the output is out of range.") from None
    return json_response(Received())


@router.post(
    CALLBACK + "/finish",
    response_model=Received,
    openapi_extra=request_body(Finish),
    responses=errors(400, 404, 408, 409, 413, 415, 422),
)
async def receive_result(request: Request, signed: HostCall, work: str, judge: str) -> Response:
    """Stores the result of a task, once. A worker of the queue `receive` settles it."""
    signed.message(Finish)
    state = app_state(request)
    is_stored = False
    if GENERATED_ID.fullmatch(judge) and GENERATED_ID.fullmatch(work):
        async with connection(state.pool) as acquired:
            is_stored = await remote_tasks.report(
                acquired, JudgeId(judge), work_id(work), signed.host.id, signed.body
            )
    if not is_stored:
        task = await current_task(state, signed, work, judge)
        # It was reported between the two looks.
        await refuse(state, task, UsedJudgeId("This task has reported a result before."))
    return json_response(Received())


async def current_task(
    state: AppState, signed: HostRequest, work: str, judge: str
) -> RemoteTask:
    """Refuses judge ids that are unknown, used or superseded (M2)."""
    task = None
    if GENERATED_ID.fullmatch(judge):
        async with connection(state.pool) as acquired:
            task = await remote_tasks.get(acquired, JudgeId(judge))
    if task is None or task.work != work or task.host != signed.host.id:
        await refuse(state, task, UnknownJudgeId("This host has no such task."), judge)
    if task.is_ended or task.is_reported:
        await refuse(state, task, UsedJudgeId("This task has reported a result before."))
    if not task.is_current:
        await refuse(
            state, task, SupersededJudgeId("The task was given to another host meanwhile.")
        )
    return task


async def refuse(
    state: AppState, task: RemoteTask | None, fault: NotFound | Conflict, judge: str = ""
) -> NoReturn:
    async with connection(state.pool) as acquired:
        await judge_hosts.count_refusal(acquired, fault.code)
    log.warning(
        "result.refused",
        reason=fault.code,
        judgeId=task.judge_id if task else judge[:40],
        work=task.work if task else None,
    )
    raise fault


class DataQuery(BaseModel):
    judge: Annotated[str, Query(max_length=200)]
    expires: int
    signature: Annotated[str, Query(max_length=200)]


@router.get(
    PATH + "/data/{digest}",
    response_class=Response,
    responses={200: {"content": {TAR_TYPE: {}}}, **errors(403, 404, 422)},
)
async def fetch_data(
    request: Request, signed: BriefHostCall, digest: str, query: Annotated[DataQuery, Query()]
) -> Response:
    """Returns the test data of a task that the host has, by the link in the task."""
    state = app_state(request)
    host, judge_id = JudgeHostId(signed.host.id), JudgeId(query.judge)
    links = DataLinks(state.dependencies.secret)
    is_valid = links.is_valid(host, judge_id, digest, query.expires, query.signature)
    async with connection(state.pool) as acquired:
        if not is_valid or not await remote_tasks.may_read(acquired, host, judge_id, digest):
            await judge_hosts.count_refusal(acquired, "test_data_refused")
            raise Forbidden("This link is not valid for this host, or not any more.")
    return await tar_response(state, digest)


async def tar_response(state: AppState, digest: str) -> Response:
    artifacts = state.dependencies.artifacts
    found = await artifacts.find(tar_name(digest))
    if found is None:
        raise NotFound("The test data is missing in the artifact store.")
    return StreamingResponse(
        artifacts.stream(found),
        media_type=TAR_TYPE,
        headers={"Content-Length": str(found.size_bytes)},
    )
