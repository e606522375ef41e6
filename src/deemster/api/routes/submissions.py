"""`/v1/submissions`: submit, show, list, cancel and rejudge."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.authentication import BEARER, SECURED, Caller, actor_of
from deemster.api.http.body import json_response, read_json, request_body, to_json
from deemster.api.http.errors import errors
from deemster.api.http.idempotent_replay import (
    IDEMPOTENCY_KEY,
    idempotency_key,
    pass_repeats,
    respond_once,
)
from deemster.api.http.paging import cut
from deemster.api.http.webhook_url import check_webhook_url
from deemster.api.lookups import account_filter, unknown_submission, visible_submission
from deemster.api.models.submissions import (
    SUBMISSIONS_PATH,
    AcceptedOut,
    SourceOut,
    Status,
    SubmissionIn,
    SubmissionOut,
    SubmissionPage,
    SubmissionQuery,
    accepted_out,
    file_out,
    item_out,
    location_of,
    submission_out,
)
from deemster.api.state import AppState, app_state
from deemster.cache.cache import CacheEntry, Loaded
from deemster.cache.kinds import MY_SUBMISSIONS, RUNNING_STATUS_S, STATUS
from deemster.domain.account import Account, Role
from deemster.domain.errors import NotFound
from deemster.domain.ids import GENERATED_ID, ContestId, ProblemId, SubmissionId
from deemster.domain.lifecycle import TERMINAL, WAITING
from deemster.domain.source import unpack_files
from deemster.pipeline.verdict.cancel import cancel
from deemster.pipeline.verdict.rejudge import rejudge
from deemster.store import submissions
from deemster.store.inline_artifacts import fetch
from deemster.store.pool import Connection, connection, transaction

router = APIRouter(tags=["submissions"])


@router.post(
    SUBMISSIONS_PATH,
    status_code=202,
    response_model=AcceptedOut,
    openapi_extra={**request_body(SubmissionIn), **SECURED, **IDEMPOTENCY_KEY},
    responses=errors(400, 404, 408, 409, 413, 415, 422),
)
async def submit(request: Request) -> Response:
    """Accepts a submission. It is judged later: see GET /v1/submissions/{id}."""
    # Not by FastAPI's dependencies, which are slow and would read the body of any stranger.
    caller = await BEARER(request)
    key = idempotency_key(request)
    state = app_state(request)
    headers: dict[str, str] = {}
    async with pass_repeats(request, caller):
        headers = await state.admission.admit(request, caller)
    asked = await read_json(request, SubmissionIn)
    async with pass_repeats(request, caller):
        check_webhook_url(asked.webhook_url, state.settings)
        await state.admission.admit_to_problem(asked.problem_id, caller)
    accepted, _ = await state.dependencies.accept.submit(caller, asked.to_submit_request(key))
    state.cache_invalidation.forget_list(caller.id)
    return json_response(accepted_out(accepted), 202, {**location_of(accepted.id), **headers})


@router.get(
    SUBMISSIONS_PATH + "/{id}", response_model=SubmissionOut, responses=errors(404, 422)
)
async def show_submission(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    wait: Annotated[float, Query(ge=0, allow_inf_nan=False)] = 0,
) -> Response:
    """Shows the status and the result of a submission. Its place in the queue may be 3 s old,
    its progress 1 s. With `wait`, the response comes when the submission has ended, or after
    so many seconds, at most 30.
    """
    state = app_state(request)

    async def has_ended() -> bool:
        async with connection(state.pool) as acquired:
            return (await visible_submission(acquired, caller, id)).state in TERMINAL

    if wait > 0:
        await state.feed.wait_for_end(SubmissionId(id), wait, has_ended)
    entry = await cached_submission(state, caller, id)
    return Response(entry.body, media_type="application/json")


async def show_current(request: Request) -> Response:
    """The same without `wait`, and without FastAPI's dependencies."""
    caller = await BEARER(request)
    entry = await cached_submission(app_state(request), caller, request.path_params["id"])
    return Response(entry.body, media_type="application/json")


async def cached_submission(state: AppState, caller: Account, submission: str) -> CacheEntry:
    """The entry may be a moment old, but includes all events that this process has seen."""
    if not GENERATED_ID.fullmatch(submission):
        raise unknown_submission()

    async def load() -> Loaded | None:
        try:
            async with connection(state.pool) as acquired:
                found = await read_submission(acquired, caller, submission)
        except NotFound:
            return None
        is_running = found.status is Status.RUNNING
        return Loaded(to_json(found), keep_s=RUNNING_STATUS_S if is_running else None)

    entry = await state.cache.get_private(STATUS, caller, submission, load, subject=submission)
    if entry.body is None:
        raise unknown_submission()
    return entry


@router.get(SUBMISSIONS_PATH, response_model=SubmissionPage, responses=errors(404, 422))
async def list_submissions(
    request: Request, caller: Caller, query: Annotated[SubmissionQuery, Query()]
) -> Response:
    """Lists submissions, newest first. Users who are not admins see only their own."""
    state = app_state(request)
    catalogue = state.dependencies.catalogue
    language = catalogue.named(query.language).id if query.language else None
    before = SubmissionId(query.last_id) if query.last_id else None

    async def load() -> Loaded:
        async with connection(state.pool) as acquired:
            wanted = submissions.SubmissionFilter(
                account=await account_filter(acquired, caller, query.user),
                problem=ProblemId(query.problem) if query.problem else None,
                contest=ContestId(query.contest) if query.contest else None,
                verdict=query.verdict,
                language=language,
                states=query.status.states if query.status else None,
            )
            limit = query.limit + 1
            found = await submissions.page(acquired, wanted, before=before, limit=limit)
        page, cursor = cut(found, query.limit, lambda view: view.id)
        items = [item_out(view) for view in page]
        return Loaded(to_json(SubmissionPage(items=items, next_cursor=cursor)))

    if before is not None or not asks_for_own(caller, query.user):
        return Response((await load()).body, media_type="application/json")
    entry = await state.cache.get_private(
        MY_SUBMISSIONS, caller, query.model_dump_json(), load, subject=caller.id
    )
    return Response(entry.body, media_type="application/json")


@router.get(SUBMISSIONS_PATH + "/{id}/source", response_model=SourceOut, responses=errors(404))
async def show_source(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Shows the source files of a submission."""
    state = app_state(request)
    async with connection(state.pool) as acquired:
        view = await visible_submission(acquired, caller, id)
        details = await submissions.submission_details(acquired, view.id)
        assert details is not None, "rows of submissions are never deleted"
        content = await fetch(acquired, state.dependencies.artifacts, details.source)
    files = [file_out(name, each) for name, each in unpack_files(content).items()]
    source = SourceOut(id=view.id, language=view.language, main=details.main, files=files)
    return json_response(source)


@router.delete(
    SUBMISSIONS_PATH + "/{id}", response_model=SubmissionOut, responses=errors(404, 409)
)
async def cancel_submission(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Cancels a submission that has not ended. If its program runs, it is killed."""
    state = app_state(request)
    async with connection(state.pool) as acquired:
        view = await visible_submission(acquired, caller, id)
    actor = actor_of(request, caller) if caller.id != view.account else None
    await cancel(state.pool, view.id, actor=actor)
    state.cache_invalidation.forget_work(view.id, view.account)
    async with connection(state.pool) as acquired:
        return json_response(await read_submission(acquired, caller, id))


@router.post(
    SUBMISSIONS_PATH + "/{id}/rejudge",
    status_code=202,
    response_model=AcceptedOut,
    openapi_extra=IDEMPOTENCY_KEY,
    responses=errors(404, 409, 422),
)
async def rejudge_submission(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Replaces a submission by a new one with the same source. The old verdict stays readable.
    Only admins can do this.
    """
    state = app_state(request)
    async with transaction(state.pool) as writing:
        view = await visible_submission(writing, caller, id)

        async def create() -> Response:
            accepted = await rejudge(writing, view.id, actor=actor_of(request, caller))
            return json_response(accepted_out(accepted), 202, location_of(accepted.id))

        response = await respond_once(request, caller, writing, None, create)
    state.cache_invalidation.forget_work(view.id, view.account)
    return response


async def read_submission(
    acquired: Connection, caller: Account, submission: str
) -> SubmissionOut:
    view = await visible_submission(acquired, caller, submission)
    is_waiting = view.state in WAITING
    position = await submissions.queue_position(acquired, view) if is_waiting else None
    return submission_out(view, position)


def asks_for_own(caller: Account, user: str | None) -> bool:
    if user is None:
        return caller.role is not Role.ADMIN
    return user in {caller.id, caller.name}
