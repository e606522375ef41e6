"""`/v1/submissions`: hand in, look at, list, cancel, judge again."""

import base64
from collections.abc import Mapping
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.authentication import BEARER, SECURED, Caller, actor_of, may_see
from deemster.api.feed.waiting import until_ended
from deemster.api.http.body import body_of, read
from deemster.api.http.errors import FieldFault, Forbidden, Invalid
from deemster.api.http.idempotency_key import IDEMPOTENCY_KEY, idempotency_key
from deemster.api.http.json_response import answer, faults, json_of
from deemster.api.http.paging import PageQuery, cut
from deemster.api.models.submission_requests import Plain, SubmissionIn
from deemster.api.models.submissions import (
    AcceptedOut,
    FileOut,
    SourceOut,
    Status,
    SubmissionOut,
    SubmissionPage,
    accepted_out,
    line_out,
    submission_out,
)
from deemster.api.state import AppState, app_state
from deemster.cache.cache import CacheEntry, Loaded
from deemster.cache.kinds import MY_SUBMISSIONS, RUNNING_STATUS_S, STATUS
from deemster.domain.account import Account, Role
from deemster.domain.errors import Conflict, NotFound
from deemster.domain.ids import GENERATED_ID, AccountId, ContestId, ProblemId, SubmissionId
from deemster.domain.lifecycle import TERMINAL, WAITING
from deemster.domain.source import unpack_files
from deemster.domain.submission import AcceptedSubmission, SubmissionView
from deemster.domain.verdict import Verdict
from deemster.pipeline.deliver.destination import is_plainly_private
from deemster.pipeline.verdict.cancel import cancel
from deemster.pipeline.verdict.rejudge import rejudge
from deemster.settings import Settings
from deemster.store import accounts, submissions
from deemster.store.inline_artifacts import fetch
from deemster.store.pool import Connection, connection

router = APIRouter(tags=["submissions"])
PATH: Final = "/v1/submissions"
PRIVATE_WEBHOOK: Final = (
    FieldFault("webhook_url", "it is a private address: use one of the internet"),
)


@router.post(
    PATH,
    status_code=202,
    response_model=AcceptedOut,
    openapi_extra={**body_of(SubmissionIn), **SECURED, "parameters": [IDEMPOTENCY_KEY]},
    responses=faults(400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 503),
)
async def submit(request: Request) -> Response:
    """Takes a submission in; it is judged later."""
    # Nothing is left to FastAPI here: it would read the body of anybody, and takes its time.
    caller = await BEARER(request)
    key = idempotency_key(request)
    state = app_state(request)
    headers = await state.admission.admit(request, caller, key)
    asked = await read(request, SubmissionIn)
    if is_unwelcome(asked.webhook_url, state.settings) and not (
        await state.admission.was_answered(caller, key)
    ):
        raise Invalid(PRIVATE_WEBHOOK)
    await state.admission.admit_for(asked.problem_id, caller, key)
    accepted, _ = await state.dependencies.accept.submit(caller, asked.to_ask(key))
    state.cache_invalidation.forget_list(caller.id)
    return accepted_answer(accepted, headers)


@router.get(
    PATH + "/{id}",
    response_model=SubmissionOut,
    responses=faults(401, 403, 404, 422, 429, 503),
)
async def show(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    wait: Annotated[float, Query(ge=0, allow_inf_nan=False)] = 0,
) -> Response:
    """How far it is, and what was found. Places in the line may be 3 s old, progress 1 s. With
    `wait`, answered when it has ended, or after so many seconds, 30 at most.
    """
    state = app_state(request)

    async def has_ended() -> bool:
        async with connection(state.pool) as acquired:
            return (await visible(acquired, caller, id)).state in TERMINAL

    if wait > 0:
        await until_ended(state.feed, SubmissionId(id), wait, has_ended)
    entry = await status_of(state, caller, id)
    return Response(entry.body, media_type="application/json")


async def poll(request: Request) -> Response:
    """The same for who does not wait: nothing is left to FastAPI here either."""
    caller = await BEARER(request)
    entry = await status_of(app_state(request), caller, request.path_params["id"])
    return Response(entry.body, media_type="application/json")


async def status_of(state: AppState, caller: Account, submission: str) -> CacheEntry:
    """As it was a moment ago, but never as it was before its last step that we heard of."""
    if not GENERATED_ID.fullmatch(submission):
        raise no_such()

    async def find() -> Loaded | None:
        try:
            async with connection(state.pool) as acquired:
                found = await look(acquired, caller, submission)
        except NotFound:
            return None
        is_running = found.status is Status.RUNNING
        return Loaded(json_of(found), keep_s=RUNNING_STATUS_S if is_running else None)

    cache = state.cache
    entry = await cache.get_private(STATUS, caller, submission, find, subject=submission)
    if entry.body is None:
        raise no_such()
    return entry


class SubmissionQuery(PageQuery):
    user: Plain | None = None
    """Its id or its name."""
    problem: Plain | None = None
    contest: Plain | None = None
    verdict: Verdict | None = None
    language: Plain | None = None
    status: Status | None = None


@router.get(PATH, response_model=SubmissionPage, responses=faults(401, 403, 404, 422, 429, 503))
async def list_them(
    request: Request, caller: Caller, query: Annotated[SubmissionQuery, Query()]
) -> Response:
    """Newest first. Who is no admin sees their own."""
    state = app_state(request)
    dependencies = state.dependencies
    language = dependencies.catalogue.named(query.language).id if query.language else None
    before = SubmissionId(query.place) if query.place else None

    async def find() -> Loaded:
        async with connection(dependencies.pool) as acquired:
            wanted = submissions.SubmissionFilter(
                account=await whose(acquired, caller, query.user),
                problem=ProblemId(query.problem) if query.problem else None,
                contest=ContestId(query.contest) if query.contest else None,
                verdict=query.verdict,
                language=language,
                states=query.status.states if query.status else None,
            )
            most = query.limit + 1
            found = await submissions.page(acquired, wanted, before=before, limit=most)
        page, cursor = cut(found, query.limit, lambda view: view.id)
        items = [line_out(view) for view in page]
        return Loaded(json_of(SubmissionPage(items=items, next_cursor=cursor)))

    if before is not None or not asks_for_own(caller, query.user):
        return Response((await find()).body, media_type="application/json")
    entry = await state.cache.get_private(
        MY_SUBMISSIONS, caller, query.model_dump_json(), find, subject=caller.id
    )
    return Response(entry.body, media_type="application/json")


@router.get(
    PATH + "/{id}/source",
    response_model=SourceOut,
    responses=faults(401, 403, 404, 429, 503),
)
async def show_source(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """The files as they were handed in."""
    dependencies = app_state(request).dependencies
    async with connection(dependencies.pool) as acquired:
        view = await visible(acquired, caller, id)
        brief = await submissions.job_details(acquired, view.id)
        assert brief is not None, "rows of submissions are never deleted"
        bundle = await fetch(acquired, dependencies.artifacts, brief.source)
    files = [file_out(name, content) for name, content in unpack_files(bundle).items()]
    return answer(SourceOut(id=view.id, language=view.language, main=brief.main, files=files))


@router.delete(
    PATH + "/{id}", response_model=SubmissionOut, responses=faults(401, 403, 404, 409, 429, 503)
)
async def stop(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Cancels it, if it has not ended; a program that runs is killed."""
    state = app_state(request)
    pool = state.pool
    async with connection(pool) as acquired:
        view = await visible(acquired, caller, id)
    actor = actor_of(request, caller) if caller.id != view.account else None
    await cancel(pool, view.id, actor=actor)
    state.cache_invalidation.forget_submission(view.id, view.account)
    async with connection(pool) as acquired:
        return answer(await look(acquired, caller, id))


@router.post(
    PATH + "/{id}/rejudge",
    status_code=202,
    response_model=AcceptedOut,
    openapi_extra={"parameters": [IDEMPOTENCY_KEY]},
    responses=faults(401, 403, 404, 409, 422, 429, 503),
)
async def judge_again(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """A new submission takes its place; its own verdict stays to be read. For admins."""
    key = idempotency_key(request)
    state = app_state(request)
    pool = state.pool
    async with connection(pool) as acquired:
        view = await visible(acquired, caller, id)
    try:
        accepted = await rejudge(pool, view.id, actor=actor_of(request, caller))
        state.cache_invalidation.forget_submission(view.id, view.account)
    except Conflict:
        # It can be done once, so any key that comes twice means the same, also at once (I1).
        async with connection(pool) as acquired:
            first = await successor(acquired, view.id) if key is not None else None
        if first is None:
            raise
        accepted = first
    return accepted_answer(accepted)


def is_unwelcome(webhook_url: str | None, settings: Settings) -> bool:
    """What is refused now need not be found out later; the rest is, when it is used (H3)."""
    if webhook_url is None or settings.webhook_allow_private:
        return False
    return is_plainly_private(webhook_url)


def accepted_answer(
    accepted: AcceptedSubmission, headers: Mapping[str, str] | None = None
) -> Response:
    told = {"Location": f"{PATH}/{accepted.id}", **(headers or {})}
    return answer(accepted_out(accepted), 202, told)


async def look(acquired: Connection, caller: Account, submission: str) -> SubmissionOut:
    view = await visible(acquired, caller, submission)
    waits = view.state in WAITING
    return submission_out(
        view, await submissions.queue_position(acquired, view) if waits else None
    )


async def visible(acquired: Connection, caller: Account, submission: str) -> SubmissionView:
    """Someone else's is not there at all: an id must not even tell that it exists (A11)."""
    view = None
    if GENERATED_ID.fullmatch(submission):
        view = await submissions.get(acquired, SubmissionId(submission))
    # A trial of a rejudging is nobody's until it is applied.
    hidden = view is not None and view.staged_in is not None and caller.role is not Role.ADMIN
    if view is None or hidden or not may_see(caller, view.account):
        raise no_such()
    return view


async def successor(
    acquired: Connection, submission: SubmissionId
) -> AcceptedSubmission | None:
    """What took its place, as it was answered to whoever had it judged again."""
    old = await submissions.get(acquired, submission)
    new = old.superseded_by if old is not None else None
    return await as_accepted(acquired, new) if new is not None else None


async def as_accepted(acquired: Connection, submission: SubmissionId) -> AcceptedSubmission:
    view = await submissions.get(acquired, submission)
    assert view is not None, "rows of submissions are never deleted"
    return AcceptedSubmission(view.id, view.problem, view.language, view.submitted_at)


def no_such() -> NotFound:
    return NotFound("There is no such submission, or it is not yours.")


def asks_for_own(caller: Account, user: str | None) -> bool:
    if user is None:
        return caller.role is not Role.ADMIN
    return user in {caller.id, caller.name}


async def whose(acquired: Connection, caller: Account, user: str | None) -> AccountId | None:
    """Whose submissions are listed; None: everyone's."""
    if caller.role is not Role.ADMIN:
        if user not in {None, caller.id, caller.name}:
            raise Forbidden("You see your own submissions only: leave user out.")
        return caller.id
    if user is None or GENERATED_ID.fullmatch(user):
        return AccountId(user) if user else None
    found = await accounts.find_by_name(acquired, user)
    if found is None:
        raise NotFound(f"There is no account {user}.")
    return found.id


def file_out(name: str, content: bytes) -> FileOut:
    try:
        return FileOut(name=name, content=content.decode())
    except UnicodeDecodeError:
        return FileOut(name=name, content_base64=base64.b64encode(content).decode())
